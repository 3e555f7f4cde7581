import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.evaluation import (
    average_seeds,
    compute_metrics,
    evaluate_loss,
    fit_decision_rules,
    intervals,
    own_results,
    predict,
    resample_metrics,
    summarise_seeds,
    threshold_grid,
)


def test_mean_and_deviation_agree_with_numpy():
    figures = np.random.default_rng(0).random((5, 2))
    summary = summarise_seeds([{"micro_f1": a, "macro_f1": b} for a, b in figures])
    mean, deviation = figures.mean(axis=0), figures.std(axis=0, ddof=1)
    assert summary["mean"] == pytest.approx({"micro_f1": mean[0], "macro_f1": mean[1]})
    assert summary["std"] == pytest.approx({"micro_f1": deviation[0], "macro_f1": deviation[1]})


def test_one_seed_has_no_deviation():
    assert summarise_seeds([{"micro_f1": 0.5}]) == {
        "mean": {"micro_f1": 0.5},
        "std": {"micro_f1": None},
    }


def test_counts_are_averaged_as_numbers():
    summary = summarise_seeds([{"undefined_rows": 1}, {"undefined_rows": 2}])
    assert summary["mean"] == {"undefined_rows": 1.5}


def test_figure_missing_from_a_later_seed_is_an_error():
    with pytest.raises((KeyError, ValueError), match="macro_f1"):
        summarise_seeds([{"macro_f1": 0.5}, {"micro_f1": 0.5}])


GROUPS = {"head": [0, 1], "tail": [2, 3]}
JUDGED = {"groups": GROUPS, "inverse_propensities": np.array([1.0, 2.0, 3.0, 4.0])}
BOOTSTRAP = {"resamples": 50, "seed": 4}


@pytest.fixture(scope="module")
def loss():
    """Targets, scores of two seeds, decision rules and history of a made-up loss."""
    random = np.random.default_rng(0)
    sizes = {"validation": 60, "test": 50}
    truth = {split: random.random((size, 4)) < 0.3 for split, size in sizes.items()}
    scores = {
        split: np.clip(0.4 * truth[split] + 0.6 * random.random((2, size, 4)), 0, 1)
        for split, size in sizes.items()
    }
    history = pd.DataFrame({"seed": [1, 1, 2], "epoch": [1, 2, 1], "train_steps": [5, 10, 5]})
    history = history.assign(
        best=1, select_by="macro_f1", validation_macro_f1=[0.5, 0.4, 0.2], trivial_macro_f1=0.3
    ).assign(train_loss=1.0, validation_loss=1.0, ended_by="budget")
    targets = {split: sparse.csr_array(part.astype(np.int8)) for split, part in truth.items()}
    return targets, {"seeds": np.array([1, 2]), **scores}, history


def evaluate(loss, primary="tuned", natural=True):
    """Rules, results and resamples; scores that are not natural are no probabilities."""
    targets, scores, history = loss
    options = {"grid": threshold_grid(0.4, 0.6, 0.01) if natural else None, "natural": natural}
    rules = fit_decision_rules(
        targets["validation"],
        scores,
        rules=["own", "per_label", "top_k"],
        task="multi",
        primary_rule=primary,
        **options,
    )
    predictions = predict(scores, rules)
    options = {**JUDGED, **BOOTSTRAP, "confidence": 0.9, "probability": natural}
    return rules, *evaluate_loss(targets, scores, predictions, rules, history, **options)


def test_metrics_of_a_seed_are_those_of_its_threshold_with_epochs(loss):
    rules, results, _ = evaluate(loss)
    targets, scores, _ = loss
    for place, seed in enumerate(("1", "2")):
        threshold = rules["seeds"][seed]["tuned"]["threshold"]
        values = scores["test"][place]
        expected = compute_metrics(
            targets["test"], values, values > threshold, probability=True, **JUDGED
        )
        epochs = {"epochs": 2 - place, "best_epoch": 1, "steps": 10 - 5 * place}
        epochs |= {"threshold": threshold}
        assert results["seeds"][seed] == {**expected, **epochs}
    assert results["rule"] == "tuned"
    assert results["mean"] == summarise_seeds(list(results["seeds"].values()))["mean"]


def test_results_say_what_each_seed_was_selected_by_and_which_had_not_learned(loss):
    _, results, _ = evaluate(loss)
    training = results["training"]
    assert training["seeds"]["1"] == {
        "select_by": "macro_f1",
        "best_epoch": 1.0,
        "epochs": 2.0,
        "steps": 10,
        "ended_by": "budget",
        "validation": {"macro_f1": 0.5},
        "trivial": {"macro_f1": 0.3},
        "mark": None,
    }
    assert training["seeds"]["2"]["mark"].startswith("stopped before it had learned: never")
    assert training["mark"].startswith("stopped before it had learned: never")
    assert training["mark"].endswith("(1 of 2 seeds: 2)")


def test_intervals_are_those_of_resamples_averaged_over_seeds(loss):
    rules, results, resamples = evaluate(loss)
    targets, scores, _ = loss
    drawn = [
        resample_metrics(
            targets["test"],
            values,
            values > rules["seeds"][seed]["tuned"]["threshold"],
            probability=True,
            **JUDGED,
            **BOOTSTRAP,
        )
        for seed, values in zip(("1", "2"), scores["test"], strict=True)
    ]
    averaged = average_seeds(drawn)
    assert {name: values.tolist() for name, values in resamples.items()} == {
        name: values.tolist() for name, values in averaged.items()
    }
    assert results["intervals"] == intervals(averaged, results["mean"], 0.9)


def test_every_metric_is_given_at_the_natural_threshold_too(loss):
    _, results, _ = evaluate(loss)
    targets, scores, _ = loss
    expected = [
        compute_metrics(targets["test"], values, values > 0.5, probability=True, **JUDGED)
        for values in scores["test"]
    ]
    own = own_results(results)
    assert {seed["threshold"] for seed in own["seeds"].values()} == {0.5}
    for name, value in summarise_seeds(expected)["mean"].items():
        assert own["mean"][name] == value
    assert set(own) == {"seeds", "mean", "std", "intervals"}
    assert set(own["intervals"]) == set(results["intervals"])
    assert own["mean"]["micro_precision"] == results["rules"]["own"]["test"]["micro_precision"]


def test_natural_threshold_as_the_primary_rule_is_not_repeated(loss):
    _, tuned, _ = evaluate(loss)
    _, results, _ = evaluate(loss, primary="own")
    assert results["rule"] == "own"
    assert results["own"] is None
    assert own_results(results)["mean"] == tuned["own"]["mean"]


def test_loss_without_a_natural_threshold_says_which_rule_it_falls_back_to(loss):
    _, results, _ = evaluate(loss, primary="own", natural=False)
    assert results["rule"] == "tuned"
    assert results["own"] is None
    assert own_results(results) is None
    assert "own" not in results["rules"]


def test_scores_that_are_no_probabilities_have_no_calibration_and_are_ranked_all_the_same(loss):
    _, probabilities, drawn = evaluate(loss)
    _, results, resamples = evaluate(loss, natural=False)
    missing = set(probabilities["mean"]) - set(results["mean"])
    errors = {f"{group}calibration_error" for group in ("", "head/", "tail/")}
    assert missing == {"brier_score", "log_loss", *errors}
    assert set(drawn) - set(resamples) == {"brier_score", "log_loss"}
    for metric in ("psp_at_5", "macro_average_precision", "coverage_error"):
        assert results["mean"][metric] == probabilities["mean"][metric]
