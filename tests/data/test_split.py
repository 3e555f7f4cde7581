import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from losslab.data import SPLITS, assign_splits
from losslab.data.readers import PACKAGED
from losslab.data.readers.cwe import read_cwe
from losslab.data.split import part_sizes, stratify
from losslab.errors import CorpusError

SHARES = {"validation": 0.15, "test": 0.15}


@pytest.fixture(scope="module")
def documents():
    return read_cwe(PACKAGED["cwe"]()).documents


@pytest.fixture(scope="module")
def divided(documents):
    return assign_splits(documents, **SHARES, seed=0)


def small_corpus(splits):
    rows = [(f"d{i}", "text", ["a"] if i % 2 else [], split) for i, split in enumerate(splits)]
    return pd.DataFrame(rows, columns=["id", "text", "labels", "split"])


def test_cwe_splits_have_exact_sizes(divided):
    sizes = divided["split"].value_counts()
    assert [sizes[name] for name in SPLITS] == [641, 138, 137]


def test_every_label_is_in_every_split(divided):
    labels = divided.explode("labels").groupby("split")["labels"].nunique()
    assert labels.to_dict() == dict.fromkeys(SPLITS, 33)


def test_only_the_split_column_changes(documents, divided):
    pd.testing.assert_frame_equal(
        divided.drop(columns="split"), documents.drop(columns="split"), check_exact=True
    )
    assert documents["split"].isna().all()


def test_order_of_rows_is_immaterial(documents, divided):
    mixed = documents.sample(frac=1, random_state=3, ignore_index=True)
    again = assign_splits(mixed, **SHARES, seed=0).set_index("id")["split"]
    assert again.to_dict() == divided.set_index("id")["split"].to_dict()


def test_another_seed_gives_another_split(documents, divided):
    other = assign_splits(documents, **SHARES, seed=1)["split"]
    assert (other != divided["split"]).sum() > 100
    assert other.value_counts().to_dict() == divided["split"].value_counts().to_dict()


def test_given_splits_stay():
    given_splits = ["test", "train", "train", "validation", "test"]
    corpus = small_corpus(given_splits)
    assert assign_splits(corpus, **SHARES, seed=0)["split"].tolist() == given_splits


def test_documents_without_labels_are_shared_out_too():
    shares = {"validation": 0.25, "test": 0.25}
    sizes = assign_splits(small_corpus([None] * 20), **shares, seed=0)["split"].value_counts()
    assert sizes.to_dict() == {"train": 10, "validation": 5, "test": 5}


def test_share_of_zero_leaves_a_split_empty():
    shares = {"validation": 0.2, "test": 0.0}
    splits = assign_splits(small_corpus([None] * 10), **shares, seed=0)["split"]
    assert splits.value_counts().to_dict() == {"train": 8, "validation": 2}


def imbalance(targets, parts, sizes):
    """How many documents each label has too many or too few, summed over parts."""
    wanted = np.outer(sizes / len(parts), targets.sum(axis=0))
    counts = np.stack([targets[parts == part].sum(axis=0) for part in range(len(sizes))])
    return np.abs(counts - wanted).sum()


def test_stratification_balances_far_better_than_chance():
    random = np.random.default_rng(0)
    targets = (random.random((400, 25)) < np.geomspace(0.4, 0.01, 25)).astype(int)
    sizes = np.array([280, 60, 60])
    parts = stratify(sparse.csr_array(targets), sizes)
    by_chance = [
        imbalance(targets, random.permutation(np.repeat(np.arange(3), sizes)), sizes)
        for _ in range(20)
    ]
    assert np.bincount(parts).tolist() == sizes.tolist()
    assert imbalance(targets, parts, sizes) < 0.5 * min(by_chance)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    seed=st.integers(0, 2**16),
    rows=st.integers(1, 40),
    labels=st.integers(1, 6),
    density=st.floats(0, 1),
)
def test_stratified_parts_have_exact_sizes(seed, rows, labels, density):
    targets = np.random.default_rng(seed).random((rows, labels)) < density
    sizes = part_sizes(rows, [0.6, 0.3, 0.1])
    parts = stratify(sparse.csr_array(targets), sizes)
    assert np.bincount(parts, minlength=3).tolist() == sizes.tolist()


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    rows=st.integers(0, 100_000),
    shares=st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=6),
)
def test_part_sizes_sum_to_the_rows_and_stay_within_one_of_their_share(rows, shares):
    assume(sum(shares) > 1e-3)
    sizes = part_sizes(rows, shares)
    assert sizes.sum() == rows
    assert (sizes >= 0).all()
    assert (np.abs(sizes - np.array(shares) / sum(shares) * rows) < 1 + 1e-6).all()


def test_given_splits_stay_where_others_are_missing():
    documents = pd.DataFrame(
        {
            "id": [str(number) for number in range(10)],
            "text": ["text"] * 10,
            "labels": [["a"]] * 10,
            "split": ["test"] * 5 + [None] * 5,
        }
    )
    split = assign_splits(documents, validation=0.2, test=0.2, seed=0)["split"]
    assert split.head(5).tolist() == ["test"] * 5
    assert sorted(split.tail(5)) == ["train", "train", "train", "train", "validation"]


@pytest.mark.parametrize(("validation", "taken"), [(0.25, 10), (7, 7)])
@pytest.mark.parametrize("by", ["stratified", "hash"])
def test_missing_validation_is_taken_out_of_train(validation, taken, by):
    corpus = small_corpus(["train"] * 40 + ["test"] * 10)
    split = assign_splits(corpus, validation=validation, test=0.5, by=by, seed=0)["split"]
    assert set(split[40:]) == {"test"}
    found = (split == "validation").sum()
    assert found == taken if by == "stratified" else 0 < found < 2 * taken
    assert (split[:40] != "test").all()


@pytest.mark.parametrize("by", ["stratified", "hash"])
def test_validation_taken_out_of_train_does_not_depend_on_the_order_of_rows(by):
    corpus = small_corpus(["train"] * 40 + ["test"] * 10)
    mixed = corpus.sample(frac=1, random_state=1)
    one, other = (
        assign_splits(rows, validation=12, test=0.1, by=by, seed=0).set_index("id")["split"]
        for rows in (corpus, mixed)
    )
    assert one.to_dict() == other.to_dict()


def test_corpus_with_validation_only_gets_its_test_split_out_of_train():
    corpus = small_corpus(["train"] * 40 + ["validation"] * 5)
    sizes = assign_splits(corpus, validation=0.1, test=0.1, seed=0)["split"].value_counts()
    assert sizes.to_dict() == {"train": 36, "validation": 5, "test": 4}


def test_corpus_without_a_train_split_is_split_anew():
    documents = small_corpus(["test"] * 6 + ["validation"] * 4)
    given = assign_splits(documents, validation=0.2, test=0.3, seed=0)
    assert given["split"].value_counts().to_dict() == {"train": 5, "test": 3, "validation": 2}


def test_split_that_would_leave_nothing_to_train_on_is_refused():
    with pytest.raises(
        CorpusError, match=r"20 documents leave none for train: requested validation 20"
    ):
        assign_splits(small_corpus(["train"] * 20 + ["test"]), validation=20, test=0.1, seed=0)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(names=st.sets(st.text(max_size=4), min_size=2, max_size=30), cut=st.integers(1, 29))
def test_split_by_hash_is_the_same_for_a_document_whatever_others_there_are(names, cut):
    rows = [(name, "text", ["a"], None) for name in sorted(names)]
    corpus = pd.DataFrame(rows, columns=["id", "text", "labels", "split"])
    part = corpus.head(cut)
    whole = assign_splits(corpus, validation=0.3, test=0.3, by="hash", seed=0)
    alone = assign_splits(part, validation=0.3, test=0.3, by="hash", seed=0)
    assert whole["split"].head(cut).tolist() == alone["split"].tolist()


def test_split_by_hash_comes_close_to_its_shares():
    corpus = small_corpus([None] * 5000)
    split = assign_splits(corpus, validation=0.1, test=0.1, by="hash", seed=0)["split"]
    shares = split.value_counts(normalize=True)
    assert shares.to_dict() == pytest.approx(
        {"train": 0.8, "validation": 0.1, "test": 0.1}, abs=0.02
    )


def test_parts_of_one_text_stay_together_where_asked():
    rows = [(f"a-b{n}-{part}", "text", ["a"], None) for n in range(200) for part in range(4)]
    corpus = pd.DataFrame(rows, columns=["id", "text", "labels", "split"])
    rule = {"validation": 0.2, "test": 0.2, "by": "hash", "seed": 0}
    whole = corpus["id"].str.rsplit("-", n=1).str[0]
    apart = assign_splits(corpus, **rule)["split"].groupby(whole).nunique()
    kept = assign_splits(corpus, **rule, group_separator="-")["split"]
    assert apart.max() > 1
    assert (kept.groupby(whole).nunique() == 1).all()
    assert set(kept) == set(SPLITS)


@pytest.mark.parametrize("by", ["stratified", "hash"])
def test_each_document_outside_the_test_split_is_validation_in_one_fold(documents, by):
    rule = {**SHARES, "by": by, "seed": 0}
    plain = assign_splits(documents, **rule)["split"]
    folds = [assign_splits(documents, **rule, folds=4, fold=f)["split"] for f in (1, 2, 3, 4)]
    for split in folds:
        assert ((split == "test") == (plain == "test")).all()
        assert (split == "validation").sum() == pytest.approx((plain != "test").sum() / 4, rel=0.2)
    times = sum((split == "validation").astype(int) for split in folds)
    assert (times == (plain != "test")).all()


def test_folds_deal_out_a_validation_split_that_was_given():
    corpus = small_corpus(["test", "train", "train", "train", "validation"])
    found = [assign_splits(corpus, **SHARES, seed=0, folds=2, fold=f)["split"] for f in (1, 2)]
    assert [split[0] for split in found] == ["test", "test"]
    assert {split[4] for split in found} == {"train", "validation"}


def test_folds_share_out_every_label(documents):
    folded = assign_splits(documents, **SHARES, seed=0, folds=4, fold=2)
    labels = folded.explode("labels").groupby("split")["labels"].nunique()
    assert labels.to_dict() == dict.fromkeys(SPLITS, 33)
