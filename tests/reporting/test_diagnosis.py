"""What a report says in words."""

import numpy as np
import pandas as pd
import pytest
from report_parts import mark, result, sure_of
from scipy import sparse

from losslab.reporting import build_standings, comparison_table, diagnose, diagnosis_lines
from losslab.reporting.diagnosis import never_predicted, where_to_start

LABELS = ["many", "some", "few", "none"]
TRUTH = sparse.csr_array(np.repeat([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], [4, 2, 3], axis=0))
SUSPECT = {"id": "7", "text": "x" * 500, "split": "test", "label": "few", "gold": True}


def predictions_of(*labels):
    """Two seeds, which predict these labels for every document."""
    rows = np.zeros(TRUTH.shape, dtype=bool)
    rows[:, list(labels)] = True
    return [sparse.csr_array(rows)] * 2


def start(metrics, uncertainty=None, **differs):
    table = mark(comparison_table(metrics), differs)
    standings = build_standings(table, uncertainty=uncertainty)
    return where_to_start(table, standings, "bce")["text"]


def test_one_starts_with_the_best_loss_only_where_its_lead_is_significant():
    metrics = {"bce": result(0.4), "db": result(0.5)}
    assert (
        start(metrics, sure_of(["db"], 0.01)) == "Start with db: macro-F1 +0.100 to bce, p = 0.010."
    )
    told = start(metrics, sure_of(["db"], 0.3))
    assert told.startswith("Start with bce: no other of 2 losses is significantly better")
    assert "best: db +0.100, p = 0.30" in told
    assert start({"bce": result(0.5), "db": result(0.4)}).startswith("Start with bce: the best")


def test_no_advice_rests_on_what_had_not_learned_or_cannot_be_compared():
    metrics = {"bce": result(0.4), "db": result(0.5), "asl": result(0.6, untrained="stopped")}
    told = start(metrics, sure_of(["db", "asl"], 0.01), db="other epochs")
    assert told.startswith("Start with bce")
    assert "db" not in told
    assert "asl" not in told


def test_rare_labels_may_ask_for_another_loss():
    metrics = {"bce": result(0.4), "db": result(0.4), "cb": result(0.39)}
    metrics["cb"]["mean"] = {**metrics["cb"]["mean"], "tail/macro_f1": 0.5}
    sure = sure_of(["db", "cb"], 1.0)
    entry = sure["losses"]["cb"]["macro_f1"]
    sure["losses"]["cb"] |= {"tail/macro_f1": {**entry, "p_holm": 0.02}}
    assert "Where rare labels matter most, try cb: tail macro-F1 +0.100" in start(metrics, sure)


def test_labels_that_no_seed_predicts_are_named_if_the_split_has_them():
    silent = never_predicted(
        {"bce": predictions_of(0), "db": predictions_of(0, 1, 2)}, TRUTH, LABELS
    )
    assert silent == {"bce": ["some", "few"], "db": []}


@pytest.fixture
def diagnosed():
    metrics = {"bce": result(0.4), "mask_element": result(0.4), "db": result(0.5)}
    for each, at in zip(metrics.values(), (0.12, 0.12, 0.3), strict=True):
        each["mean"] |= {"threshold": at, "labels_without_predictions": 1.0}
        own = {"macro_f1": 0.25, "labels_without_predictions": 2.5}
        each["own"] = {"mean": {**each["mean"], **own}, "std": each["std"]}
    metrics["db"]["seeds"] = {"0": {"macro_f1": 0.5}}
    table = comparison_table(metrics)
    return diagnose(
        metrics,
        {loss: predictions_of(0) if loss == "db" else predictions_of(0, 1) for loss in metrics},
        TRUTH,
        pd.DataFrame([{**SUSPECT, "probability": 0.02}]),
        labels=LABELS,
        comparison=table,
        standings=build_standings(table),
        corpus_summary={"duplicate_texts": {"validation": {"train": 1}, "test": {"train": 3}}},
        reference="bce",
        idle={"bce": "", "mask_element": "its mask is empty", "db": ""},
    )


def test_findings_say_what_thresholds_cost_and_what_cannot_be_judged(diagnosed):
    told = {finding["key"]: finding for finding in diagnosed["findings"]}
    assert told["threshold"]["text"] == (
        "bce at 0.5 predicts nothing for 2.5 of 4 labels (macro-F1 0.250); "
        "tuned threshold 0.12: 1 (0.400)."
    )
    assert len(told["threshold"]["details"]) == 3
    silent, scarce = (told[key]["text"] for key in ("silent", "scarce"))
    assert "3 of 3 losses never predict some label of the test split, db 2 of 4." in silent
    assert "No loss predicts few." in silent
    assert "2 of 4 labels have fewer than 5 test documents, 1 of them none" in scarce
    assert told["scarce"]["details"] == ["none: 0.", "few: 2."]
    assert told["suspects"]["text"].startswith(
        "1 document of validation and test may be mislabelled"
    )
    assert told["duplicates"]["text"].startswith("3 test documents also in train by text")
    assert told["identical"]["text"] == (
        "mask_element is identical to bce in every prediction: its mask is empty."
    )
    assert next(finding["key"] for finding in diagnosed["findings"]) == "start"


def test_a_diagnosis_is_json_with_excerpts_of_texts(diagnosed):
    import json

    assert json.loads(json.dumps(diagnosed)) == diagnosed
    assert len(diagnosed["suspects"][0]["text"]) < 200
    assert diagnosis_lines(diagnosed, 2) == [each["text"] for each in diagnosed["findings"][:2]]


def test_nothing_is_told_where_nothing_is_found():
    truth = sparse.csr_array(np.ones((5, 1)))
    metrics = {"bce": result(0.4)}
    table = comparison_table(metrics)
    found = diagnose(
        metrics,
        {"bce": [truth.astype(bool)]},
        truth,
        pd.DataFrame(columns=list(SUSPECT)),
        labels=["a"],
        comparison=table,
        standings=build_standings(table),
        corpus_summary={},
        reference="bce",
        idle={"bce": ""},
    )
    assert [finding["key"] for finding in found["findings"]] == ["start"]
