import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslab.data import drop_rare_labels, encode_labels, label_space

LABEL_SETS = st.lists(st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5), max_size=8)


def test_label_space_is_sorted_and_free_of_duplicates():
    assert label_space([["m", "b"], [], ["b", "a"], ["m"]]) == ["a", "b", "m"]


def test_label_space_of_no_labels_is_empty():
    assert label_space([[], []]) == []


def test_matrix_has_a_row_per_document_and_a_column_per_label():
    matrix = encode_labels([["c"], [], ["c", "a"]], ["a", "b", "c"])
    assert matrix.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 1]]


def test_columns_follow_the_order_of_the_labels_given():
    matrix = encode_labels([["a"], ["b", "a"]], ["b", "a"])
    assert matrix.toarray().tolist() == [[0, 1], [1, 1]]


def test_label_given_twice_counts_once():
    assert encode_labels([["a", "b", "a"]], ["a", "b"]).toarray().tolist() == [[1, 1]]


def test_no_documents_make_a_matrix_without_rows():
    assert encode_labels([], ["a", "b"]).shape == (0, 2)


def test_label_outside_the_space_is_refused():
    with pytest.raises((KeyError, ValueError), match="stray"):
        encode_labels([["a"], ["stray"]], ["a"])


@settings(deadline=None, derandomize=True)
@given(label_sets=LABEL_SETS)
def test_label_sets_come_back_from_their_matrix(label_sets):
    labels = label_space(label_sets)
    matrix = encode_labels(label_sets, labels)
    back = [{labels[column] for column in np.flatnonzero(row)} for row in matrix.toarray()]
    assert back == [set(carried) for carried in label_sets]
    assert matrix.has_canonical_format
    assert set(matrix.data.tolist()) <= {1}


@settings(deadline=None, derandomize=True)
@given(label_sets=LABEL_SETS, minimum=st.integers(1, 4))
def test_labels_are_dropped_where_too_few_documents_carry_them(label_sets, minimum):
    kept, dropped = drop_rare_labels(label_sets, minimum)
    dense = encode_labels(label_sets, list("abcdefg")).toarray().sum(axis=0)
    expected = {label: n for label, n in zip("abcdefg", dense, strict=True) if 0 < n < minimum}
    assert dropped == expected
    assert kept == [[label for label in labels if label not in expected] for labels in label_sets]
