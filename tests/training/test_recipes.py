"""Every recipe trains on every kind of task, and every loss with a model that reads tokens."""

from dataclasses import replace

import numpy as np
import pytest
from recipe_conf import RECIPES, read_recipe
from scipy import sparse
from tiny_encoder import write_encoder
from word_job import SHORT, make_job

from losslab.features.inputs import inputs_of
from losslab.losses import LOSSES
from losslab.parameters import Recipe
from losslab.training.job import (
    TrainingData,
    TrainingJob,
    load_network,
    run_job,
    run_seeds,
    seeds_of,
)
from losslab.training.network import predict_scores


@pytest.fixture(scope="module")
def recipes(tmp_path_factory) -> dict[str, Recipe]:
    """The project's recipes, cut short; the papers' backbone is a tiny one."""
    tiny = {"max_length": 16, "backbone": write_encoder(tmp_path_factory.mktemp("encoder"))}
    length = {
        name: {} if name in ("cnn", "image_probe") else {"max_length": 16} for name in RECIPES
    }
    short = {name: read_recipe(name, length[name], **SHORT) for name in RECIPES}
    from_hub = ("bert", "roberta")
    return short | {
        name: read_recipe(name, tiny, **SHORT, gradient_checkpointing=True) for name in from_hub
    }


def check(job: TrainingJob, data: TrainingData) -> None:
    model, history = run_seeds(job, data, range(4, 5))
    numbers = history.drop(columns=["select_by", "ended_by"])
    assert np.isfinite(numbers.to_numpy(dtype=float)).all()
    assert seeds_of(model) == [4]
    network = load_network(job, model, 4, data.features, data.groups)
    scores = predict_scores(network, inputs_of(data.features, np.arange(60)))
    assert scores.shape == (60, 3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("task", ["multi", "single"])
@pytest.mark.parametrize(
    "recipe",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "minilm")) for name in RECIPES],
)
def test_every_recipe_trains_on_every_task(recipes, recipe, task):
    check(*make_job(recipes[recipe], task, "kwls" if task == "single" else "zlpr_rdrop"))


@pytest.mark.filterwarnings("ignore:.*small for a")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains_a_model_that_reads_tokens(recipes, loss):
    check(*make_job(recipes["textcnn"], LOSSES[loss].tasks[0], loss))


@pytest.mark.filterwarnings("ignore:.*small for a")
@pytest.mark.parametrize("loss", [name for name in LOSSES if not LOSSES[name].reads_words])
@pytest.mark.parametrize("recipe", ["cnn", "image_probe"])
def test_every_loss_without_words_trains_on_images(recipes, recipe, loss):
    check(*make_job(recipes[recipe], LOSSES[loss].tasks[0], loss))


def test_colours_that_are_labels_are_learned():
    recipe = read_recipe("cnn", {"channels": [8, 16]}, **SHORT | {"epochs": 12, "patience": 12})
    fitted = run_job(*make_job(recipe, "multi", "bce"))
    assert fitted.history["validation_macro_f1"].max() > 0.95


def test_words_that_are_labels_are_learned():
    recipe = read_recipe("textcnn", {"max_length": 16}, **SHORT | {"epochs": 30, "patience": 30})
    fitted = run_job(*make_job(recipe, "multi", "bce"))
    assert fitted.history["validation_macro_f1"].max() > 0.95


@pytest.mark.parametrize(
    ("loss", "task", "rule", "threshold"),
    [
        ("bce", "multi", "own", [0.5]),
        ("bce", "multi", "tuned", None),
        ("ranking", "multi", "own", None),  # its scores have no natural threshold
        ("ce", "single", "own", []),
    ],
)
def test_epochs_are_judged_by_the_threshold_of_the_primary_rule(loss, task, rule, threshold):
    job, data = make_job(read_recipe("textcnn", {"max_length": 16}, **SHORT), task, loss)
    history = run_job(job.model_copy(update={"validation_rule": rule}), data).history
    tuned = run_job(job, data).history.filter(["validation_threshold"])
    expected = tuned.to_numpy().ravel().tolist() if threshold is None else 2 * threshold
    assert history.filter(["validation_threshold"]).to_numpy().ravel().tolist() == expected


@pytest.mark.parametrize("select_by", ["macro_f1", "micro_f1", "subset_accuracy"])
def test_the_best_epoch_is_that_of_the_metric_to_select_by(select_by):
    recipe = read_recipe("textcnn", {"max_length": 16}, **SHORT | {"epochs": 12, "patience": 12})
    job, data = make_job(recipe, "multi", "bce")
    noisy = data.targets.toarray() ^ (np.random.default_rng(1).random((60, 3)) < 0.2)
    data = replace(data, targets=sparse.csr_array(noisy.astype(np.int8)))
    fitted = run_job(job.model_copy(update={"select_by": select_by}), data)
    metric = fitted.history.set_index("epoch")[f"validation_{select_by}"]
    assert metric.nunique() > 1
    assert fitted.best_epoch == metric.idxmax()
