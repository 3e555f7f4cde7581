import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation import find_cases, tabulate_disagreements

DOCUMENTS = pd.DataFrame({"id": ["a", "b", "c"], "text": ["first", "x" * 999, "third"]})
TRUTH = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]], dtype=np.int8))
PREDICTIONS = {
    "bce": sparse.csr_array(np.array([[1, 0], [1, 0], [1, 1]], dtype=bool)),
    "mask": sparse.csr_array(np.array([[0, 0], [1, 1], [0, 1]], dtype=bool)),
}


def table(**options):
    return tabulate_disagreements(
        DOCUMENTS, TRUTH, PREDICTIONS, reference="bce", labels=["gold", "tin"], **options
    )


def test_disagreements_are_documents_exactly_one_of_the_two_gets_right():
    rows = table()
    assert rows[["right", "id"]].to_numpy().tolist() == [
        ["mask", "b"],
        ["mask", "c"],
        ["bce", "a"],
    ]
    assert set(rows["loss"]) == {"mask"}


def test_disagreements_show_the_true_labels_and_both_predictions():
    first = table().iloc[0]
    shown = (first["truth"], first["predicted"], first["reference"])
    assert shown == ("gold; tin", "gold; tin", "gold")
    assert first["text"] == "x" * 300


def test_there_are_no_more_documents_than_asked_each_way():
    assert table(most=1)["id"].tolist() == ["b", "a"]


def test_the_reference_alone_has_no_disagreements():
    alone = tabulate_disagreements(
        DOCUMENTS, TRUTH, {"bce": PREDICTIONS["bce"]}, reference="bce", labels=["gold", "tin"]
    )
    assert alone.empty
    assert list(alone) == ["loss", "right", "id", "text", "truth", "predicted", "reference"]


def cases(predictions, **options):
    return find_cases(DOCUMENTS, TRUTH, predictions, labels=["gold", "tin"], **options)


def test_cases_are_documents_predicted_differently_with_the_labels_of_all_losses():
    third = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 0]], dtype=bool))
    found = cases({**PREDICTIONS, "third": third})
    assert found["losses"] == ["bce", "mask", "third"]
    assert (found["documents"], found["differ"]) == (3, 3)
    assert found["exact"] == {"bce": 1, "mask": 2, "third": 1}
    assert found["cases"][0] == {
        "id": "a",
        "text": "first",
        "gold": ["gold"],
        "predicted": {"bce": ["gold"], "mask": [], "third": ["gold"]},
    }
    assert found["cases"][1]["text"] == "x" * 300


def test_cases_are_counted_where_losses_differ_alone():
    half = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=bool))
    found = cases({"bce": PREDICTIONS["bce"], "half": half})
    assert [case["id"] for case in found["cases"]] == ["c"]
    assert (found["differ"], found["exact"]) == (1, {"bce": 0, "half": 1})


def test_few_cases_are_shown_spread_over_all():
    many = pd.DataFrame({"id": np.arange(100).astype(str), "text": "x"})
    truth = sparse.csr_array(np.ones((100, 1), dtype=np.int8))
    none = sparse.csr_array((100, 1), dtype=bool)
    found = find_cases(many, truth, {"bce": truth, "none": none}, labels=["a"], most=4)
    assert [case["id"] for case in found["cases"]] == ["0", "33", "66", "99"]
    assert found["differ"] == 100


def test_one_loss_alone_has_no_cases():
    found = cases({"bce": PREDICTIONS["bce"]})
    assert (found["differ"], found["cases"]) == (0, [])
