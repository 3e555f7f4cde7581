"""Sweeps: grids and points as jobs; what is wrong with one is named."""

import itertools

import pytest
from conftest import ROOT
from pydantic import ValidationError

from losslab.config_loader import LosslabConfigLoader
from losslab.errors import ParameterError
from losslab.losses import LOSSES
from losslab.parameters import Sweep, expand_sweep, losses_of, validate_parameters
from losslab.settings import CONFIG_LOADER_ARGS

ALPHAS = {"loss.alpha": [0.0, 0.5]}


def sweep(**options):
    return Sweep.model_validate({"title": "t", "losses": ["kwls"], **options})


def expand(swept, losses=("kwls",), baseline=None, labels=()):
    return expand_sweep(swept, recipe="probe", losses=losses, baseline=baseline, labels=labels)


def merged(dataset="cwe", **changes):
    runtime = {"dataset": dataset, **changes}
    options = {"env": "base", "runtime_params": runtime, **CONFIG_LOADER_ARGS}
    return LosslabConfigLoader(str(ROOT / "conf"), **options)._merged


def test_grid_is_every_combination_of_its_values():
    grid = {"seed": [1, 2], "soft_labels.eps": [0.1, 0.2, 0.3], "num_seeds": [1]}
    jobs = expand(sweep(grid=grid))
    assert [job.params for job in jobs] == [
        {"seed": seed, "soft_labels": {"eps": eps}, "num_seeds": 1}
        for seed, eps in itertools.product([1, 2], [0.1, 0.2, 0.3])
    ]
    assert jobs[1].coordinates == {"seed": 1, "soft_labels.eps": 0.2}
    assert jobs[1].label == "seed = 1, eps = 0.2"


def test_points_have_labels_and_are_combined_with_the_grid():
    points = [{"label": "c = 0"}, {"label": "c = 1", "params": {"undersample.size": 3}}]
    jobs = expand(sweep(points=points, grid=ALPHAS))
    assert [job.label for job in jobs] == [
        *("c = 0, alpha = 0", "c = 0, alpha = 0.5"),
        *("c = 1, alpha = 0", "c = 1, alpha = 0.5"),
    ]
    assert jobs[0].params == {"kwls_loss": {"alpha": 0.0}}
    assert jobs[3].params == {"undersample": {"size": 3}, "kwls_loss": {"alpha": 0.5}}
    assert jobs[3].coordinates == {"point": "c = 1", "loss.alpha": 0.5}


def test_short_names_are_options_of_every_loss_and_parts_of_the_recipe():
    grid = {"loss.alpha": [0.3], "training.epochs": [2], "model.dropout": [0.1]}
    job = expand(sweep(grid=grid), losses=["mask_label", "mask_element"])[0]
    assert job.params == {
        "mask_label_loss": {"alpha": 0.3},
        "mask_element_loss": {"alpha": 0.3},
        "recipes": {"probe": {"training": {"epochs": 2}, "model": {"dropout": 0.1}}},
    }


def test_each_label_is_a_point_per_label_of_the_corpus():
    jobs = expand(sweep(grid={"undersample.labels": "each_label"}), labels=["Sports", "World"])
    assert [job.params for job in jobs] == [
        {"undersample": {"labels": ["Sports"]}},
        {"undersample": {"labels": ["World"]}},
    ]
    assert [job.label for job in jobs] == ["labels = Sports", "labels = World"]


@pytest.mark.parametrize(
    ("kind", "losses"),
    [
        ("lines", [("ce",), ("kwls",), ("kwls",)]),
        ("gain", [("ce", "kwls"), ("ce", "kwls")]),
        ("dots", [("ce", "kwls"), ("ce", "kwls")]),
    ],
)
def test_baseline_is_trained_once_at_its_defaults_or_at_every_point(kind, losses):
    jobs = expand(sweep(grid=ALPHAS, kind=kind, baseline="ce"), baseline="ce")
    assert [job.losses for job in jobs] == losses
    assert all("ce_loss" not in job.params for job in jobs)
    assert (jobs[0].label, jobs[0].params) == ("baseline", {}) or kind != "lines"


def test_losses_and_baseline_are_those_that_fit_the_task_unless_chosen():
    swept = sweep(losses=["ce", "kwls"], baseline=["ce", "bce"], grid=ALPHAS)
    assert losses_of(swept, "single", None) == (["ce", "kwls"], "ce")
    assert losses_of(swept, "multi", None) == (["kwls"], "bce")
    assert losses_of(swept, "multi", ["db"]) == (["db"], "bce")
    with pytest.raises(ParameterError, match="none of ce fits multi-label data"):
        losses_of(sweep(losses=["ce"], grid=ALPHAS), "multi", None)


def test_heatmap_is_of_one_loss():
    swept = sweep(grid={**ALPHAS, "seed": [1, 2]}, kind="heatmap")
    with pytest.raises(ParameterError, match="a heatmap is of one loss"):
        losses_of(swept, "multi", ["kwls", "ls_tfidf"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "has neither grid nor points"),
        ({"grid": {"seed": []}}, "seed has no values"),
        ({"grid": {"seed": 3}}, "seed must be a list of values, got 3"),
        ({"grid": {"seed": "each_lable"}}, "seed must be a list of values, got 'each_lable'"),
        ({"grid": ALPHAS, "losses": []}, "at least 1 item"),
        ({"grid": ALPHAS, "losses": ["kwsl"]}, "unknown loss 'kwsl'; did you mean 'kwls'"),
        ({"grid": ALPHAS, "baseline": "bec"}, "unknown loss 'bec'; did you mean 'bce'"),
        ({"grid": ALPHAS, "kind": "gain"}, "kind gain needs a baseline"),
        ({"grid": ALPHAS, "kind": "heatmap"}, "kind heatmap needs a grid of two parameters"),
        ({"points": [{"label": "a"}, {"label": "a"}]}, "two have the same label"),
        ({"grid": ALPHAS, "kidn": "lines"}, "Extra inputs are not permitted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistake_in_a_sweep_is_named(options, message):
    with pytest.raises(ValidationError, match=message):
        sweep(**options)


def test_mistake_in_a_sweep_is_a_mistake_in_the_parameters():
    parameters = merged(sweeps={"mask_rate": {"losses": ["mask_lable"]}})
    expected = "parameter 'sweeps.mask_rate.losses': unknown loss 'mask_lable'; did you mean"
    with pytest.raises(ParameterError, match=expected):
        validate_parameters(parameters)


def test_chosen_sweep_is_resolved_and_the_others_are_no_parameters():
    assert validate_parameters(merged())["sweep"] is None
    values = validate_parameters(merged(sweep="mask_rate"))
    assert values["sweep"]["name"] == "mask_rate"
    assert "sweeps" not in values
    with pytest.raises(ParameterError, match="unknown sweep 'mask_raet'; did you mean 'mask_rate'"):
        validate_parameters(merged(sweep="mask_raet"))


def test_params_change_the_values_of_a_grid():
    changed = merged(sweep="mask_rate", sweeps={"mask_rate": {"grid": {"loss": {"alpha": [0.2]}}}})
    assert validate_parameters(changed)["sweep"]["grid"] == {"loss.alpha": [0.2]}


def test_datasets_add_sweeps_of_their_own():
    assert "imbalance_size" not in merged("trec")["sweeps"]
    swept = validate_parameters(merged("ag_news", sweep="imbalance_size"))["sweep"]
    assert swept["grid"]["undersample.size"] == [300, 200, 100, 50, 10, 1]


def papers_sweeps():
    names = list(merged()["sweeps"])
    names_of_ag_news = [name for name in merged("ag_news")["sweeps"] if name not in names]
    return [("cwe", name) for name in names] + [("ag_news", name) for name in names_of_ag_news]


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "name"), papers_sweeps())
def test_every_job_of_the_sweeps_in_conf_has_parameters_that_are_valid(dataset, name):
    parameters = validate_parameters(merged(dataset, sweep=name))
    swept = Sweep.model_validate(parameters["sweep"])
    losses, baseline = losses_of(swept, parameters["task"], None)
    jobs = expand_sweep(
        swept, recipe="probe", losses=losses, baseline=baseline, labels=["Business"]
    )
    assert jobs
    for job in jobs:
        assert set(job.losses) <= set(LOSSES)
        validate_parameters(merged(dataset, losses=list(job.losses), **job.params))
