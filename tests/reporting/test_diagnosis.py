"""What a report says in words."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_parts import STATISTICS, mark, result, sure_of
from scipy import sparse

from losslab.reporting import build_standings, comparison_table, diagnose, diagnosis_lines
from losslab.reporting.diagnosis import (
    _measured,
    describe_measured,
    never_predicted,
    where_to_start,
)

ROOT = Path(__file__).parents[2]
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
    return where_to_start(table, standings, "bce", STATISTICS)["text"]


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
        statistics=STATISTICS,
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
    assert json.loads(json.dumps(diagnosed)) == diagnosed
    assert len(diagnosed["suspects"][0]["text"]) < 200
    assert diagnosis_lines(diagnosed, 2) == [each["text"] for each in diagnosed["findings"][:2]]


def test_what_was_measured_is_what_our_published_results_say():
    for measured in _measured():
        file = ROOT / f"docs/results/{measured['dataset']}_{measured['recipe']}.json"
        results = json.loads(file.read_text(encoding="utf-8"))
        losses = {each["loss"]: each for each in results["losses"]}
        reference = losses[measured["reference"]]
        tested = [each for each in losses.values() if each["macro_f1"].get("p_holm") is not None]
        assert measured["reference"] == results["reference"]
        assert measured["losses"] == len(tested)
        for metric, told in measured["best"].items():
            best = max(tested, key=lambda each: each[metric]["value"])
            assert told["loss"] == best["loss"]
            lead = best[metric]["value"] - reference[metric]["value"]
            assert told["difference"] == pytest.approx(lead, abs=5e-4)
            assert told["p"] == pytest.approx(best[metric]["p_holm"], abs=5e-3)
        better = [
            each
            for each in tested
            if each["macro_f1"]["p_holm"] < 0.05
            and each["macro_f1"]["value"] > reference["macro_f1"]["value"]
        ]
        assert measured["better"] == len(better)


def test_the_corpus_of_most_similar_statistics_is_told_first(monkeypatch):
    near, far = (
        {**_measured()[0], "dataset": name, "labels": n} for name, n in (("n", 7), ("f", 9000))
    )
    monkeypatch.setattr("losslab.reporting.diagnosis._measured", lambda: (far, near))
    first, second = describe_measured(STATISTICS)
    assert "Measured on n," in first
    assert "Measured on f," in second


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
        statistics=STATISTICS,
        reference="bce",
        idle={"bce": ""},
    )
    assert [finding["key"] for finding in found["findings"]] == ["start"]
