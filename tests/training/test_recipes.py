"""Every recipe trains on every kind of task, and every loss with a model that reads tokens."""

import numpy as np
import pytest
import yaml
from conftest import ROOT
from scipy import sparse
from tiny_encoder import write_encoder

from losslab.evaluation import threshold_grid
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.inputs import inputs_of
from losslab.losses import LOSSES
from losslab.parameters.training import Recipes
from losslab.supervision import describe_labels
from losslab.training.job import TrainingData, TrainingJob, build_network, run_job
from losslab.training.network import load_weights, predict_scores

CONF = yaml.safe_load((ROOT / "conf/base/parameters_losses.yml").read_text())["recipes"]
WORDS = ["lock", "memory", "open"]
SHORT = {"epochs": 2, "batch_size": 8, "min_batch_size_batchwise": 16, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def recipes(tmp_path_factory) -> Recipes:
    """The project's recipes, cut short; the papers' backbone is a tiny one."""
    changed = {}
    for name, recipe in CONF.items():
        training = {**recipe["training"], **SHORT, "threads": 1}
        changed[name] = {**recipe, "max_length": 16, "training": training}
    changed["paper"]["backbone"] = write_encoder(tmp_path_factory.mktemp("encoder"))
    changed["paper"]["training"]["gradient_checkpointing"] = True
    return Recipes(**changed)


def make_job(
    recipes: Recipes, recipe: str, task: str, loss: str
) -> tuple[TrainingJob, TrainingData]:
    """Sixty texts whose words are their labels."""
    random = np.random.default_rng(0)
    chosen = random.random((60, 3)) < 0.5
    if task == "single":
        chosen = np.eye(3, dtype=bool)[random.integers(0, 3, 60)]
    texts = [
        " ".join(w for w, there in zip(WORDS, row, strict=True) if there) or "a" for row in chosen
    ]
    settings = getattr(recipes, recipe)
    features = compute_features(settings, texts, learn_tokenizer(settings, texts[:40]))
    targets = sparse.csr_array(chosen.astype(np.int8))
    soft = np.full((60, 3), 1 / 3, dtype=np.float32)
    material = TrainingData(
        features,
        targets,
        np.arange(40),
        np.arange(40, 60),
        ids=np.arange(60).astype(str),
        groups=[0, 0, 1],
        context={"mask": targets, "soft_targets": soft},
    )
    statistics = describe_labels(targets[:40])
    return TrainingJob(
        loss=loss,
        options=LOSSES[loss].defaults(),
        recipe=recipe,
        recipes=recipes,
        **{name: statistics[name] for name in ("frequencies", "documents", "mu")},
        labels=tuple(WORDS),
        frequency_groups={"head": (0,), "tail": (1, 2)},
        task=task,
        grid=tuple(threshold_grid(0.4, 0.6, 0.01))
        if LOSSES[loss].decision == "probability"
        else None,
        seed=1,
    ), material


def check(job: TrainingJob, material: TrainingData) -> None:
    fitted = run_job(job, material)
    assert np.isfinite(fitted.history.to_numpy(dtype=float)).all()
    network = build_network(job, material.features, material.groups)
    arrays = {name: weight.numpy() for name, weight in fitted.weights.items()}
    scores = predict_scores(
        load_weights(network, arrays), inputs_of(material.features, np.arange(60))
    )
    assert scores.shape == (60, 3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("task", ["multi", "single"])
@pytest.mark.parametrize("recipe", list(CONF))
def test_every_recipe_trains_on_every_task(recipes, recipe, task):
    check(*make_job(recipes, recipe, task, "kwls" if task == "single" else "zlpr_rdrop"))


@pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains_a_model_that_reads_tokens(recipes, loss):
    check(*make_job(recipes, "textcnn", LOSSES[loss].tasks[0], loss))


def test_words_that_are_labels_are_learned(recipes):
    job, material = make_job(recipes, "textcnn", "multi", "bce")
    longer = job.recipes.textcnn.training.model_copy(update={"epochs": 30, "patience": 30})
    textcnn = job.recipes.textcnn.model_copy(update={"training": longer})
    changed = job.recipes.model_copy(update={"textcnn": textcnn})
    fitted = run_job(job.model_copy(update={"recipes": changed}), material)
    assert fitted.history["validation_macro_f1"].max() > 0.95
