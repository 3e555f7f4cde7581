"""Posteriors of what a loss samples by label."""

import numpy as np
import pytest
from scipy import stats

from losslab.evaluation import tabulate_posterior


def test_posterior_is_a_row_per_parameter_and_label_with_its_quantiles():
    draws = np.random.default_rng(0).normal(size=(2, 200, 3))
    table = tabulate_posterior(
        {"beta": np.exp(draws[0]), "eta": draws[1]},
        {"beta": "lognormal", "eta": "normal"},
        labels=["a", "b", "c"],
        frequencies=[7, 5, 0],
        confidence=0.9,
    )
    assert table["parameter"].tolist() == ["beta"] * 3 + ["eta"] * 3
    assert table["label"].tolist() == ["a", "b", "c"] * 2
    assert table["train"].tolist() == [7, 5, 0] * 2
    assert set(table["draws"]) == {200}
    eta = table[table["parameter"] == "eta"]
    for column, share in {"low": 0.05, "median": 0.5, "high": 0.95}.items():
        assert eta[column].tolist() == pytest.approx(np.quantile(draws[1], share, axis=0))
    for parameter, prior in {"beta": stats.lognorm(s=1), "eta": stats.norm()}.items():
        rows = table[table["parameter"] == parameter]
        for column, share in {"prior_low": 0.05, "prior_high": 0.95}.items():
            assert rows[column].tolist() == pytest.approx([prior.ppf(share)] * 3)
