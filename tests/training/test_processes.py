"""Several processes train as one would."""

import numpy as np
import pytest
import torch
import yaml
from conftest import ROOT
from scipy import sparse

from losslab.evaluation import threshold_grid
from losslab.losses import LOSSES
from losslab.targets import describe_labels
from losslab.training.errors import NonFiniteLossError
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.job import Job, Material, run_job
from losslab.training.recipes import Recipes

CONF = yaml.safe_load((ROOT / "conf/base/parameters_losses.yml").read_text())["recipes"]
ROWS, LABELS = 96, 4


@pytest.fixture(scope="module")
def material() -> Material:
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS + 40, 6)).astype(np.float32)
    targets = sparse.csr_array((features[:, :LABELS] > 0.5).astype(np.int8))
    rows = np.arange(ROWS), np.arange(ROWS, ROWS + 40)
    soft = np.full((ROWS, LABELS), 1 / LABELS, dtype=np.float32)  # of training rows only
    context = {"soft_targets": lambda chosen: soft[chosen]}
    ids = np.arange(ROWS + 40).astype(str)
    return Material({"embeddings": features}, targets, *rows, ids=ids, context=context)


def job(material: Material, loss: str, processes: int, **training) -> Job:
    changed = {"epochs": 3, "batch_size": 16, "whole_batch_size": 32, "processes": processes}
    probe = CONF["probe"]
    settings = {**probe["training"], "learning_rate": 0.02, **changed, **training}
    recipe = {**probe, "hidden": 0, "dropout": 0.0, "training": settings}
    statistics = describe_labels(material.targets[material.train])
    return Job(
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
def test_two_processes_give_what_one_gives(material, loss):
    heard = []
    alone = run_job(job(material, loss, 1), material)
    with listening(heard.append):
        both = run_job(job(material, loss, 2), material)
    figures = [name for name in alone.history if name.startswith(("validation", "train_loss"))]
    np.testing.assert_allclose(both.history[figures], alone.history[figures], atol=1e-4)
    for name, weight in alone.weights.items():
        if weight.is_floating_point():
            torch.testing.assert_close(both.weights[name], weight, atol=1e-4, rtol=1e-3)
    assert [type(event) for event in heard] == [TrainingStarted, *[EpochEnded] * 3]
    assert heard[-1].figures["validation_macro_f1"] == both.history["validation_macro_f1"].iloc[-1]


def test_failure_in_a_process_is_told_as_it_would_be_here(material, tmp_path):
    wild = job(material, "focal", 2, learning_rate=1e38)
    with pytest.raises(NonFiniteLossError, match=r"focal, seed 1, .*documents \d+"):
        run_job(wild, material, tmp_path)
    assert (tmp_path / "seed_1/batch.safetensors").exists()
