"""The nodes that decide and evaluate: predictions are made once, metrics agree with them."""

import numpy as np
import pytest
from recipe_conf import read_recipe
from sklearn.metrics import f1_score

from losslab.data.fingerprint import fingerprint_data, hash_arrays
from losslab.evaluation import compute_metrics, inverse_propensities
from losslab.losses import LOSSES
from losslab.parameters import BootstrapSettings
from losslab.pipelines.evaluation import nodes

from .small_data import SPLIT, make_data, make_splits, run_nodes


@pytest.fixture(scope="module")
def done():
    return run_nodes(make_data())


def test_metrics_are_those_of_the_predictions(done):
    truth = done.label_matrix[SPLIT == "test"].toarray()
    for seed in ("1", "2"):
        predicted = done.predictions.of("test", "tuned", seed).toarray()
        expected = f1_score(truth, predicted, average="macro", zero_division=0)
        assert done.metrics["seeds"][seed]["macro_f1"] == pytest.approx(expected)
        own = done.predictions.of("test", "own", seed).toarray()
        expected = f1_score(truth, own, average="micro")
        assert done.metrics["own"]["seeds"][seed]["micro_f1"] == pytest.approx(expected)


def test_predictions_are_scores_above_the_fitted_threshold(done):
    for place, seed in enumerate(("1", "2")):
        threshold = done.decision_rules["seeds"][seed]["tuned"]["threshold"]
        expected = done.scores["test"][place] > np.asarray(threshold)
        assert np.array_equal(done.predictions.of("test", "tuned", seed).toarray(), expected)
        own = done.predictions.of("test", "own", seed).toarray()
        assert np.array_equal(own, done.scores["test"][place] > np.asarray(0.5))


@pytest.mark.parametrize("rule", ["own", "per_label", "top_k", "scutfbr", "logit_adjusted"])
def test_primary_rule_decides_which_predictions_are_judged(done, rule):
    other = run_nodes(make_data(), primary_rule=rule)
    assert set(other.predictions.rules) == {rule, *done.predictions.rules}
    assert other.predictions.primary == other.metrics["rule"] == rule
    truth = done.label_matrix[SPLIT == "test"].toarray()
    expected = [
        f1_score(truth, other.predictions.of("test", rule, seed).toarray(), average="micro")
        for seed in ("1", "2")
    ]
    found = [other.metrics["seeds"][seed]["micro_f1"] for seed in ("1", "2")]
    assert found == pytest.approx(expected)
    assert (other.metrics["own"] is None) == (rule == "own")


@pytest.mark.parametrize("rule", ["own", "logit_adjusted"])
def test_loss_without_probabilities_is_judged_by_the_tuned_threshold(rule):
    done = run_nodes(make_data(), "ranking", primary_rule=rule)
    assert done.predictions.primary == "tuned"
    assert {"own", "logit_adjusted"}.isdisjoint(done.predictions.rules)
    assert {"brier_score", "log_loss", "calibration_error"}.isdisjoint(done.metrics["mean"])


def test_priors_and_propensities_are_those_of_the_training_documents(done):
    train = done.label_matrix[SPLIT == "train"]
    adjusted = run_nodes(make_data(), primary_rule="logit_adjusted").decision_rules["seeds"]["1"]
    rule, carried = adjusted["logit_adjusted"], train.sum(axis=0)
    odds = np.log(carried / (60 - carried))
    thresholds = np.array(rule["thresholds"])
    offsets = np.log(thresholds / (1 - thresholds)) - rule["tau"] * odds
    assert offsets == pytest.approx([offsets[0]] * 4, abs=1e-5)
    propensities = inverse_propensities(train.sum(axis=0), 60)
    for place, seed in enumerate("12"):
        expected = compute_metrics(
            done.label_matrix[SPLIT == "test"],
            done.scores["test"][place],
            done.predictions.of("test", "tuned", seed),
            inverse_propensities=propensities,
            probability=True,
        )
        found = done.metrics["seeds"][seed]
        assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["ce", "bce", "zlpr"])
def test_single_label_tasks_are_decided_by_the_highest_score(loss):
    features, _ = make_data()
    one_hot = np.eye(4, dtype=np.int8)[features[:, :4].argmax(axis=1)]
    done = run_nodes((features, one_hot), loss, task="single")
    assert done.decision_rules["primary"] == "argmax"
    truth = one_hot[SPLIT == "test"].argmax(axis=1)
    accuracy = list((done.scores["test"].argmax(axis=2) == truth).mean(axis=1))
    for metric in ("micro_f1", "subset_accuracy"):
        found = [done.metrics["seeds"][seed][metric] for seed in "12"]
        assert found == pytest.approx(accuracy)


def test_frequency_group_without_labels_counts_zero():
    features, targets = make_data()
    assert run_nodes((features, targets[:, :2])).metrics["mean"]["tail/macro_f1"] == 0


def test_metrics_record_options_conditions_and_seeds(done):
    assert done.metrics["options"] == LOSSES["db"].defaults()
    conditions = done.metrics["conditions"]
    assert conditions["seeds"] == ["1", "2"]
    assert conditions["resampling"] == {"resamples": 100, "seed": 0}
    assert conditions["data"] == fingerprint_data(make_splits(), done.label_matrix, list("abcd"))
    made_of = {"features": done.shared["features"], "model": done.model, "scores": done.scores}
    assert done.metrics["made_of"] == {name: hash_arrays(each) for name, each in made_of.items()}


def test_posterior_pools_the_states_that_were_kept_of_all_seeds():
    done = run_nodes(make_data(), "sbayes_f1")
    shared = {name: done.shared[name] for name in ("loss", "recipe", "label_statistics", "task")}
    bootstrap = BootstrapSettings(resamples=100, confidence=0.8, seed=0)
    table = nodes.summarise_posterior(
        **shared, model=done.model, label_space=list("abcd"), bootstrap=bootstrap
    )
    states = []
    for seed in "12":
        older, newer = done.model[f"seed_{seed}/loss.counts"]
        kept = done.model[f"seed_{seed}/loss.kept"]
        assert older + newer < 64  # so that every state is kept
        states += [kept[0, :older], kept[1, :newer]]
    log_beta, eta = np.concatenate(states).transpose(1, 0, 2)
    for parameter, draws in {"beta": np.exp(log_beta), "eta": eta}.items():
        rows = table[table["parameter"] == parameter]
        assert rows["label"].tolist() == list("abcd")
        assert rows["train"].tolist() == done.shared["label_statistics"]["frequencies"]
        assert rows["low"].tolist() == pytest.approx(np.quantile(draws, 0.1, axis=0))
        assert rows["median"].tolist() == pytest.approx(np.quantile(draws, 0.5, axis=0))


def test_conditions_are_parameters_as_json():
    recipe = read_recipe("probe")
    conditions = nodes.record_conditions({"sample": True}, recipe=recipe, task="multi")
    assert conditions == {"recipe": recipe.model_dump(), "task": "multi", "sample": True}


def test_results_come_in_the_order_of_the_table_of_losses():
    last, first = list(LOSSES)[-1], next(iter(LOSSES))
    gathered = nodes.gather_results(one={last: {}}, two={first: {}})
    assert list(gathered) == [first, last]
