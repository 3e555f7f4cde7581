"""The losses as functions of logits and targets, for those who want no module."""

from losslab.losses.asymmetric import asymmetric
from losslab.losses.balanced import clamped_frequencies, rebalanced_weight
from losslab.losses.dice import dice
from losslab.losses.divergence import bernoulli_divergence, symmetric_divergence
from losslab.losses.f1 import soft_f1
from losslab.losses.pairs import hinge_pairs, pair_logsumexp
from losslab.losses.pointwise import pointwise
from losslab.losses.zlpr import threshold_ranking, zlpr_divergence, zlpr_symmetric_divergence

__all__ = [
    "asymmetric",
    "bernoulli_divergence",
    "clamped_frequencies",
    "dice",
    "hinge_pairs",
    "pair_logsumexp",
    "pointwise",
    "rebalanced_weight",
    "soft_f1",
    "symmetric_divergence",
    "threshold_ranking",
    "zlpr_divergence",
    "zlpr_symmetric_divergence",
]
