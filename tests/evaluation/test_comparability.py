import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.data.fingerprint import fingerprint_data
from losslab.errors import IncomparableError
from losslab.evaluation import (
    find_mismatches,
    fingerprint,
    refuse_mismatches,
    refuse_other_data,
    refuse_other_scores,
)


def corpus():
    documents = pd.DataFrame({"id": ["a", "b"], "text": ["one", "two"], "split": ["train", "test"]})
    return documents, sparse.csr_array(np.array([[1, 0], [0, 1]])), ["x", "y"]


def test_same_data_have_the_same_fingerprint():
    assert fingerprint_data(*corpus()) == fingerprint_data(*corpus())


@pytest.mark.parametrize("column", ["id", "text", "split"])
def test_changed_column_changes_its_own_part_only(column):
    documents, targets, labels = corpus()
    before = fingerprint_data(documents, targets, labels)
    after = fingerprint_data(documents.assign(**{column: ["p", "q"]}), targets, labels)
    assert {name for name in before if before[name] != after[name]} == {column, "test"}


def test_fingerprint_of_the_test_split_is_of_its_documents_alone():
    documents, targets, labels = corpus()
    before = fingerprint_data(documents, targets, labels)["test"]
    other = documents.assign(text=["other", "two"], split=["validation", "test"])
    fewer = fingerprint_data(other.iloc[[1]], targets[[1]], labels)["test"]
    assert fingerprint_data(other, targets, labels)["test"] == fewer == before
    changed = sparse.csr_array(np.array([[1, 0], [1, 1]]))
    assert fingerprint_data(documents, changed, labels)["test"] != before


def test_changed_targets_and_label_space_are_noticed():
    documents, targets, labels = corpus()
    before = fingerprint_data(documents, targets, labels)
    other = fingerprint_data(documents, targets[[1, 0]], ["x", "z"])
    assert {name for name in before if before[name] != other[name]} == {
        "targets",
        "label_space",
        "test",
    }


def test_texts_that_are_cut_elsewhere_are_other_texts():
    documents, targets, labels = corpus()
    cut = documents.assign(text=["onet", "wo"])
    assert (
        fingerprint_data(documents, targets, labels)["text"]
        != (fingerprint_data(cut, targets, labels)["text"])
    )


def results(**changes):
    same = {"seeds": ["1"], "recipe": {"training": {"epochs": 300}}}
    return {"bce": {"conditions": same}, "db": {"conditions": {**same, **changes}}}


def test_losses_under_the_same_conditions_do_not_mismatch():
    assert find_mismatches(results(), "bce") == {}
    refuse_mismatches({}, "bce")


def test_refusal_names_the_loss_what_differs_and_what_to_do():
    mixed = results(recipe={"training": {"epochs": 100}}, seeds=["1", "2"])
    with pytest.raises(IncomparableError) as refused:
        refuse_mismatches(find_mismatches(mixed, "bce"), "bce")
    told = str(refused.value)
    assert "db: seeds is ['1', '2'], expected ['1']" in told
    assert "recipe.training.epochs is 100, expected 300" in told
    assert "report.on_mismatch=mark" in told


def test_condition_that_only_one_result_has_is_a_difference():
    assert find_mismatches(results(task="multi"), "bce") == {
        "db": ["task is multi, expected absent"]
    }


def test_reference_that_is_not_among_the_losses_is_named():
    with pytest.raises(IncomparableError, match="reference zlpr is not among the losses bce, db"):
        find_mismatches(results(), "zlpr")


def test_fingerprint_tells_values_apart():
    assert fingerprint({"epochs": 1}) != fingerprint({"epochs": 2})


def test_losses_that_were_evaluated_on_other_documents_are_refused_by_name():
    data = fingerprint_data(*corpus())
    metrics = {
        "bce": {"conditions": {"data": data}},
        "db": {"conditions": {"data": {**data, "split": "other"}}},
    }
    with pytest.raises(
        IncomparableError, match=r"evaluated on: db \(split\)\. Run the losses again"
    ):
        refuse_other_data(metrics, data)
    refuse_other_data({"bce": metrics["bce"]}, data)


def test_scores_of_another_model_are_refused():
    origin = {"features": "f", "model": "m", "scores": "s"}
    refuse_other_scores("db", "s", origin)
    with pytest.raises(
        IncomparableError, match=r"db: the scores \(t\) are not those made by model m"
    ):
        refuse_other_scores("db", "t", origin)
