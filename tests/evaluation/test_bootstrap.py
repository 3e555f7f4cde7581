import numpy as np
import pytest
from scipy import sparse

from losslab.evaluation import (
    average_seeds,
    combine_comparisons,
    compare_with_reference,
    compute_metrics,
    holm,
    intervals,
    resample_metrics,
)
from losslab.evaluation.bootstrap import RESAMPLED, draw_documents

GROUPS = {"head": [0, 1, 2], "tail": [5], "none": []}


def draw(documents=40, labels=6, seed=0, signal=1.0):
    random = np.random.default_rng(seed)
    truth = random.random((documents, labels)) < np.linspace(0.5, 0.05, labels)
    scores = random.normal(size=truth.shape) + signal * truth
    return truth, scores, scores > 0.6


JUDGED = {"inverse_propensities": np.array([1.0, 1.5, 2.0, 3.0, 5.0, 9.0]), "probability": True}


@pytest.mark.parametrize("options", [{}, JUDGED])
def test_each_resample_has_the_metrics_of_the_documents_it_repeats(options):
    truth, scores, guess = draw()
    scores = 1 / (1 + np.exp(-scores))
    options = {"groups": GROUPS, **options}
    figures = resample_metrics(truth, scores, guess, resamples=25, seed=3, **options)
    (times,) = draw_documents(40, 6, resamples=25, seed=3)
    for place in range(25):
        rows = np.repeat(np.arange(40), times[:, place].astype(int))
        expected = compute_metrics(truth[rows], scores[rows], guess[rows], **options)
        for name, values in figures.items():
            assert values[place] == pytest.approx(expected[name], abs=1e-6), name
    assert {"micro_f1", "macro_f1", "head/macro_f1", "example_f1"} <= set(figures)
    assert {"subset_accuracy", "average_precision", "macro_f1_of_averages"} <= set(figures)
    assert (set(RESAMPLED) <= set(figures)) == ("probability" in options)


def test_resamples_draw_as_many_documents_as_there_are_each_as_often():
    (times,) = draw_documents(30, 3, resamples=4000, seed=0)
    assert (times.sum(axis=0) == 30).all()
    assert times.mean(axis=1) == pytest.approx(1.0, abs=0.08)
    assert times.var(axis=1) == pytest.approx(29 / 30, abs=0.15)


def test_large_matrices_are_resampled_in_blocks_that_join():
    blocks = list(draw_documents(2**20, 1, resamples=6, seed=0))
    assert [block.shape[1] for block in blocks] == [4, 2]
    assert {int(block.sum()) for block in blocks} == {2**22, 2**21}


def test_form_of_the_matrices_is_immaterial():
    truth, scores, guess = draw()
    dense = resample_metrics(truth, scores, guess, resamples=10, seed=0)
    form = sparse.csr_array
    held = resample_metrics(form(truth), scores, form(guess), resamples=10, seed=0)
    for name in dense:
        np.testing.assert_array_equal(dense[name], held[name])


def test_seeds_are_averaged_resample_by_resample():
    one, two = {"f1": np.array([0.2, 0.4])}, {"f1": np.array([0.4, 0.8])}
    assert average_seeds([one, two])["f1"] == pytest.approx([0.3, 0.6])


def test_interval_holds_the_middle_of_the_resamples():
    figures = {"micro_f1": np.random.default_rng(0).permutation(np.linspace(0, 1, 2001))}
    (ends,) = intervals(figures, {"micro_f1": 0.5}, 0.95).values()
    assert ends == pytest.approx({"low": 0.025, "high": 0.975})


def test_interval_moves_where_the_resamples_lie_below_what_was_observed():
    drawn = np.random.default_rng(0).normal(-0.3, 1.0, size=200_000)  # observed 0.3 above them
    ends = intervals({"macro_f1": drawn}, {"macro_f1": 0.0}, 0.95)["macro_f1"]
    assert ends == pytest.approx({"low": 0.3 - 1.96, "high": 0.3 + 1.96}, abs=0.02)


def test_interval_of_resamples_that_are_all_alike_is_that_value():
    ends = intervals({"micro_f1": np.ones(100)}, {"micro_f1": 1.0}, 0.95)["micro_f1"]
    assert ends == {"low": 1.0, "high": 1.0}


def test_interval_holds_a_value_that_no_resample_reaches():
    ends = intervals({"macro_f1": np.linspace(0.2, 0.3, 99)}, {"macro_f1": 0.4}, 0.95)["macro_f1"]
    assert ends["low"] <= 0.3 < ends["high"] == 0.4


def test_losses_that_are_not_compared_may_have_other_resamples():
    figures = {"bce": {"f1": np.ones(100)}, "db": {"f1": np.ones(200)}}
    values = {name: {"f1": 1.0} for name in figures}
    told = compare_with_reference(
        values, figures, reference="bce", confidence=0.95, unpaired=["db"]
    )
    assert told["db"]["f1"]["low"] == 1.0
    assert told["db"]["f1"]["p"] is None


@pytest.mark.parametrize("reference", ["bce", "ranking"])
def test_metric_is_compared_among_the_losses_that_have_it(reference):
    random = np.random.default_rng(0)
    figures = {
        "bce": {"f1": random.random(99), "log_loss": random.random(99)},
        "focal": {"f1": random.random(99), "log_loss": random.random(99) - 3},
        "ranking": {"f1": random.random(99)},
    }
    values = {name: dict.fromkeys(drawn, 0.5) for name, drawn in figures.items()}
    told = compare_with_reference(values, figures, reference=reference, confidence=0.95)
    assert "log_loss" not in told["ranking"]
    compared = told["focal"]["log_loss"]
    assert compared["low"] < compared["value"] == 0.5
    if reference == "bce":  # the only loss compared with it by log loss: no correction
        assert compared["p_holm"] == compared["p"] == pytest.approx(0.02)
    else:
        assert compared["p"] is compared["p_holm"] is compared["difference"] is None
    assert told["focal"]["f1"]["p_holm"] >= told["focal"]["f1"]["p"]


def test_differences_are_paired_and_tell_a_better_loss_from_an_equal_one():
    truth, scores, _ = draw(documents=300)
    losses = {"bce": 0.6, "same": 0.6, "bad": -0.5, "other": 0.62}
    guesses = {name: scores > cut for name, cut in losses.items()}
    figures = {
        name: resample_metrics(truth, scores, guess, resamples=999, seed=0)
        for name, guess in guesses.items()
    }
    values = {name: compute_metrics(truth, scores, guess) for name, guess in guesses.items()}
    told = compare_with_reference(
        values, figures, reference="bce", confidence=0.9, unpaired=["other"]
    )
    entry = told["bad"]["micro_f1"]
    assert entry["difference"] == values["bad"]["micro_f1"] - values["bce"]["micro_f1"]
    assert entry["difference_low"] < entry["difference"] < entry["difference_high"] < 0
    assert entry["p"] == pytest.approx(2 / 1000)
    assert entry["p_holm"] == pytest.approx(4 / 1000)
    assert told["same"]["micro_f1"]["p"] == told["same"]["micro_f1"]["p_holm"] == 1
    for name in ("bce", "other"):
        assert told[name]["micro_f1"]["value"] == values[name]["micro_f1"]
        assert told[name]["micro_f1"]["p_holm"] is told[name]["micro_f1"]["difference"] is None


def test_holm_agrees_with_the_definition_and_never_swaps_an_order():
    p = np.random.default_rng(0).random(9) ** 3
    corrected = np.array(holm(p))
    order = np.argsort(p)
    for place, index in enumerate(order):
        steps = [(9 - earlier) * p[order[earlier]] for earlier in range(place + 1)]
        assert corrected[index] == pytest.approx(min(max(steps), 1.0))
    assert (np.diff(corrected[order]) >= 0).all()
    assert holm([]) == []


def test_loss_without_a_metric_is_ranked_by_the_others_alone():
    results = {"bce": {"f1": 0.5, "log_loss": 0.1}, "warp": {"f1": 0.6}}
    told = combine_comparisons({"reuters": results}, ["f1", "log_loss"]).set_index(
        ["metric", "loss"]
    )
    assert told.loc[("f1", "warp")].tolist() == [1.0, 1, 1]
    assert told.loc["log_loss"].index.tolist() == ["bce"]


def test_several_comparisons_give_ranks_and_times_best():
    reuters = {"bce": {"f1": 0.5, "ranking_loss": 0.1}, "db": {"f1": 0.6, "ranking_loss": 0.2}}
    aapd = {"bce": {"f1": 0.7, "ranking_loss": 0.1}, "db": {"f1": 0.7, "ranking_loss": 0.3}}
    table = combine_comparisons({"reuters": reuters, "aapd": aapd}, ["f1", "ranking_loss"])
    told = table.set_index(["metric", "loss"])
    assert told.loc[("f1", "db")].tolist() == [1.25, 2, 2]
    assert told.loc[("f1", "bce")].tolist() == [1.75, 1, 2]
    assert told.loc[("ranking_loss", "bce")].tolist() == [1.0, 2, 2]


@pytest.mark.long
@pytest.mark.parametrize("documents", [400, 100])
def test_95_percent_interval_of_micro_f1_covers_the_truth_in_93_to_97_percent_of_trials(documents):
    covered, alarms = measure_coverage(trials=1000, documents=documents)
    print(documents, covered, alarms)  # noqa: T201
    assert 0.93 <= covered["micro_f1"] <= 0.97
    assert covered["macro_f1"] >= 0.93 or documents < 400
    assert max(alarms.values()) < 0.09


def measure_coverage(trials, documents, resamples=1000):
    """How often 95 % intervals hold the metric of the population the documents come from.

    And how often two classifiers that are equally good are told apart at p below 0.05.
    """
    random = np.random.default_rng(0)
    frequencies = 0.3 / np.arange(1, 31)  # of 400 documents, the rarest ten have 4 to 6
    groups = {"tail": list(range(20, 30))}
    names = ("micro_f1", "macro_f1", "tail/macro_f1", "example_f1")

    def sample(size):
        """What two equally good classifiers say of the same documents."""
        truth = random.random((size, 30)) < frequencies
        difficulty = 0.7 * random.normal(size=(size, 1))  # makes a document's labels wrong together
        noisy = [2.5 * truth - 1.25 + difficulty + random.normal(size=truth.shape) for _ in "ab"]
        return [(truth, scores, scores > 0.4) for scores in noisy]

    population = compute_metrics(*sample(100_000)[0], groups=groups)
    covered, alarms = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for trial in range(trials):
        pair = dict(zip("ab", sample(documents), strict=True))
        values = {name: compute_metrics(*said, groups=groups) for name, said in pair.items()}
        draws = {"resamples": resamples, "seed": trial, "groups": groups}
        figures = {name: resample_metrics(*said, **draws) for name, said in pair.items()}
        told = compare_with_reference(values, figures, reference="a", confidence=0.95)
        for name in names:
            covered[name] += told["a"][name]["low"] <= population[name] <= told["a"][name]["high"]
            alarms[name] += told["b"][name]["p"] < 0.05
    return [{name: n / trials for name, n in counts.items()} for counts in (covered, alarms)]
