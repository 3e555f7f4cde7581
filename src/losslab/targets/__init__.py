"""What losses learn from: the label space, targets, label statistics."""

from losslab.targets.labels import drop_rare_labels, encode_labels, label_space
from losslab.targets.statistics import (
    GROUPS,
    cooccurrence,
    describe_labels,
    frequency_groups,
    rebalancing_mu,
    tabulate_labels,
)

__all__ = [
    "GROUPS",
    "cooccurrence",
    "describe_labels",
    "drop_rare_labels",
    "encode_labels",
    "frequency_groups",
    "label_space",
    "rebalancing_mu",
    "tabulate_labels",
]
