"""Several DDP processes train as one process does."""

import json
import os
from dataclasses import replace
from multiprocessing import active_children

import numpy as np
import pytest
import torch
from recipe_conf import read_recipe
from safetensors.numpy import load_file
from scipy import sparse
from tiny_encoder import write_encoder

from losslab.errors import NonFiniteLossError, TrainingFailedError
from losslab.evaluation import threshold_grid
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.losses import LOSSES
from losslab.parameters import Recipe
from losslab.parameters.losses import LossSettings
from losslab.supervision import SoftLabels, describe_labels
from losslab.training.distributed import cpu_threads
from losslab.training.events import EpochEnded, TrainingEnded, TrainingStarted, listening
from losslab.training.job import TrainingData, TrainingJob, describe_job, run_job

pytestmark = pytest.mark.slow  # every training starts processes

ROWS, LABELS = 95, 4  # in batches of 19: no two processes can share them evenly


@pytest.fixture(scope="module")
def data() -> TrainingData:
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS + 40, 6)).astype(np.float32)
    targets = sparse.csr_array((features[:, :LABELS] > 0.5).astype(np.int8))
    rows = np.arange(ROWS), np.arange(ROWS, ROWS + 40)
    counts = random.random((ROWS, 5)).astype(np.float32) * (random.random((ROWS, 5)) < 0.5)
    words = sparse.csr_array(random.random((5, LABELS)).astype(np.float32))
    soft = SoftLabels(sparse.csr_array(counts), words, rows=rows[0])
    context = {"soft_targets": soft}
    ids = np.arange(ROWS + 40).astype(str)
    return TrainingData({"embeddings": features}, targets, *rows, ids=ids, context=context)


def make_job(recipe: Recipe, data: TrainingData, loss: str) -> TrainingJob:
    return describe_job(
        LossSettings(name=loss, options=LOSSES[loss].defaults()),
        recipe,
        describe_labels(data.targets[data.train]) | {"groups": ["head", "head", "tail", "tail"]},
        "multi",
        labels=tuple("abcd"),
        grid=tuple(threshold_grid(0.4, 0.6, 0.01)),
        seed=1,
    )


def probe_job(data: TrainingData, loss: str, processes: int, **training) -> TrainingJob:
    settings = {
        "learning_rate": 0.02,
        "epochs": 3,
        "batch_size": 16,
        "min_batch_size_batchwise": 32,
        "processes": processes,
        **training,
    }
    recipe = read_recipe("probe", {"hidden_dim": 0, "dropout": 0.0}, **settings)
    return make_job(recipe, data, loss)


def assert_same_training(several, one) -> None:
    """Equal up to the order of float operations."""
    metrics = [name for name in one.history if name.startswith(("validation", "train_loss"))]
    np.testing.assert_allclose(several.history[metrics], one.history[metrics], atol=1e-4)
    for name, weight in one.weights.items():
        if weight.is_floating_point():
            torch.testing.assert_close(several.weights[name], weight, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    "loss", ["sigmoid_f1", *(pytest.param(n, marks=pytest.mark.long) for n in ("tlpr", "kwls"))]
)
def test_two_processes_give_what_one_gives(data, loss, capfd):
    events = []
    one = run_job(probe_job(data, loss, 1), data)
    capfd.readouterr()
    with listening(events.append):
        two = run_job(probe_job(data, loss, 2), data)
    warnings = capfd.readouterr().err.count("a batch below 256 documents")
    assert warnings == (1 if loss == "sigmoid_f1" else 0)  # of rank 0 only
    assert_same_training(two, one)
    expected = [TrainingStarted, *[EpochEnded] * 3, TrainingEnded]
    assert [type(event) for event in events] == expected
    assert events[-2].metrics["validation_macro_f1"] == two.history["validation_macro_f1"].iloc[-1]
    assert events[-1].facts["best_epoch"] == one.best_epoch


TEXTS = ["the lock", "a", "the memory is open a lock the", "is open", "lock memory"]


@pytest.mark.parametrize(
    "name", [*(pytest.param(n, marks=pytest.mark.long) for n in ("textcnn", "hybrid")), "bert"]
)
def test_two_processes_read_texts_of_any_length_as_one_does(data, name, tmp_path):
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    backbone = {"backbone": write_encoder(tmp_path, **no_dropout)}
    model = {
        "max_length": 16,
        "dropout": 0.0,
        **({"min_count": 1} if name == "textcnn" else backbone),
    }
    short = {"epochs": 2, "batch_size": 19, "learning_rate": 0.01}
    recipes = [read_recipe(name, model, **short, processes=count) for count in (1, 2)]
    texts = [TEXTS[row * row % 5] for row in range(len(data.ids))]
    tokenizer = learn_tokenizer(recipes[0].model, texts)
    reads = replace(data, features=compute_features(recipes[0].model, texts, tokenizer))
    one, two = (run_job(make_job(recipe, reads, "bce"), reads) for recipe in recipes)
    assert two.history["train_loss"].is_monotonic_decreasing
    assert_same_training(two, one)


def test_non_finite_loss_in_a_process_is_raised_as_it_would_be_here(data, tmp_path):
    with pytest.raises(NonFiniteLossError, match=r"focal, seed 1, .*documents \d+") as several:
        run_job(probe_job(data, "focal", 2, learning_rate=1e38), data, tmp_path)
    with pytest.raises(NonFiniteLossError) as one:
        run_job(probe_job(data, "focal", 1, learning_rate=1e38), data)
    assert str(several.value).startswith(str(one.value))
    batch = load_file(tmp_path / "seed_1/batch.safetensors")
    documents = json.loads((tmp_path / "seed_1/fault.json").read_text())["documents"]
    rows = [int(name) for name in documents]
    np.testing.assert_array_equal(batch["features"], data.features["embeddings"][rows])
    assert len(rows) == (19 if ", step" in str(several.value) else 40)


def test_non_finite_loss_of_one_rank_in_validation_is_raised(data, tmp_path):
    features = np.concatenate([data.features["embeddings"], np.ones((300, 6), np.float32)])
    targets = sparse.csr_array(np.vstack([data.targets.toarray(), np.ones((300, LABELS))]))
    rows = np.arange(ROWS, ROWS + 340)
    features[rows[256:]] = np.inf  # the second of two batches, which rank 1 scores
    infinite = replace(
        data,
        features={"embeddings": features},
        targets=targets,
        validation=rows,
        ids=np.arange(len(features)).astype(str),
    )
    with pytest.raises(NonFiniteLossError, match=r"validation after step 5: .*none of them finite"):
        run_job(probe_job(data, "bce", 2), infinite, tmp_path)
    fault = json.loads((tmp_path / "seed_1/fault.json").read_text())
    assert fault["documents"] == [str(row) for row in rows[256:]]


def test_error_of_a_process_is_raised_in_one_line(data):
    incomplete = replace(data, context={})
    with pytest.raises(TrainingFailedError) as raised:
        run_job(probe_job(data, "kwls", 2), incomplete)
    message = str(raised.value)
    assert message.startswith(
        "kwls, seed 1: a training process failed: ValueError: kwls: context['soft_targets']"
    )
    assert len(message.splitlines()) == 1


def test_killed_process_ends_the_training(data):
    def kill_one(event):
        if isinstance(event, EpochEnded) and event.evaluation == 1:
            active_children()[0].kill()

    endless = probe_job(data, "bce", 2, epochs=10**6, patience=10**6)
    with listening(kill_one), pytest.raises(TrainingFailedError) as raised:
        run_job(endless, data)
    assert "a training process failed: " in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert active_children() == []


def test_listener_that_exits_ends_all_processes(data):
    def exit_at_once(event):
        if isinstance(event, EpochEnded):
            assert len(active_children()) == 2
            raise SystemExit(143)

    endless = probe_job(data, "bce", 2, epochs=10**6, patience=10**6)
    with listening(exit_at_once), pytest.raises(SystemExit):
        run_job(endless, data)
    assert active_children() == []


class RecordsThreads:
    """Soft targets that write down the number of CPU threads of the process they are read in."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, rows):
        (self.folder / str(os.getpid())).write_text(str(torch.get_num_threads()))
        return np.full((len(rows), LABELS), 1 / LABELS, dtype=np.float32)


def test_processes_share_the_cpu_threads(data, tmp_path):
    recorded = replace(data, context={"soft_targets": RecordsThreads(tmp_path)})
    with cpu_threads(4):
        run_job(probe_job(data, "kwls", 2, epochs=1, threads=None), recorded)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["2", "2"]


def test_more_processes_than_gpus_are_refused(data, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(
        TrainingFailedError, match=r"recipes.probe.training.processes is 2, .* found 1"
    ):
        run_job(probe_job(data, "bce", 2), data)
