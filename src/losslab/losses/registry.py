"""``LOSSES``, the table from name to class, and :func:`build_loss`."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from losslab.losses import (
    adaptive_threshold,
    asymmetric,
    balanced,
    counting,
    cross_entropy,
    dice,
    f1,
    mask,
    pairs,
    partial_labels,
    polynomial,
    prior,
    smoothing,
    two_way,
    zlpr,
)
from losslab.losses.base import Loss, check_task
from losslab.losses.label_statistics import LabelStatistics

LOSSES: dict[str, type[Loss]] = {
    "bce": cross_entropy.BinaryCrossEntropyLoss,
    "focal": cross_entropy.FocalLoss,
    "cb": balanced.ClassBalancedLoss,
    "rfl": balanced.RebalancedFocalLoss,
    "ntr_focal": balanced.NegativeTolerantFocalLoss,
    "db_0fl": balanced.DistributionBalancedNoFocalLoss,
    "cb_ntr": balanced.ClassBalancedNTRLoss,
    "db": balanced.DistributionBalancedLoss,
    "la_bce": prior.LogitAdjustedLoss,
    "ps_bce": prior.PropensityScoredLoss,
    "asl": asymmetric.AsymmetricLoss,
    "comic": asymmetric.MultiFocalModifierLoss,
    "apl": polynomial.AsymmetricPolynomialLoss,
    "ral": polynomial.RobustAsymmetricLoss,
    "hill": partial_labels.HillLoss,
    "splc": partial_labels.SelfPacedCorrectionLoss,
    "llr": partial_labels.LargeLossRejectionLoss,
    "dice1": dice.DiceLoss,
    "dice2": dice.BatchDiceLoss,
    "ranking": pairs.RankingLoss,
    "warp": pairs.WARPLoss,
    "bpmll": pairs.BPMLLLoss,
    "lsep": pairs.LSEPLoss,
    "tlpr": zlpr.TLPRLoss,
    "zlpr": zlpr.ZLPRLoss,
    "soft_zlpr": zlpr.SoftZLPRLoss,
    "zlpr_rdrop": zlpr.ZLPRRDropLoss,
    "two_way": two_way.TwoWayLoss,
    "atl": adaptive_threshold.AdaptiveThresholdLoss,
    "ncrl": adaptive_threshold.NoneClassRankingLoss,
    "soft_f1": f1.SoftF1Loss,
    "sigmoid_f1": f1.SigmoidF1Loss,
    "sad_f1": f1.AnnealedF1Loss,
    "sbayes_f1": f1.BayesianF1Loss,
    "ce_count": counting.LabelCountLoss,
    "ce_tencent": counting.TencentLoss,
    "mask_label": mask.MaskLabelLoss,
    "mask_element": mask.MaskElementLoss,
    "ce": cross_entropy.SoftmaxCrossEntropyLoss,
    "kwls": smoothing.KeywordSmoothingLoss,
    "ls_tfidf": smoothing.TfidfSmoothingLoss,
    "ls_classic": smoothing.ClassicSmoothingLoss,
    "ls_distill": smoothing.DistillationLoss,
}
"""Every loss by name; their order is the order of rows and pipelines."""


def check_names(losses: Mapping[str, type[Loss]]) -> None:
    """Raise ``TypeError`` where a loss is listed under a key that is not its ``name``."""
    for key, loss in losses.items():
        if key != loss.name:
            raise TypeError(
                f"{loss.__name__}: its key in LOSSES is {key!r}, its name {loss.name!r}"
            )


check_names(LOSSES)


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
