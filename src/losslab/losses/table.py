"""``LOSSES``: the one place where a loss is added."""

from losslab.losses.spec import LossSpec, Option

BALANCED = "Huang et al. 2021, Balancing Methods for Multi-label Text Classification"
REBALANCING = {
    "alpha": Option(0.1, "A.1: both data sets", minimum=0),
    "beta": Option(10.0, "A.1: both data sets", minimum=0),
    "mu": Option(
        "auto", "(mean + median) / 2 of r; gives the paper's 0.9 and 0.05", words=("auto",)
    ),
}
TOLERANCE = {
    "kappa": Option(0.05, "A.1: both data sets", minimum=0),
    "negative_scale": Option(2.0, "A.1: lambda, both data sets", minimum=1e-6),
}
FOCUS = {"gamma": Option(2.0, "A.1: both data sets", minimum=0)}

_ROWS = (
    LossSpec(
        name="bce",
        title="Binary cross-entropy",
        family="pointwise",
        paper=f"{BALANCED}, eq. 1",
        implementation="pointwise:BinaryCrossEntropy",
        accepts_soft_targets=True,
    ),
    LossSpec(
        name="focal",
        title="Focal loss",
        family="pointwise",
        paper=f"{BALANCED}, eq. 2",
        implementation="pointwise:FocalLoss",
        options=FOCUS,
    ),
    LossSpec(
        name="db",
        title="Distribution-balanced focal loss",
        family="pointwise",
        paper=f"{BALANCED}, eq. 8",
        implementation="pointwise:DistributionBalancedLoss",
        options={**FOCUS, **REBALANCING, **TOLERANCE},
        needs=("statistics",),
    ),
)

LOSSES: dict[str, LossSpec] = {row.name: row for row in _ROWS}
