"""Several processes train as one would."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from conftest import ROOT
from safetensors.numpy import load_file
from scipy import sparse
from tiny_encoder import write_encoder

from losslab.errors import NonFiniteLossError, TrainingFailedError
from losslab.evaluation import threshold_grid
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.losses import LOSSES
from losslab.parameters.training import Recipes
from losslab.supervision import SoftLabels, describe_labels
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.job import TrainingData, TrainingJob, run_job
from losslab.training.launch import listen_to

CONF = yaml.safe_load((ROOT / "conf/base/parameters_losses.yml").read_text())["recipes"]
ROWS, LABELS = 95, 4  # in batches of 19: no two processes can share them evenly


@pytest.fixture(scope="module")
def material() -> TrainingData:
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS + 40, 6)).astype(np.float32)
    targets = sparse.csr_array((features[:, :LABELS] > 0.5).astype(np.int8))
    rows = np.arange(ROWS), np.arange(ROWS, ROWS + 40)
    said = random.random((ROWS, 5)).astype(np.float32) * (random.random((ROWS, 5)) < 0.5)
    words = sparse.csr_array(random.random((5, LABELS)).astype(np.float32))
    soft = SoftLabels(sparse.csr_array(said), words, rows=rows[0])
    context = {"soft_targets": soft}
    ids = np.arange(ROWS + 40).astype(str)
    return TrainingData({"embeddings": features}, targets, *rows, ids=ids, context=context)


TEXTS = ["the lock", "a", "the memory is open a lock the", "is open", "lock memory"]


@pytest.fixture(scope="module")
def recipes(tmp_path_factory) -> Recipes:
    """Recipes that read tokens, small, without dropout; the papers' backbone is a tiny one."""
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    backbone = write_encoder(tmp_path_factory.mktemp("encoder"), **still)
    changed = {"paper": {"backbone": backbone}, "textcnn": {"least_count": 1}}
    short = {"epochs": 2, "batch_size": 19, "learning_rate": 0.01}
    return Recipes(
        **CONF
        | {
            name: {
                **CONF[name],
                **own,
                "max_length": 16,
                "dropout": 0.0,
                "training": {**CONF[name]["training"], **short},
            }
            for name, own in changed.items()
        }
    )


def job(material: TrainingData, loss: str, processes: int, **training) -> TrainingJob:
    changed = {
        "epochs": 3,
        "batch_size": 16,
        "min_batch_size_batchwise": 32,
        "processes": processes,
    }
    probe = CONF["probe"]
    settings = {**probe["training"], "learning_rate": 0.02, **changed, **training}
    recipe = {**probe, "hidden": 0, "dropout": 0.0, "training": settings}
    statistics = describe_labels(material.targets[material.train])
    return TrainingJob(
        loss=loss,
        options=LOSSES[loss].defaults(),
        recipe="probe",
        recipes=Recipes(**{**CONF, "probe": recipe}),
        **{name: statistics[name] for name in ("frequencies", "documents", "mu")},
        labels=tuple("abcd"),
        frequency_groups={"head": (0, 1), "tail": (2, 3)},
        task="multi",
        grid=tuple(threshold_grid(0.4, 0.6, 0.01)),
        seed=1,
    )


@pytest.mark.parametrize("loss", ["sigmoid_f1", "tlpr", "kwls"])
def test_two_processes_give_what_one_gives(material, loss, capfd):
    heard = []
    alone = run_job(job(material, loss, 1), material)
    capfd.readouterr()
    with listening(heard.append):
        both = run_job(job(material, loss, 2), material)
    warned = capfd.readouterr().err.count("a batch below 256 documents")
    assert warned == (1 if loss == "sigmoid_f1" else 0)  # by the first process only
    figures = [name for name in alone.history if name.startswith(("validation", "train_loss"))]
    np.testing.assert_allclose(both.history[figures], alone.history[figures], atol=1e-4)
    for name, weight in alone.weights.items():
        if weight.is_floating_point():
            torch.testing.assert_close(both.weights[name], weight, atol=1e-4, rtol=1e-3)
    assert [type(event) for event in heard] == [TrainingStarted, *[EpochEnded] * 3]
    assert heard[-1].figures["validation_macro_f1"] == both.history["validation_macro_f1"].iloc[-1]


@pytest.mark.parametrize("recipe", ["textcnn", "paper"])
def test_two_processes_read_texts_of_any_length_as_one_does(material, recipes, recipe):
    settings = getattr(recipes, recipe)
    texts = [TEXTS[row * row % 5] for row in range(len(material.ids))]
    features = compute_features(settings, texts, learn_tokenizer(settings, texts))
    reads = replace(material, features=features)
    fitted = []
    for processes in (1, 2):
        training = settings.training.model_copy(update={"processes": processes})
        changed = {recipe: settings.model_copy(update={"training": training})}
        asked = {"recipe": recipe, "recipes": recipes.model_copy(update=changed)}
        fitted.append(run_job(job(material, "bce", 1).model_copy(update=asked), reads))
    alone, both = fitted
    assert both.history["train_loss"].is_monotonic_decreasing
    figures = [name for name in alone.history if name.startswith(("validation", "train_loss"))]
    np.testing.assert_allclose(both.history[figures], alone.history[figures], atol=1e-4)
    for name, weight in alone.weights.items():
        torch.testing.assert_close(both.weights[name], weight, atol=1e-4, rtol=1e-3)


def test_failure_in_a_process_is_told_as_it_would_be_here(material, tmp_path):
    wild = job(material, "focal", 2, learning_rate=1e38)
    with pytest.raises(NonFiniteLossError, match=r"focal, seed 1, .*documents \d+") as told:
        run_job(wild, material, tmp_path)
    with pytest.raises(NonFiniteLossError) as alone:
        run_job(job(material, "focal", 1, learning_rate=1e38), material)
    assert str(told.value).startswith(str(alone.value))
    batch = load_file(tmp_path / "seed_1/batch.safetensors")
    named = json.loads((tmp_path / "seed_1/fault.json").read_text())["documents"]
    rows = [int(name) for name in named]
    np.testing.assert_array_equal(batch["features"], material.features["embeddings"][rows])
    assert len(rows) == (19 if ", step" in str(told.value) else 40)


def test_a_fault_that_one_process_meets_in_validation_is_told_by_the_first(material, tmp_path):
    features = np.concatenate([material.features["embeddings"], np.ones((300, 6), np.float32)])
    targets = sparse.csr_array(np.vstack([material.targets.toarray(), np.ones((300, LABELS))]))
    rows = np.arange(ROWS, ROWS + 340)
    features[rows[256:]] = np.inf  # of two batches the second, which the second process scores
    odd = replace(
        material,
        features={"embeddings": features},
        targets=targets,
        validation=rows,
        ids=np.arange(len(features)).astype(str),
    )
    with pytest.raises(NonFiniteLossError, match=r"validation after step 5: .*none of them finite"):
        run_job(job(material, "bce", 2), odd, tmp_path)
    fault = json.loads((tmp_path / "seed_1/fault.json").read_text())
    assert fault["documents"] == [str(row) for row in rows[256:]]


def test_what_goes_wrong_in_a_process_is_told_in_its_own_words(material):
    odd = replace(material, context={})
    with pytest.raises(TrainingFailedError, match=r"failed: ValueError: kwls: context\['soft"):
        run_job(job(material, "kwls", 2), odd)


def test_a_listener_that_gives_up_ends_all_processes(material):
    def give_up(event):
        if isinstance(event, EpochEnded):
            raise SystemExit(143)

    endless = job(material, "bce", 2, epochs=10**6, patience=10**6)
    with listening(give_up), pytest.raises(SystemExit):
        run_job(endless, material)


def test_processes_are_given_their_threads_and_heard():
    words = [sys.executable, "-c", "import os; print(os.environ['OMP_NUM_THREADS']); exit(5)"]
    assert listen_to(words, threads=3) == (5, "3\n")


def test_more_processes_than_gpus_are_refused(material, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(
        TrainingFailedError, match=r"recipes.probe.training.processes is 2, .* found 1"
    ):
        run_job(job(material, "bce", 2), material)
