import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import f1_score, precision_score, recall_score

from losslab.evaluation import (
    compare_rules,
    fit_decision_rules,
    fit_decisions,
    fit_k,
    fit_label_thresholds,
    fit_logit_adjustment,
    fit_scutfbr,
    label_priors,
    label_thresholds,
    predict,
    predict_labels,
    threshold_grid,
)

GRID = threshold_grid(0.4, 0.6, 0.01)
USUAL = ("own", "tuned", "per_label", "top_k")
ALL = (*USUAL, "scutfbr", "logit_adjusted")


def draw(documents=200, labels=6, seed=0, noise=0.2):
    """Probabilities that tell labels apart, each label by a cut of its own."""
    random = np.random.default_rng(seed)
    truth = random.random((documents, labels)) < np.linspace(0.4, 0.02, labels)
    centre = np.linspace(0.2, 0.7, labels)
    scores = centre + 0.25 * (truth - 0.5) + noise * random.normal(size=truth.shape)
    return truth, np.clip(scores, 0, 1)


def compared(truth, seeds):
    """Rules compared on one split; ``seeds``: scores and decisions by seed."""
    scores = np.stack([values for values, _ in seeds.values()])
    decisions = {seed: rules for seed, (_, rules) in seeds.items()}
    arrays = {
        "seeds": np.array([int(seed) for seed in seeds]),
        "validation": scores,
        "test": scores,
    }
    predictions = predict(arrays, {"primary": "tuned", "seeds": decisions})
    return compare_rules({"test": sparse.csr_array(truth)}, predictions)


@st.composite
def columns(draw):
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 4)))
    truth = draw(arrays(bool, shape))
    return truth, draw(arrays(np.float32, shape, elements=st.integers(-3, 3).map(float)))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(case=columns())
def test_no_cut_of_a_label_beats_the_one_fitted(case):
    truth, scores = case
    cuts = label_thresholds(truth, scores)
    for label in np.flatnonzero(truth.any(axis=0)):
        tried = [*np.unique(scores[:, label]), -9.0]
        reached = [f1_score(truth[:, label], scores[:, label] > cut) for cut in tried]
        own = f1_score(truth[:, label], scores[:, label] > cuts[label])
        assert own == pytest.approx(max(reached))
        lowest = min(cut for cut, f1 in zip(tried, reached, strict=True) if f1 >= own - 1e-12)
        assert ((scores[:, label] > cuts[label]) == (scores[:, label] > lowest)).all()


@pytest.mark.parametrize("seed", range(4))
def test_k_is_the_best_by_brute_force_and_the_smallest_of_equals(seed):
    truth, scores = draw(documents=30, seed=seed)
    reached = []
    for k in range(1, truth.sum(axis=1).max() + 1):
        guess = np.zeros_like(truth)
        for row, values in enumerate(scores):
            guess[row, sorted(range(len(values)), key=lambda c: (-values[c], c))[:k]] = True
        assert (predict_labels({"k": k}, scores) == guess).all()
        reached.append(f1_score(truth, guess, average="micro"))
    assert fit_k(truth, scores) == int(np.argmax(reached)) + 1


def test_label_thresholds_gain_where_labels_need_cuts_of_their_own():
    truth, scores = draw(documents=2000, noise=0.1)
    rules = fit_decisions(truth, scores, rules=USUAL, grid=GRID, task="multi")
    unseen, values = draw(documents=2000, noise=0.1, seed=1)
    by_rule = compared(unseen, {"1": (values, rules)})
    assert by_rule["per_label"]["test"]["macro_f1"] > by_rule["tuned"]["test"]["macro_f1"] + 0.1
    assert rules["per_label"]["strength"] is not None


def test_shrinkage_is_the_strength_of_best_macro_f1_on_documents_left_out():
    truth, scores = draw(documents=60)
    fitted = fit_label_thresholds(truth, scores, 0.5, seed=3, folds=4)
    fold = np.random.default_rng(3).permutation(60) % 4
    reached = {}
    for strength in (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0):
        guess = np.zeros_like(truth)
        for part in range(4):
            own, n = (
                label_thresholds(truth[fold != part], scores[fold != part]),
                truth[fold != part].sum(0),
            )
            for c in range(truth.shape[1]):
                share = 0 if strength == np.inf else n[c] / (n[c] + strength)
                cut = 0.5 if n[c] == 0 else (1 - share) * 0.5 + share * own[c]
                guess[fold == part, c] = scores[fold == part, c] > cut
        reached[strength] = f1_score(truth, guess, average="macro", zero_division=0)
    best = max(reached, key=reached.get)
    assert fitted["strength"] == (None if best == np.inf else best)


def test_the_fewer_positives_the_nearer_the_shared_threshold():
    random = np.random.default_rng(0)
    truth = np.zeros((400, 2), dtype=bool)
    truth[:200, 0] = truth[:4, 1] = True
    scores = 0.1 + 0.1 * truth + 0.01 * random.random(truth.shape)  # both labels cut near 0.15
    cuts = fit_label_thresholds(truth, scores, 0.5)["thresholds"]
    assert 0.1 < cuts[0] < cuts[1] < 0.5


def test_label_never_seen_on_validation_takes_the_shared_threshold():
    truth, scores = draw(documents=500, noise=0.1)
    truth[:, 5] = False
    assert fit_label_thresholds(truth, scores, 0.47)["thresholds"][5] == 0.47


def test_shared_threshold_stays_where_nothing_does_better():
    truth, _ = draw(documents=60)
    fitted = fit_label_thresholds(truth, 0.2 + 0.6 * truth, 0.4)
    assert fitted == {"thresholds": [0.4] * 6, "strength": None}


@pytest.mark.parametrize("asked", [ALL, USUAL, ("own", "scutfbr"), ()])
def test_rules_fit_the_task_and_the_kind_of_scores(asked):
    truth, scores = draw()
    options = {"rules": asked, "priors": truth.mean(axis=0)}
    everything = {"tuned", *asked}
    assert set(fit_decisions(truth, scores, grid=GRID, task="multi", **options)) == everything
    assert set(fit_decisions(truth, scores, grid=None, task="multi", **options)) == everything
    other = fit_decisions(truth, scores, grid=None, task="multi", natural=False, **options)
    assert set(other) == everything - {"own", "logit_adjusted"}
    single = fit_decisions(truth, scores, grid=GRID, task="single", **options)
    assert single == {"argmax": {"k": 1}}


@pytest.mark.parametrize("documents", [1, 2, 3])
def test_a_handful_of_documents_can_be_fitted(documents):
    truth, scores = draw(documents=documents)
    assert len(fit_label_thresholds(truth, scores, 0.5)["thresholds"]) == 6


def test_threshold_is_not_rounded_to_the_type_of_the_scores():
    score = np.array([[0.53]], dtype=np.float32)  # a little below 0.53
    assert not predict_labels({"threshold": float(np.nextafter(score[0, 0], 1))}, score).any()
    assert predict_labels({"threshold": float(score[0, 0]) - 1e-12}, score).all()


def test_rules_are_compared_by_the_mean_over_seeds():
    truth, scores = draw()
    decisions = {"1": {"own": {"threshold": 0.5}}, "2": {"own": {"threshold": 0.3}}}
    seeds = {seed: (scores, rules) for seed, rules in decisions.items()}
    by_rule = compared(truth, seeds)["own"]["test"]
    oracles = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    for average in ("micro", "macro"):
        for name, oracle in oracles.items():
            expected = [oracle(truth, scores > cut, average=average) for cut in (0.5, 0.3)]
            assert by_rule[f"{average}_{name}"] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("requested", ALL)
def test_primary_rule_is_the_one_requested_where_the_loss_has_it(requested):
    truth, values = draw(documents=30)
    scores = {"seeds": np.array([7]), "validation": values[None]}

    def primary(task, **options):
        options |= {"priors": label_priors(truth.sum(axis=0), 30)}
        fitted = fit_decision_rules(
            sparse.csr_array(truth),
            scores,
            task=task,
            rules=["top_k"],
            primary_rule=requested,
            **options,
        )
        expected = fit_decisions(truth, values, rules=["top_k", requested], task=task, **options)
        assert fitted["seeds"]["7"] == expected
        return fitted["primary"]

    assert primary("multi", grid=GRID) == primary("multi", grid=None) == requested
    fallback = "tuned" if requested in ("own", "logit_adjusted") else requested
    assert primary("multi", grid=None, natural=False) == fallback
    assert primary("single", grid=GRID) == "argmax"


def slow_scut(truth, scores):
    """A label's threshold of best F1, that F1, and its highest score."""
    (threshold,) = label_thresholds(truth[:, None], scores[:, None])
    reached = f1_score(truth, scores > threshold, zero_division=0) if truth.any() else 0.0
    return threshold, reached, scores.max()


def slow_scutfbr(truth, scores, fold):
    """One label: its threshold and limit of F1, fold by fold and limit by limit."""
    pooled = {}
    for limit in np.arange(1, 9) / 10:
        guess = np.zeros_like(truth)
        for part in np.unique(fold):
            own, reached, highest = slow_scut(truth[fold != part], scores[fold != part])
            guess[fold == part] = scores[fold == part] > (highest if reached < limit else own)
        pooled[limit] = f1_score(truth, guess, zero_division=0)
    best = max(pooled.values())
    limit = max(at for at, value in pooled.items() if value == best) if best > 0 else 0.1
    own, reached, highest = slow_scut(truth, scores)
    return highest if reached < limit else own, limit


@pytest.mark.parametrize("seed", range(3))
def test_scutfbr_is_its_definition_label_by_label(seed):
    truth, scores = draw(documents=60, seed=seed, noise=0.4)
    truth[:, 5] = False
    fitted = fit_scutfbr(truth, scores, seed=3, folds=4)
    fold = np.random.default_rng(3).permutation(60) % 4
    slow = [slow_scutfbr(truth[:, c], scores[:, c], fold) for c in range(6)]
    assert fitted["thresholds"] == pytest.approx([threshold for threshold, _ in slow])
    assert fitted["fbr"] == pytest.approx([limit for _, limit in slow])


def test_scutfbr_hardly_predicts_a_label_that_nothing_tells_apart():
    truth = np.zeros((300, 2), dtype=bool)
    truth[:90, 0] = truth[100, 1] = (
        True  # the only positive of the second has a hundred scores above it
    )
    scores = np.stack([0.1 + 0.8 * truth[:, 0], np.linspace(0.9, 0.1, 300)], axis=1)
    fitted = fit_scutfbr(truth, scores)
    predicted = predict_labels(fitted, scores)
    assert (predicted[:, 0] == truth[:, 0]).all()
    assert not predicted[:, 1].any()
    assert predict_labels({"thresholds": label_thresholds(truth, scores)}, scores)[:, 1].any()


def f1_of_all(truth, predicted):
    return 2 * (truth & predicted).sum() / (truth.sum() + predicted.sum())


def slow_logit_adjustment(truth, scores, priors):
    """Every tau with every threshold of the adjusted logits: macro-F1 reached by tau."""
    logits, odds = np.log(scores / (1 - scores)), np.log(priors / (1 - priors))
    reached = {}
    for tau in np.arange(9) / 4:
        adjusted = logits - tau * odds
        tried = [*np.unique(adjusted)[:-1], adjusted.min() - 1]
        micro = [f1_of_all(truth, adjusted > cut) for cut in tried]
        cut = min(c for c, value in zip(tried, micro, strict=True) if value >= max(micro) - 1e-12)
        reached[tau] = f1_score(truth, adjusted > cut, average="macro", zero_division=0)
    return reached


@pytest.mark.parametrize("seed", range(3))
def test_logit_adjustment_is_the_tau_of_best_macro_f1_each_with_its_tuned_threshold(seed):
    truth, scores = draw(documents=25, seed=seed)
    scores = np.clip(scores, 0.01, 0.99)
    priors = label_priors(truth.sum(axis=0), len(truth))
    fitted = fit_logit_adjustment(truth, scores, priors)
    reached = slow_logit_adjustment(truth, scores, priors)
    predicted = predict_labels(fitted, scores)
    assert fitted["tau"] == max(reached, key=reached.get)
    macro = f1_score(truth, predicted, average="macro", zero_division=0)
    assert macro == pytest.approx(max(reached.values()))


def test_logit_adjustment_finds_the_tau_that_the_scores_were_shifted_by():
    random = np.random.default_rng(0)
    priors = np.array([0.5, 0.2, 0.05, 0.01])
    truth = random.random((4000, 4)) < priors
    odds = np.log(priors / (1 - priors))
    shifted = 0.8 * (truth - 0.5) + 0.1 * random.random(truth.shape) + odds
    scores = (1 / (1 + np.exp(-shifted))).astype(np.float32)
    fitted = fit_logit_adjustment(truth, scores, priors)
    assert fitted["tau"] == 1.0
    assert (predict_labels(fitted, scores) == truth).all()
    thresholds = np.array(fitted["thresholds"])
    offsets = np.log(thresholds / (1 - thresholds)) - odds
    assert offsets == pytest.approx([offsets[0]] * 4, abs=1e-6)


def test_logit_adjustment_with_equal_priors_is_the_tuned_threshold():
    truth, scores = draw(documents=100)
    fitted = fit_logit_adjustment(truth, scores, np.full(6, 0.3))
    tuned = fit_decisions(truth, scores, rules=(), grid=None, task="multi")["tuned"]
    assert fitted["tau"] == 0
    assert (predict_labels(fitted, scores) == predict_labels(tuned, scores)).all()


def test_logit_adjustment_needs_the_priors():
    truth, scores = draw(documents=10)
    with pytest.raises(ValueError, match="priors"):
        fit_decisions(truth, scores, rules=["logit_adjusted"], grid=None, task="multi")


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_saturated_scores_can_be_adjusted(value):
    truth, _ = draw(documents=20)
    fitted = fit_logit_adjustment(truth, np.full((20, 6), value, np.float32), np.full(6, 0.2))
    assert np.isfinite(fitted["thresholds"]).all()
