"""The loss library: losses for long-tailed classification as ``torch.nn`` modules.

>>> import torch
>>> from losslab.losses import DistributionBalancedLoss, FocalLoss, LabelStatistics
>>> logits, targets = torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0]])
>>> FocalLoss()(logits, targets).item()
0.1732...
>>> statistics = LabelStatistics(frequencies=[90, 10, 3], documents=100, mu=0.5)
>>> DistributionBalancedLoss(statistics, gamma=1.0)(logits, targets).item()
0.1988...

``LOSSES`` is the table from name to class, ``build_loss`` builds by name. Needs torch alone.
"""

from losslab.losses.adaptive_threshold import AdaptiveThresholdLoss, NoneClassRankingLoss
from losslab.losses.asymmetric import AsymmetricLoss, MultiFocalModifierLoss
from losslab.losses.balanced import (
    ClassBalancedLoss,
    ClassBalancedNTRLoss,
    DistributionBalancedLoss,
    DistributionBalancedNoFocalLoss,
    NegativeTolerantFocalLoss,
    RebalancedFocalLoss,
)
from losslab.losses.base import Loss
from losslab.losses.counting import LabelCountLoss, TencentLoss
from losslab.losses.cross_entropy import (
    BinaryCrossEntropyLoss,
    FocalLoss,
    SoftmaxCrossEntropyLoss,
)
from losslab.losses.dice import BatchDiceLoss, DiceLoss
from losslab.losses.f1 import AnnealedF1Loss, BayesianF1Loss, SigmoidF1Loss, SoftF1Loss
from losslab.losses.hyperparameters import Hyperparameter, Option
from losslab.losses.label_statistics import LabelStatistics
from losslab.losses.mask import MaskElementLoss, MaskLabelLoss
from losslab.losses.pairs import BPMLLLoss, LSEPLoss, RankingLoss, WARPLoss
from losslab.losses.partial_labels import (
    HillLoss,
    LargeLossRejectionLoss,
    SelfPacedCorrectionLoss,
)
from losslab.losses.polynomial import AsymmetricPolynomialLoss, RobustAsymmetricLoss
from losslab.losses.prior import LogitAdjustedLoss, PropensityScoredLoss
from losslab.losses.registry import LOSSES, build_loss
from losslab.losses.smoothing import (
    ClassicSmoothingLoss,
    DistillationLoss,
    KeywordSmoothingLoss,
    TfidfSmoothingLoss,
)
from losslab.losses.two_way import TwoWayLoss
from losslab.losses.zlpr import SoftZLPRLoss, TLPRLoss, ZLPRLoss, ZLPRRDropLoss

__all__ = [
    "LOSSES",
    "AdaptiveThresholdLoss",
    "AnnealedF1Loss",
    "AsymmetricLoss",
    "AsymmetricPolynomialLoss",
    "BPMLLLoss",
    "BatchDiceLoss",
    "BayesianF1Loss",
    "BinaryCrossEntropyLoss",
    "ClassBalancedLoss",
    "ClassBalancedNTRLoss",
    "ClassicSmoothingLoss",
    "DiceLoss",
    "DistillationLoss",
    "DistributionBalancedLoss",
    "DistributionBalancedNoFocalLoss",
    "FocalLoss",
    "HillLoss",
    "Hyperparameter",
    "KeywordSmoothingLoss",
    "LSEPLoss",
    "LabelCountLoss",
    "LabelStatistics",
    "LargeLossRejectionLoss",
    "LogitAdjustedLoss",
    "Loss",
    "MaskElementLoss",
    "MaskLabelLoss",
    "MultiFocalModifierLoss",
    "NegativeTolerantFocalLoss",
    "NoneClassRankingLoss",
    "Option",
    "PropensityScoredLoss",
    "RankingLoss",
    "RebalancedFocalLoss",
    "RobustAsymmetricLoss",
    "SelfPacedCorrectionLoss",
    "SigmoidF1Loss",
    "SoftF1Loss",
    "SoftZLPRLoss",
    "SoftmaxCrossEntropyLoss",
    "TLPRLoss",
    "TencentLoss",
    "TfidfSmoothingLoss",
    "TwoWayLoss",
    "WARPLoss",
    "ZLPRLoss",
    "ZLPRRDropLoss",
    "build_loss",
]
