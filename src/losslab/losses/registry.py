"""``LOSSES``, the table from name to class, and :func:`build_loss`."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from losslab.losses.asymmetric import AsymmetricLoss
from losslab.losses.balanced import (
    ClassBalancedLoss,
    ClassBalancedNTRLoss,
    DistributionBalancedLoss,
    DistributionBalancedNoFocalLoss,
    NegativeTolerantFocalLoss,
    RebalancedFocalLoss,
)
from losslab.losses.base import Loss, check_task
from losslab.losses.counting import LabelCountLoss, TencentLoss
from losslab.losses.cross_entropy import (
    BinaryCrossEntropyLoss,
    FocalLoss,
    SoftmaxCrossEntropyLoss,
)
from losslab.losses.dice import BatchDiceLoss, DiceLoss
from losslab.losses.f1 import AnnealedF1Loss, BayesianF1Loss, SigmoidF1Loss, SoftF1Loss
from losslab.losses.label_statistics import LabelStatistics
from losslab.losses.mask import MaskElementLoss, MaskLabelLoss
from losslab.losses.pairs import BPMLLLoss, LSEPLoss, RankingLoss, WARPLoss
from losslab.losses.smoothing import (
    ClassicSmoothingLoss,
    DistillationLoss,
    KeywordSmoothingLoss,
    TfidfSmoothingLoss,
)
from losslab.losses.zlpr import SoftZLPRLoss, TLPRLoss, ZLPRLoss, ZLPRRDropLoss

LOSSES: dict[str, type[Loss]] = {
    "bce": BinaryCrossEntropyLoss,
    "focal": FocalLoss,
    "cb": ClassBalancedLoss,
    "rfl": RebalancedFocalLoss,
    "ntr_focal": NegativeTolerantFocalLoss,
    "db_0fl": DistributionBalancedNoFocalLoss,
    "cb_ntr": ClassBalancedNTRLoss,
    "db": DistributionBalancedLoss,
    "asl": AsymmetricLoss,
    "dice1": DiceLoss,
    "dice2": BatchDiceLoss,
    "ranking": RankingLoss,
    "warp": WARPLoss,
    "bpmll": BPMLLLoss,
    "lsep": LSEPLoss,
    "tlpr": TLPRLoss,
    "zlpr": ZLPRLoss,
    "soft_zlpr": SoftZLPRLoss,
    "zlpr_rdrop": ZLPRRDropLoss,
    "soft_f1": SoftF1Loss,
    "sigmoid_f1": SigmoidF1Loss,
    "sad_f1": AnnealedF1Loss,
    "sbayes_f1": BayesianF1Loss,
    "ce_count": LabelCountLoss,
    "ce_tencent": TencentLoss,
    "mask_label": MaskLabelLoss,
    "mask_element": MaskElementLoss,
    "ce": SoftmaxCrossEntropyLoss,
    "kwls": KeywordSmoothingLoss,
    "ls_tfidf": TfidfSmoothingLoss,
    "ls_classic": ClassicSmoothingLoss,
    "ls_distill": DistillationLoss,
}
"""Every loss by name; their order is the order of rows and pipelines."""


def build_loss(
    name: str,
    statistics: LabelStatistics | None = None,
    *,
    groups: Any = None,
    task: str = "multi",
    **options: Any,
) -> Loss:
    """Build the loss called ``name`` with what it needs of ``statistics``, ``groups`` and ``task``.

    ``groups`` (an id per label, or labels x groups) is for ``mask_label``; ``options`` are its
    hyperparameters, those left out at the defaults of its class.

    >>> build_loss("focl")
    Traceback (most recent call last):
    ...
    ValueError: unknown loss 'focl'; did you mean 'focal'?
    >>> build_loss("focal", gamma=-1)
    Traceback (most recent call last):
    ...
    ValueError: focal: gamma must be >= 0, got -1
    """
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; {_suggest(name, LOSSES)}")
    build: Callable[..., Loss] = LOSSES[name]
    needs, known = LOSSES[name].needs, LOSSES[name].options()
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; {_suggest(option, known)}")
    check_task(name, task)
    if "statistics" in needs and statistics is None:
        raise ValueError(f"{name} needs the label statistics: build_loss({name!r}, statistics)")
    if "groups" in needs and groups is None:
        raise ValueError(f"{name} needs label groups: build_loss({name!r}, ..., groups=...)")
    given = {"statistics": statistics, "groups": groups, "task": task}
    return build(**{need: given[need] for need in needs if need in given}, **options)


def _suggest(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
