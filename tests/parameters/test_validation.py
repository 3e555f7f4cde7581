"""Parameters as a whole: complete, checked, resolved; mistakes are named."""

import copy
import math
from functools import cache
from typing import Any

import pytest
from conftest import ROOT

from losslab.config_loader import LosslabConfigLoader
from losslab.data.readers import reader_options
from losslab.errors import ParameterError
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, Recipe, namespace, validate_parameters
from losslab.parameters.validation import complete_recipes, merge_mappings
from losslab.settings import CONFIG_LOADER_ARGS

REGULARIZERS = {
    "rdrop": 0,
    "adversarial": 0,
    "adversarial_epsilon": 0.1,
    "mulsupcon_temperature": 0.1,
}
SPLIT = {
    "by": "stratified",
    "validation": 0.2,
    "test": 0.2,
    "group_separator": None,
    "folds": None,
    "fold": 1,
    "seed": 0,
}


@cache
def base() -> dict[str, Any]:
    loader = LosslabConfigLoader(str(ROOT / "conf"), env="base", **CONFIG_LOADER_ARGS)
    return loader._merged


@pytest.fixture
def parameters() -> dict[str, Any]:
    """The parameters as they stand in conf/base."""
    return dict(base())


def images(**corpus: Any) -> dict[str, Any]:
    """What makes documents images."""
    return {"reader": "csv", "corpus": {"file": "my.csv", "image": "picture", **corpus}}


def recipe_with(parameters, *, model=None, training=None):
    """``recipes``, with changes to the probe."""
    probe = parameters["recipes"]["probe"]
    changed = {
        "model": {**probe["model"], **(model or {})},
        "training": {**probe["training"], **(training or {})},
    }
    return {"recipes": {**parameters["recipes"], "probe": changed}}


def test_base_configuration_is_complete_and_gives_every_loss_its_defaults(parameters):
    full = validate_parameters(parameters)
    for name in LOSSES:
        assert namespace(name) not in parameters
        settings = LossSettings(**full[namespace(name)])
        assert (settings.name, settings.options) == (name, LOSSES[name].defaults())


def test_an_option_of_a_loss_can_be_set_alone(parameters):
    full = validate_parameters({**parameters, "db_loss": {"gamma": 1}})
    assert full["db_loss"]["options"] == {**LOSSES["db"].defaults(), "gamma": 1.0}


@pytest.mark.parametrize("name", list(base()["recipes"]))
def test_recipe_is_resolved_to_the_one_that_is_named(parameters, name):
    reads_images = parameters["recipes"][name].get("model", {}).get("kind") in (
        "cnn",
        "image_probe",
    )
    data = images() if reads_images else {}
    full = validate_parameters({**parameters, **data, "recipe": name})
    recipe = Recipe(**full["recipe"])
    assert recipe.name == name
    assert recipe.model.kind == complete_recipes(parameters)[name]["model"]["kind"]
    assert "recipes" not in full


def test_recipe_may_extend_another(parameters):
    mine = {"extends": "minilm", "training": {"epochs": 3}}
    recipes = {**parameters["recipes"], "mine": mine}
    full = validate_parameters({**parameters, "recipes": recipes, "recipe": "mine"})
    expected = parameters["recipes"]["minilm"]
    assert full["recipe"]["training"] == {**expected["training"], "epochs": 3}
    assert full["recipe"]["model"] == expected["model"]


def test_reference_of_the_report_is_the_first_loss_where_the_usual_one_is_not_trained(parameters):
    for losses, expected in ((["db", "asl"], "db"), (["db", "bce"], "bce")):
        chosen = validate_parameters({**parameters, "losses": losses})
        assert chosen["report"]["reference"] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sede": 3}, "unknown parameter 'sede'; did you mean 'seed'"),
        ({"zzz": 3}, "unknown parameter 'zzz'; choose from .*, dataset, "),
        ({"cardinality_limits": [9, 3]}, "each limit must be above the one before, got .9, 3."),
        ({"cardinality_limits": [0]}, "parameter 'cardinality_limits.0': .* got 0"),
        ({"num_seeds": 0}, "parameter 'num_seeds': .*greater than or equal to 1, got 0"),
        ({"num_seeds": True}, "parameter 'num_seeds': .*integer, got True"),
        ({"num_seeds": "three"}, "parameter 'num_seeds': .*integer.*got 'three'"),
        ({"db_loss": {"gamma": True}}, "gamma must be a number, got True"),
        ({"db_loss": {"gamma": -1}}, "parameter 'db_loss.gamma': gamma must be >= 0, got -1"),
        ({"db_loss": {"mu": "often"}}, "mu must be a number or 'auto', got 'often'"),
        ({"sigmoid_f1_loss": {"beta": [1.0, -1.0]}}, "beta must be >= 1e-06, got -1"),
        ({"sigmoid_f1_loss": {"average": "mean"}}, "average must be 'macro' or 'present' or"),
        ({"ce_count_loss": {"per_label": 3}}, "per_label must be true or false, got 3"),
        ({"bce_loss": {"gamma": 1}}, "unknown parameter 'bce_loss.gamma'"),
        ({"kwls_loss": {"task": "single"}}, "unknown parameter 'kwls_loss.task'"),
        ({"recipe": "prob"}, "unknown recipe 'prob'; did you mean 'probe'\\?"),
        ({"recipes": {"mine": {"extends": "minlm"}}}, "'minlm'; did you mean 'minilm'"),
        ({"losses": ["bec"]}, "unknown loss 'bec'; did you mean 'bce'"),
        ({"losses": ["ce"]}, "losses: ce does not fit multi-label data"),
        ({"frequency_groups": {"head_min": 9, "tail_max": None}}, "both be set or both be null"),
        ({"frequency_groups": {"head_min": 9, "tail_max": 9}}, "head_min must be above tail_max"),
        ({"split": {**SPLIT, "validation": 0.8}}, "leave something to train on, got 1 of all"),
        ({"split": {**SPLIT, "validation": 1.5}}, "'split.validation': must be a share .*got 1.5"),
        ({"split": {"by": "hash", "validation": 0.2, "seed": 0}}, "'split.test' is not set"),
        ({"split": {**SPLIT, "group_separator": "-"}}, "'split': group_separator needs by: hash"),
        ({"split": {**SPLIT, "folds": 4, "fold": 5}}, "'split': fold must be one of the 4 folds"),
        ({"split": {**SPLIT, "together": "-"}}, "unknown parameter 'split.together'"),
        ({"dataset": "nowhere"}, "unknown reader 'nowhere'; choose from .*cwe"),
        ({"reader": "cew"}, "unknown reader 'cew'; did you mean 'cwe'"),
        ({"corpus": {"depth": 3}}, "unknown parameter 'corpus.depth'"),
        ({"undersample": {"ratio": 100, "size": 5}}, "'undersample': give either ratio .* or size"),
        ({"undersample": {"ratoi": 100}}, "unknown parameter 'undersample.ratoi'; did you mean"),
        ({"task": "double"}, "unknown task 'double'; choose from multi, retrieval, single"),
        ({"max_rejected": 2}, "parameter 'max_rejected': .*less than or equal to 1, got 2"),
        ({"primary_rule": "tunde"}, "unknown primary_rule 'tunde'; did you mean 'tuned'"),
        (
            {"evaluated_rules": ["own", "scutfbr1"]},
            "unknown evaluated_rules.1 'scutfbr1'; did you mean 'scutfbr'",
        ),
        ({"select_by": "macrof1"}, "unknown select_by 'macrof1'; did you mean 'macro_f1'"),
        (
            {"threshold_grid": {"start": 0.7, "stop": 0.6, "step": 0.1}},
            "parameter 'threshold_grid': start must not be above stop, got 0.7 and 0.6",
        ),
        (
            {"threshold_grid": {"start": 0.4, "stop": 0.6, "step": 1e-9}},
            "parameter 'threshold_grid': a step of 1e-09 makes more than 10,000 thresholds; set",
        ),
        (
            {"threshold_grid": {"start": 0.4}},
            "parameter 'threshold_grid.stop' is not set",
        ),
        (
            {"threshold": {"lowest": 0.7}},
            "unknown parameter 'threshold'; did you mean 'threshold_grid'",
        ),
    ],
    ids=str,
)
def test_a_mistake_is_named_with_what_was_expected(parameters, change, message):
    if "mine" in change.get("recipes", {}):
        change = {"recipes": {**parameters["recipes"], **change["recipes"]}}
    with pytest.raises(ParameterError, match=message):
        validate_parameters({**parameters, **change})


@pytest.mark.parametrize(
    ("model", "training", "message"),
    [
        ({"hidden": 3}, {}, "unknown parameter 'recipes.probe.model.hidden'; did you mean"),
        ({}, {"epoch": 3}, "unknown parameter 'recipes.probe.training.epoch'; did you mean"),
        ({"kind": "prob"}, {}, "unknown recipes.probe.model.kind 'prob'; did you mean 'probe'"),
        (
            {"pooling": "max"},
            {},
            "unknown recipes.probe.model.pooling 'max'; choose from cls, mean",
        ),
        ({"dropout": 1}, {}, "parameter 'recipes.probe.model.dropout': .*less than 1, got 1"),
        (
            {},
            {"regularizers": {**REGULARIZERS, "mulsupcon": 0.1}},
            "parameter 'recipes.probe': training.regularizers.mulsupcon .*a probe leaves as they are",
        ),
        ({}, {"schedule": "liner"}, "'liner'; did you mean 'linear'"),
    ],
    ids=str,
)
def test_a_mistake_in_a_recipe_is_named_with_its_place(parameters, model, training, message):
    change = recipe_with(parameters, model=model, training=training)
    with pytest.raises(ParameterError, match=message):
        validate_parameters({**parameters, **change})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"hidden_dim": 0}, "'recipes.hybrid.model.hidden_dim': .*greater than or equal to 1"),
        ({"tfidf": {"min_df": 0}}, "'recipes.hybrid.model.tfidf.min_df': .*equal to 1, got 0"),
        ({"tfidf": {"min_dff": 3}}, "'recipes.hybrid.model.tfidf.min_dff'; did you mean .*min_df'"),
        ({"tfidf": 3}, "'recipes.hybrid.model.tfidf': .*TfidfSettings, got 3"),
    ],
    ids=str,
)
def test_a_mistake_in_the_tf_idf_of_a_recipe_is_named_with_its_place(parameters, model, message):
    change = {"recipes": {"hybrid": {"model": model}}}
    with pytest.raises(ParameterError, match=message):
        validate_parameters(merge_mappings(parameters, change))


def test_tf_idf_of_a_recipe_takes_what_it_does_not_set_from_that_of_the_data(parameters):
    change = {"recipe": "hybrid", "tfidf": {"stop_words": None, "max_features": 7}}
    full = validate_parameters(merge_mappings(parameters, change))
    own = base()["recipes"]["hybrid"]["model"]["tfidf"]
    assert set(own) < set(full["tfidf"])
    assert full["recipe"]["model"]["tfidf"] == {**full["tfidf"], **own}
    assert full["tfidf"]["max_features"] == 7 != own["max_features"]


def test_several_mistakes_are_told_at_once(parameters):
    with pytest.raises(ParameterError, match=r"'sede'.*; .*'seedz'"):
        validate_parameters({**parameters, "sede": 1, "seedz": 1})


def test_parameter_objects_cannot_be_changed(parameters):
    settings = LossSettings(**validate_parameters(parameters)["focal_loss"])
    with pytest.raises(ValueError, match="frozen"):
        settings.name = "db"


def test_dataset_may_have_any_name_where_a_reader_is_named(parameters):
    full = validate_parameters({**parameters, "dataset": "my-own.2", "reader": "cwe"})
    assert (full["dataset"], full["reader"]) == ("my-own.2", "cwe")


def test_validation_may_be_a_number_of_documents(parameters):
    full = validate_parameters({**parameters, "split": {**SPLIT, "validation": 1000}})
    assert full["split"]["validation"] == 1000


def test_label_to_undersample_may_look_like_a_number(parameters):
    undersample = {"labels": [5, "four"], "size": 10}
    full = validate_parameters({**parameters, "undersample": undersample})
    assert full["undersample"]["labels"] == ["5", "four"]


def test_listed_label_may_look_like_a_number(parameters):
    listed = {**parameters["label_groups"], "by": "listed", "groups": {"stars": [1, 2]}}
    full = validate_parameters({**parameters, "label_groups": listed})
    assert full["label_groups"]["groups"] == {"stars": ["1", "2"]}


def number_places(tree, path=()):
    """The place of every number, and of every null, which may be a number's."""
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, dict | list) and value:
            yield from number_places(value, (*path, name))
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield (*path, name)


def changed_at(tree, path, value):
    changed = copy.deepcopy(tree)
    place = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return changed


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**40, 10**400, 1e308])
def test_no_number_is_infinite_or_beyond_what_anything_could_do_with(parameters, value):
    simulated = reader_options("simulated")().model_dump()
    full = {**parameters, "dataset": "simulated", "corpus": simulated}
    full["sweeps"] = {}  # their values are checked as parameters of jobs
    full["db_loss"] = LOSSES["db"].defaults()
    places = list(number_places(full))
    assert len(places) > 100
    for place in places:
        with pytest.raises(ParameterError) as told:
            validate_parameters(changed_at(full, place, value))
        assert "\n" not in str(told.value)


def test_unknown_baseline_is_named_with_the_nearest_one(parameters):
    with pytest.raises(ParameterError, match="unknown baseline 'svn'; did you mean 'svm'"):
        validate_parameters({**parameters, "baselines": ["svn"]})


def test_baseline_of_another_task_is_refused(parameters):
    with pytest.raises(ParameterError, match="baselines: chain does not fit single-label data"):
        validate_parameters({**parameters, "task": "single", "baselines": ["svm", "chain"]})


@pytest.mark.parametrize("value", [0, "many", [1.0, -1.0]])
def test_options_of_baselines_are_checked(parameters, value):
    with pytest.raises(ParameterError, match=r"svm_baseline\.c"):
        validate_parameters({**parameters, "svm_baseline": {"c": value}})


def test_last_seed_is_one_that_every_library_takes(parameters):
    largest = 2**32 - 1
    assert validate_parameters({**parameters, "seed": largest, "num_seeds": 1})["seed"] == largest
    with pytest.raises(ParameterError, match="seed \\+ num_seeds - 1 must be at most 4294967295"):
        validate_parameters({**parameters, "seed": largest, "num_seeds": 2})


@pytest.mark.parametrize(
    ("recipe", "data", "message"),
    [
        (
            "probe",
            images(),
            "recipe 'probe' does not read images, which the documents of 'cwe' are: "
            "--recipe=image_probe or --recipe=cnn",
        ),
        (
            "cnn",
            {},
            "recipe 'cnn' does not read texts, which the documents of 'cwe' are: --recipe=pr",
        ),
        ("image_probe", images(image=None), "recipe 'image_probe' does not read texts"),
    ],
)
def test_recipe_that_does_not_read_the_documents_is_refused(parameters, recipe, data, message):
    with pytest.raises(ParameterError, match=message) as raised:
        validate_parameters({**parameters, **data, "recipe": recipe})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"losses": ["bce", "kwls", "mask_element"]}, "kwls, mask_element: learns from words"),
        ({"baselines": ["svm"]}, "svm: learns from words"),
        ({"soft_labels": {"soft_zlpr": "keywords"}}, "soft_zlpr: images"),
    ],
)
def test_what_reads_words_is_refused_on_images(parameters, asked, named):
    changed = merge_mappings({**parameters, **images(), "recipe": "cnn"}, asked)
    with pytest.raises(ParameterError, match=named):
        validate_parameters(changed)


@pytest.mark.parametrize(("name", "modality"), [("cnn", "image"), ("probe", "text")])
def test_modality_is_what_documents_are(parameters, name, modality):
    data = images() if modality == "image" else {}
    full = validate_parameters({**parameters, **data, "recipe": name})
    assert full["modality"] == modality
