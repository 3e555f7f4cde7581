import numpy as np
import pandas as pd

from losslab.evaluation import tabulate_disagreements

DOCUMENTS = pd.DataFrame({"id": ["a", "b", "c"], "text": ["first", "x" * 999, "third"]})
TRUTH = np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)
GUESSES = {
    "bce": np.array([[1, 0], [1, 0], [1, 1]], dtype=bool),
    "mask": np.array([[0, 0], [1, 1], [0, 1]], dtype=bool),
}


def table(**options):
    return tabulate_disagreements(
        DOCUMENTS, TRUTH, GUESSES, reference="bce", labels=["gold", "tin"], **options
    )


def test_cases_are_the_documents_exactly_one_of_the_two_gets_right():
    cases = table()
    assert cases[["right", "id"]].to_numpy().tolist() == [
        ["mask", "b"],
        ["mask", "c"],
        ["bce", "a"],
    ]
    assert set(cases["loss"]) == {"mask"}


def test_cases_show_the_truth_and_what_either_said():
    first = table().iloc[0]
    said = (first["truth"], first["predicted"], first["reference"])
    assert said == ("gold; tin", "gold; tin", "gold")
    assert first["text"] == "x" * 300


def test_there_are_no_more_cases_than_asked_each_way():
    assert table(most=1)["id"].tolist() == ["b", "a"]


def test_the_reference_alone_makes_no_cases():
    alone = tabulate_disagreements(
        DOCUMENTS, TRUTH, {"bce": GUESSES["bce"]}, reference="bce", labels=["gold", "tin"]
    )
    assert alone.empty
    assert list(alone) == ["loss", "right", "id", "text", "truth", "predicted", "reference"]
