"""Documents from raw files, train, validation and test splits, and the label matrix."""

from losslab.data.corpus import Corpus, check_one_label, check_rejected
from losslab.data.label_matrix import drop_rare_labels, encode_labels, label_space
from losslab.data.split import SPLITS, assign_splits, split_rows

__all__ = [
    "SPLITS",
    "Corpus",
    "assign_splits",
    "check_one_label",
    "check_rejected",
    "drop_rare_labels",
    "encode_labels",
    "label_space",
    "split_rows",
]
