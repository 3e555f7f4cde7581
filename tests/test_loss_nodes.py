"""The nodes of a loss: what they may look at, and what they give."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from scipy import sparse

from losslab.parameters import ReportSettings, ThresholdGrid, loss_options
from losslab.parameters.training import Recipes
from losslab.pipelines.losses.nodes import decide, evaluate, score, train
from losslab.supervision import describe_labels, frequency_groups

SPLIT = np.array(["train"] * 60 + ["validation"] * 30 + ["test"] * 30)
CONF = yaml.safe_load((ROOT / "conf/base/parameters_losses.yml").read_text())
REPORT = ReportSettings(reference="bce", resamples=100, confidence=0.95, seed=0, mixtures="refuse")
THRESHOLD = ThresholdGrid(**CONF["threshold"])


@pytest.fixture
def recipes() -> Recipes:
    probe = CONF["recipes"]["probe"]
    probe = {**probe, "hidden": 0, "training": {**probe["training"], "epochs": 3}}
    return Recipes(**{**CONF["recipes"], "probe": probe})


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    features = random.normal(size=(120, 6)).astype(np.float32)
    targets = (features[:, :4] + 0.5 * random.normal(size=(120, 4)) > 0.3).astype(np.int8)
    return features, targets


def run(data, recipes, loss="db", permute=None, task="multi"):
    """All four nodes, with the targets of one split permuted."""
    features, targets = data
    targets = targets.copy()
    if permute is not None:
        rows = np.flatnonzero(permute == SPLIT)
        targets[rows] = targets[np.random.default_rng(1).permutation(rows)]
    matrix = sparse.csr_array(targets)
    documents = pd.DataFrame({"id": np.arange(120).astype(str), "split": SPLIT})
    statistics = describe_labels(sparse.csr_array(targets[SPLIT == "train"]))
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    shared = {
        "features": {"embeddings": features},
        "documents": documents,
        "label_statistics": statistics,
        "options": loss_options(loss)(),
        "recipe": "probe",
        "recipes": recipes,
        "task": task,
    }
    model, history = train(
        loss,
        **shared,
        targets=matrix,
        label_space=list("abcd")[: targets.shape[1]],
        failures=Path("nowhere"),
        threshold=THRESHOLD,
        seed=1,
        seeds=2,
    )
    scores = score(loss, model, **shared)
    thresholds = decide(loss, scores, matrix, documents, THRESHOLD, task)
    metrics, _ = evaluate(
        scores,
        thresholds,
        history,
        matrix,
        documents,
        statistics,
        data_fingerprint={"targets": "0"},
        report=REPORT,
        recipe="probe",
        recipes=recipes,
        options={},
        task=task,
    )
    return model, history.filter(regex="loss|validation|epoch"), scores, thresholds, metrics


def same(left, right) -> bool:
    return all(np.array_equal(left[name], right[name]) for name in left)


def test_test_targets_decide_nothing_but_the_metrics(data, recipes):
    model, history, scores, thresholds, metrics = run(data, recipes)
    blind = run(data, recipes, permute="test")
    assert same(model, blind[0])
    pd.testing.assert_frame_equal(history, blind[1])
    assert same(scores, blind[2])
    assert thresholds == blind[3]
    assert metrics["mean"]["macro_f1"] != blind[4]["mean"]["macro_f1"]


def test_validation_targets_decide_the_epoch_and_the_threshold(data, recipes):
    _, history, _, thresholds, _ = run(data, recipes)
    other = run(data, recipes, permute="validation")
    assert not history["validation_macro_f1"].equals(other[1]["validation_macro_f1"])
    assert thresholds != other[3]


@pytest.mark.parametrize("loss", ["ranking", "zlpr_rdrop", "sad_f1", "sbayes_f1", "tlpr"])
def test_losses_with_their_own_scores_pass_through_all_nodes(data, recipes, loss):
    _, _, scores, thresholds, metrics = run(data, recipes, loss)
    assert scores["test"].shape == (2, 30, 4)
    assert set(thresholds["seeds"]) == set(metrics["seeds"]) == {"1", "2"}
    assert metrics["mean"]["micro_f1"] > 0.3


def test_a_frequency_group_without_labels_counts_zero(data, recipes):
    features, targets = data
    metrics = run((features, targets[:, :2]), recipes)[4]
    assert metrics["mean"]["tail/macro_f1"] == 0


@pytest.mark.parametrize("loss", ["ce", "bce", "zlpr"])
def test_single_label_tasks_are_decided_by_the_highest_score(data, recipes, loss):
    features, _ = data
    one_hot = np.eye(4, dtype=np.int8)[features[:, :4].argmax(axis=1)]
    _, _, scores, thresholds, metrics = run((features, one_hot), recipes, loss, task="single")
    assert thresholds["primary"] == "likeliest"
    truth = one_hot[SPLIT == "test"].argmax(axis=1)
    accuracy = (scores["test"].argmax(axis=2) == truth).mean(axis=1)
    assert [metrics["seeds"][seed]["micro_f1"] for seed in "12"] == pytest.approx(list(accuracy))
    assert [metrics["seeds"][seed]["subset_accuracy"] for seed in "12"] == pytest.approx(
        list(accuracy)
    )
