"""Documents: read from raw files, split into train, validation and test, labels as a matrix."""

from losslab.data.corpus import Corpus, check_rejected
from losslab.data.labels import drop_rare_labels, encode_labels, label_space
from losslab.data.split import SPLITS, assign_splits

__all__ = [
    "SPLITS",
    "Corpus",
    "assign_splits",
    "check_rejected",
    "drop_rare_labels",
    "encode_labels",
    "label_space",
]
