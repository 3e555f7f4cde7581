import numpy as np
import pytest

from losslab.evaluation import summarise_seeds


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
