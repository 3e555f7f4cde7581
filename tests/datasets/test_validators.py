import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.datasets.validators import check_documents, check_label_matrix, check_splits


def documents(**changes):
    columns = {
        "id": ["1", "2", "3"],
        "text": ["one", "two", "three"],
        "labels": [["a"], [], ["b"]],
        "split": ["train", "validation", "test"],
    }
    return pd.DataFrame({**columns, **changes})


def test_sound_documents_pass_unchanged():
    table = documents()
    assert check_splits(table) is table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (documents().drop(columns="text"), "expected the columns"),
        (documents(id=["1", "1", "3"]), "1 documents with duplicate id, such as 1"),
        (documents(text=["one", " ", "three"]), "1 documents with empty text, such as 2"),
        (documents(split=["train", "dev", "test"]), "1 documents with split not in"),
        (documents(split=["train", "train", "test"]), "no document in the split validation"),
    ],
)
def test_faults_in_documents_are_named(table, message):
    with pytest.raises(ValueError, match=message):
        check_splits(table)


def test_documents_need_no_split_before_they_are_split():
    assert len(check_documents(documents(split=[None] * 3))) == 3


@pytest.mark.parametrize(
    ("matrix", "message"),
    [(np.zeros((2, 0)), "no document carries a label"), (np.array([[2, 0]]), "must be 0 or 1")],
)
def test_faults_in_targets_are_named(matrix, message):
    with pytest.raises(ValueError, match=message):
        check_label_matrix(sparse.csr_array(matrix))
