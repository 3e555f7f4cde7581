import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score

from losslab.evaluation import (
    best_threshold,
    compute_metrics,
    grid_values,
    judge_epoch,
    threshold_grid,
    tune_threshold,
)
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, ThresholdGrid

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metrics.json").read_text())["seed004"]
GRID = threshold_grid(0.4, 0.6, 0.01)


def draw_validation(seed):
    random = np.random.default_rng(seed)
    targets = (random.random((50, 8)) < 0.3).astype(int)
    return targets, 0.3 * random.normal(size=(50, 8)) + 0.4 * targets - 0.2


def test_grid_of_the_protocol_has_21_thresholds():
    assert GRID.tolist() == [round(0.01 * step, 2) for step in range(40, 61)]


def test_grid_of_one_threshold_is_that_threshold():
    assert threshold_grid(0.5, 0.5, 0.01).tolist() == [0.5]


def test_probabilities_have_the_grid_if_there_is_one_and_other_scores_every_threshold():
    grid = ThresholdGrid(start=0.4, stop=0.6, step=0.01)
    bce, ranking = (
        LossSettings(name=name, options=LOSSES[name].defaults()) for name in ("bce", "ranking")
    )
    assert list(grid_values(bce, grid)) == GRID.tolist()
    assert grid_values(ranking, grid) is None
    assert grid_values(bce, None) is None


def test_golden_validation_split_picks_its_threshold():
    targets, chances = np.array(GOLDEN["val_targets"]), np.array(GOLDEN["val_probs"])
    assert tune_threshold(targets, chances, GRID) == GOLDEN["best_threshold"] == 0.53


@pytest.mark.parametrize("seed", range(3))
def test_threshold_is_the_best_by_micro_f1(seed):
    targets, logits = draw_validation(seed)
    chances = expit(logits)
    scores = [f1_score(targets, chances > cut, average="micro", zero_division=0) for cut in GRID]
    assert tune_threshold(targets, chances, GRID) == GRID[int(np.argmax(scores))]


def test_lowest_threshold_wins_a_tie():
    targets = np.array([[1, 0], [0, 1]])
    chances = np.array([[0.9, 0.1], [0.1, 0.52]])
    # Every cut below 0.52 predicts both rightly.
    assert tune_threshold(targets, chances, GRID) == 0.4


def test_probability_at_the_threshold_is_not_predicted():
    targets, chances = np.array([[1, 0]]), np.array([[0.6, 0.5]])
    assert tune_threshold(targets, chances, np.array([0.4, 0.5])) == 0.5


def test_no_positives_leave_the_lowest_threshold():
    assert tune_threshold(np.zeros((3, 2)), np.full((3, 2), 0.5), GRID) == 0.4


@pytest.mark.parametrize("seed", range(3))
def test_epoch_is_judged_as_the_test_split_is(seed):
    targets, logits = draw_validation(seed)
    judged = judge_epoch(targets, expit(logits), grid=GRID)
    chances = expit(logits)
    cut = tune_threshold(targets, chances, GRID)
    metrics = compute_metrics(targets, chances, chances > cut)
    assert judged == {
        "macro_f1": metrics["macro_f1"],
        "micro_f1": metrics["micro_f1"],
        "subset_accuracy": metrics["subset_accuracy"],
        "threshold": cut,
    }


def test_golden_validation_epoch_has_its_micro_f1():
    targets, chances = np.array(GOLDEN["val_targets"]), np.array(GOLDEN["val_probs"])
    judged = judge_epoch(targets, chances, grid=GRID)
    assert judged["threshold"] == 0.53
    assert judged["micro_f1"] == pytest.approx(max(GOLDEN["val_micro_f1"]), rel=0, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_best_threshold_beats_every_other_one(seed):
    targets, scores = draw_validation(seed)
    scores = np.round(scores, 1)  # ties
    cut = best_threshold(targets.astype(bool), scores)
    reached = {c: f1_score(targets, scores > c, average="micro") for c in [*np.unique(scores), -9]}
    assert f1_score(targets, scores > cut, average="micro") == pytest.approx(max(reached.values()))


def test_best_threshold_lies_between_the_scores_it_separates():
    truth, scores = np.array([[True, True, False]]), np.array([[5.0, 3.0, 2.0]])
    assert best_threshold(truth, scores) == 2.5
    assert best_threshold(np.array([[True]]), np.array([[4.0]])) < 4.0


def test_scores_without_a_grid_are_cut_where_it_is_best():
    targets, scores = draw_validation(0)
    assert tune_threshold(targets, 100 * scores, None) == best_threshold(
        targets.astype(bool), 100 * scores
    )


def test_without_a_grid_the_threshold_goes_as_low_as_it_needs():
    targets = np.array([[1, 0], [0, 1]])
    chances = np.array([[0.03, 0.01], [0.01, 0.02]])
    assert tune_threshold(targets, chances, GRID) == 0.4  # nothing is predicted
    assert tune_threshold(targets, chances, None) == pytest.approx(0.015)
    assert judge_epoch(targets, chances, grid=None)["micro_f1"] == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_best_threshold_is_that_of_a_loop_over_all_scores(seed, monkeypatch):
    random = np.random.default_rng(seed)
    truth = random.random((12, 4)) < 0.3
    truth[0, 0] = True
    scores = np.round(random.normal(size=truth.shape) + truth, 1 + seed % 3)
    ends = [*np.unique(scores), np.inf]
    cuts = [ends[0] - 1.0, *(float(low + high) / 2 for low, high in pairwise(ends[:-1]))]
    reached = [f1_score(truth, scores > cut, average="micro") for cut in cuts]
    assert best_threshold(truth, scores) == cuts[int(np.argmax(reached))]
    monkeypatch.setattr("losslab.evaluation.confusion.BLOCK", 8)
    assert best_threshold(sparse.csr_array(truth), scores) == cuts[int(np.argmax(reached))]


def test_best_threshold_without_positives_is_zero():
    assert best_threshold(np.zeros((2, 2), dtype=bool), np.ones((2, 2))) == 0.0
    assert best_threshold(np.zeros((0, 2), dtype=bool), np.ones((0, 2))) == 0.0


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match=r"\(1, 2\) and scores \(1, 3\) differ"):
        tune_threshold(np.zeros((1, 2)), np.zeros((1, 3)), GRID)


def test_an_epoch_is_judged_by_group_as_metrics_are():
    random = np.random.default_rng(0)
    scores, truth = random.random((40, 6)), random.random((40, 6)) < 0.3
    groups = {"head": np.array([0, 3]), "tail": np.array([], dtype=int)}
    judged = judge_epoch(truth, scores, grid=threshold_grid(0.4, 0.6, 0.1), groups=groups)
    metrics = compute_metrics(truth, scores, scores > judged["threshold"], groups=groups)
    for group in groups:
        for name in ("micro_f1", "macro_f1"):
            assert judged[f"{group}_{name}"] == metrics[f"{group}/{name}"]


def test_an_epoch_is_judged_by_a_threshold_that_is_given():
    targets, logits = draw_validation(0)
    chances = expit(logits)
    judged = judge_epoch(targets, chances, grid=GRID, threshold=0.5)
    assert judged["threshold"] == 0.5 != tune_threshold(targets, chances, GRID)
    for average in ("micro", "macro"):
        expected = f1_score(targets, chances > 0.5, average=average, zero_division=0)
        assert judged[f"{average}_f1"] == pytest.approx(expected)
    assert judged["subset_accuracy"] == accuracy_score(targets, chances > 0.5)


def test_accuracy_of_a_single_label_epoch_is_the_usual_one():
    random = np.random.default_rng(1)
    scores, classes = random.random((30, 4)), random.integers(4, size=30)
    judged = judge_epoch(np.eye(4)[classes], scores, grid=GRID, task="single")
    assert judged["subset_accuracy"] == accuracy_score(classes, scores.argmax(axis=1))
    assert "threshold" not in judged


def test_an_epoch_does_not_depend_on_the_blocks_it_is_judged_in(monkeypatch):
    targets, logits = draw_validation(0)
    whole = judge_epoch(targets, expit(logits), grid=GRID)
    monkeypatch.setattr("losslab.evaluation.confusion.BLOCK", 20)
    assert judge_epoch(targets, expit(logits), grid=GRID) == whole
