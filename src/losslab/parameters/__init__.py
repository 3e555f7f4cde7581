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
    fits_task,
    losses_for_task,
    method_of,
    namespace,
    refuse_retrieval,
)
from losslab.parameters.predict import MlflowSettings, PredictSettings
from losslab.parameters.reporting import BootstrapSettings, ReportSettings
from losslab.parameters.retrieval import (
    BM25Settings,
    QuestionSplitSettings,
    RetrievalSettings,
    TwoTowerSettings,
)
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
    Augmentation,
    CNNSettings,
    EncoderSettings,
    FeatureSettings,
    FrozenEncoder,
    FrozenImageEncoder,
    HybridSettings,
    ImageProbeSettings,
    ImageSettings,
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    Recipe,
    RegularizerSettings,
    TextCNNSettings,
    TextSettings,
    TrainingSettings,
    TransformerSettings,
    WordSettings,
    frozen_encoder,
)
from losslab.parameters.validation import validate_parameters

__all__ = [
    "Augmentation",
    "BM25Settings",
    "BootstrapSettings",
    "CNNSettings",
    "ElementKeywordSettings",
    "EncoderSettings",
    "FeatureSettings",
    "FrequencyGroupSettings",
    "FrozenEncoder",
    "FrozenImageEncoder",
    "HybridSettings",
    "ImageProbeSettings",
    "ImageSettings",
    "KeywordSettings",
    "LSTMSettings",
    "LabelGroupSettings",
    "LossSettings",
    "MlflowSettings",
    "ModelSettings",
    "PredictSettings",
    "ProbeSettings",
    "QuestionSplitSettings",
    "Recipe",
    "RegularizerSettings",
    "ReportSettings",
    "RetrievalSettings",
    "SearchSettings",
    "SoftLabelSettings",
    "SplitSettings",
    "Sweep",
    "SweepJob",
    "TextCNNSettings",
    "TextSettings",
    "TfidfSettings",
    "ThresholdGrid",
    "TrainingSettings",
    "TransformerSettings",
    "TwoTowerSettings",
    "UndersampleSettings",
    "WordSettings",
    "baselines_for_task",
    "did_you_mean",
    "expand_sweep",
    "fits_task",
    "frozen_encoder",
    "losses_for_task",
    "losses_of",
    "method_of",
    "namespace",
    "refuse_retrieval",
    "validate_parameters",
]
