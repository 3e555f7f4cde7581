import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation import tabulate_disagreements

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
