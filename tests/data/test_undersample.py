from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslab.data.undersample import undersample
from losslab.errors import CorpusError


def corpus(label_sets, split="train"):
    rows = [(f"{split}{i}", "text", labels, split) for i, labels in enumerate(label_sets)]
    return pd.DataFrame(rows, columns=["id", "text", "labels", "split"])


def frequencies(documents, split="train"):
    return Counter(documents[documents["split"] == split]["labels"].explode().dropna())


@pytest.fixture
def news():
    """Four classes of 500, and a test split that must stay as it is."""
    classes = ["world", "sports", "business", "technology"]
    train = corpus([[name] for name in classes for _ in range(500)])
    return pd.concat([train, corpus([[name] for name in classes], "test")], ignore_index=True)


@pytest.mark.parametrize("cut", [[], ["world"], ["world", "sports"]])
def test_given_labels_keep_a_hundredth_of_their_documents(news, cut):
    left = undersample(news, labels=cut, ratio=100)
    expected = {name: 5 if name in cut else 500 for name in frequencies(news)}
    assert frequencies(left) == expected
    assert frequencies(left, "test") == frequencies(news, "test")


@pytest.mark.parametrize("size", [300, 200, 100, 50, 10, 1])
def test_each_label_but_those_to_keep_ends_with_so_many_documents(news, size):
    left = undersample(news, labels=None, keep=["business"], size=size)
    assert frequencies(left) == {
        "world": size,
        "sports": size,
        "technology": size,
        "business": 500,
    }


def test_smaller_sizes_take_documents_out_of_the_larger_ones(news):
    hundred = undersample(news, labels=["world"], size=100)
    ten = undersample(news, labels=["world"], size=10)
    assert set(ten["id"]) < set(hundred["id"])


def test_order_of_rows_is_immaterial_and_the_seed_is_not(news):
    mixed = news.sample(frac=1, random_state=0)
    one, other, reseeded = (
        set(undersample(rows, labels=["world"], size=50, seed=seed)["id"])
        for rows, seed in ((news, 0), (mixed, 0), (news, 1))
    )
    assert one == other
    assert one != reseeded


def test_at_least_one_document_stays():
    left = undersample(corpus([["a"], ["a"], ["b"]]), labels=None, ratio=100)
    assert frequencies(left) == {"a": 1, "b": 1}


def test_label_that_nothing_carries_is_named(news):
    with pytest.raises(
        CorpusError, match=r"undersample: no training document has the label 'sprots'; .*sports"
    ):
        undersample(news, labels=["sprots"], ratio=100)


LABEL_SETS = st.lists(st.sets(st.sampled_from("abcd"), max_size=3).map(sorted), max_size=30)


@settings(deadline=None, derandomize=True)
@given(label_sets=LABEL_SETS, size=st.integers(1, 6))
def test_documents_with_several_labels_go_only_where_one_has_its_fill(label_sets, size):
    documents = corpus(label_sets)
    cut = {"a", "b"} & set(frequencies(documents))
    left = undersample(documents, labels=sorted(cut), size=size)
    after = frequencies(left)
    assert all(after[label] <= size for label in cut)
    gone = documents[~documents["id"].isin(left["id"])]
    for labels in gone["labels"]:
        assert any(after[label] == size for label in cut & set(labels))
