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

from losslab.losses.asymmetric import AsymmetricLoss
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
from losslab.losses.registry import LOSSES, build_loss
from losslab.losses.smoothing import (
    ClassicSmoothingLoss,
    DistillationLoss,
    KeywordSmoothingLoss,
    TfidfSmoothingLoss,
)
from losslab.losses.zlpr import SoftZLPRLoss, TLPRLoss, ZLPRLoss, ZLPRRDropLoss

__all__ = [
    "LOSSES",
    "AnnealedF1Loss",
    "AsymmetricLoss",
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
    "Hyperparameter",
    "KeywordSmoothingLoss",
    "LSEPLoss",
    "LabelCountLoss",
    "LabelStatistics",
    "Loss",
    "MaskElementLoss",
    "MaskLabelLoss",
    "NegativeTolerantFocalLoss",
    "Option",
    "RankingLoss",
    "RebalancedFocalLoss",
    "SigmoidF1Loss",
    "SoftF1Loss",
    "SoftZLPRLoss",
    "SoftmaxCrossEntropyLoss",
    "TLPRLoss",
    "TencentLoss",
    "TfidfSmoothingLoss",
    "WARPLoss",
    "ZLPRLoss",
    "ZLPRRDropLoss",
    "build_loss",
]
