"""Every parameter: names, types and bounds; one module per ``conf/base/parameters_<stage>.yml``.

The values stand in ``conf/``, those of a loss in its class. An unknown name is an error.
"""

from losslab.parameters.data import SplitSettings, UndersampleSettings
from losslab.parameters.distillation import ElementKeywordSettings
from losslab.parameters.evaluation import ThresholdGrid
from losslab.parameters.features import TfidfSettings
from losslab.parameters.losses import (
    LossSettings,
    baselines_for_task,
    losses_for_task,
    method_of,
    namespace,
)
from losslab.parameters.predict import MlflowSettings, PredictSettings
from losslab.parameters.reporting import BootstrapSettings, ReportSettings
from losslab.parameters.search import SearchSettings
from losslab.parameters.suggestions import did_you_mean
from losslab.parameters.supervision import (
    FrequencyGroupSettings,
    KeywordSettings,
    LabelGroupSettings,
    SoftLabelSettings,
)
from losslab.parameters.sweeps import Sweep, SweepJob, expand_sweep, losses_of
from losslab.parameters.training import (
    EncoderSettings,
    FeatureSettings,
    FrozenEncoder,
    HybridSettings,
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    Recipe,
    RegularizerSettings,
    TextCNNSettings,
    TrainingSettings,
    TransformerSettings,
    WordSettings,
    frozen_encoder,
)
from losslab.parameters.validation import validate_parameters

__all__ = [
    "BootstrapSettings",
    "ElementKeywordSettings",
    "EncoderSettings",
    "FeatureSettings",
    "FrequencyGroupSettings",
    "FrozenEncoder",
    "HybridSettings",
    "KeywordSettings",
    "LSTMSettings",
    "LabelGroupSettings",
    "LossSettings",
    "MlflowSettings",
    "ModelSettings",
    "PredictSettings",
    "ProbeSettings",
    "Recipe",
    "RegularizerSettings",
    "ReportSettings",
    "SearchSettings",
    "SoftLabelSettings",
    "SplitSettings",
    "Sweep",
    "SweepJob",
    "TextCNNSettings",
    "TfidfSettings",
    "ThresholdGrid",
    "TrainingSettings",
    "TransformerSettings",
    "UndersampleSettings",
    "WordSettings",
    "baselines_for_task",
    "did_you_mean",
    "expand_sweep",
    "frozen_encoder",
    "losses_for_task",
    "losses_of",
    "method_of",
    "namespace",
    "validate_parameters",
]
