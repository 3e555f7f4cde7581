from pathlib import Path

import pytest
from kedro.config import OmegaConfigLoader

from losslab.losses import LOSSES
from losslab.parameters import TRAINABLE, complete, loss_options, namespace

CONF = Path(__file__).parents[1] / "conf"
SPLIT = {
    "by": "stratified",
    "validation": 0.2,
    "test": 0.2,
    "together": None,
    "folds": None,
    "fold": 1,
    "seed": 0,
}


@pytest.fixture
def parameters():
    """The parameters as they stand in conf/base."""
    return OmegaConfigLoader(conf_source=CONF.as_posix(), base_env="base", default_run_env="base")[
        "parameters"
    ]


def test_base_configuration_is_complete_and_gives_every_loss_its_defaults(parameters):
    full = complete(parameters)
    for name in TRAINABLE:
        assert namespace(name) not in parameters
        assert full[namespace(name)] == LOSSES[name].defaults()


def test_an_option_of_a_loss_can_be_set_alone(parameters):
    full = complete({**parameters, "db_loss": {"gamma": 1}})
    assert full["db_loss"] == {**LOSSES["db"].defaults(), "gamma": 1.0}


def test_completing_twice_changes_nothing(parameters):
    assert complete(complete(parameters)) == complete(parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sedes": 3}, "unknown parameter 'sedes'; did you mean 'seeds'"),
        ({"zzz": 3}, "unknown parameter 'zzz'; choose from .*, dataset, "),
        ({"seeds": 0}, "parameter 'seeds': .*greater than or equal to 1, got 0"),
        ({"seeds": True}, "parameter 'seeds': .*integer, got True"),
        ({"db_loss": {"gamma": True}}, "gamma must be a number, got True"),
        ({"seeds": "three"}, "parameter 'seeds': .*integer.*got 'three'"),
        ({"db_loss": {"gamma": -1}}, "parameter 'db_loss.gamma': gamma must be >= 0, got -1"),
        ({"db_loss": {"mu": "often"}}, "mu must be a number or 'auto', got 'often'"),
        ({"sigmoid_f1_loss": {"beta": [1.0, -1.0]}}, "beta must be >= 1e-06, got -1"),
        ({"sigmoid_f1_loss": {"average": "mean"}}, "average must be 'macro' or 'present' or"),
        ({"ce_count_loss": {"per_label": 3}}, "per_label must be true or false, got 3"),
        ({"bce_loss": {"gamma": 1}}, "unknown parameter 'bce_loss.gamma'"),
        (
            {"recipe": "papr"},
            "unknown recipe 'papr'; did you mean 'paper'\\? choose from lstm, minilm",
        ),
        ({"frequency_groups": {"head_min": 9, "tail_max": None}}, "both be set or both be null"),
        ({"frequency_groups": {"head_min": 9, "tail_max": 9}}, "head_min must be above tail_max"),
        ({"split": {**SPLIT, "validation": 0.8}}, "leave something to train on, got 1 of all"),
        ({"split": {**SPLIT, "validation": 1.5}}, "'split.validation': must be a share .*got 1.5"),
        ({"split": {"by": "hash", "validation": 0.2, "seed": 0}}, "'split.test' is not set"),
        ({"split": {**SPLIT, "together": "-"}}, "'split': together needs by: hash"),
        ({"split": {**SPLIT, "folds": 4, "fold": 5}}, "'split': fold must be one of the 4 folds"),
        ({"dataset": "nowhere"}, "unknown dataset 'nowhere'; choose from .*cwe"),
        ({"reader": "cew"}, "unknown reader 'cew'; did you mean 'cwe'"),
        ({"reader": "cwe", "dataset": "../mine"}, "'dataset': must do as a folder's name"),
        ({"corpus": {"depth": 3}}, "unknown parameter 'corpus.depth'"),
        ({"unbalance": {"ratio": 100, "size": 5}}, "'unbalance': give either ratio .* or size"),
        ({"unbalance": {"ratoi": 100}}, "unknown parameter 'unbalance.ratoi'; did you mean"),
        ({"task": "double"}, "unknown task 'double'; choose from multi, single"),
        ({"max_rejected": 2}, "parameter 'max_rejected': .*less than or equal to 1, got 2"),
    ],
)
def test_a_mistake_is_named_with_what_was_expected(parameters, change, message):
    with pytest.raises(ValueError, match=message):
        complete({**parameters, **change})


def test_several_mistakes_are_told_at_once(parameters):
    with pytest.raises(ValueError, match=r"'sedes'.*; .*'seedz'"):
        complete({**parameters, "sedes": 1, "seedz": 1})


def test_parameter_objects_cannot_be_changed():
    options = loss_options("focal")()
    with pytest.raises(ValueError, match="frozen"):
        options.gamma = 1.0


def test_dataset_may_have_any_name_where_a_reader_is_named(parameters):
    full = complete({**parameters, "dataset": "my-own.2", "reader": "cwe"})
    assert (full["dataset"], full["reader"]) == ("my-own.2", "cwe")


def test_validation_may_be_a_number_of_documents(parameters):
    full = complete({**parameters, "split": {**SPLIT, "validation": 1000}})
    assert full["split"]["validation"] == 1000


def test_label_to_undersample_may_look_like_a_number(parameters):
    full = complete({**parameters, "unbalance": {"labels": [5, "four"], "size": 10}})
    assert full["unbalance"]["labels"] == ["5", "four"]
