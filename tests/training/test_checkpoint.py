"""Checkpoints: a stopped training ends as an undisturbed one does, bit for bit; broken ones."""

import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from recipe_conf import RECIPES, read_recipe
from scipy import sparse
from tiny_encoder import write_encoder
from torch.nn.modules.module import register_module_forward_pre_hook
from word_job import SHORT, make_job

from losslab.evaluation import threshold_grid
from losslab.losses import LOSSES
from losslab.parameters import Recipe
from losslab.parameters.losses import LossSettings
from losslab.supervision import describe_labels
from losslab.training.checkpoint import MANIFEST, Checkpoints, find_fault
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.fit import Fitted
from losslab.training.job import (
    TrainingData,
    TrainingJob,
    describe_job,
    own_checkpoints,
    run_job,
    run_seeds,
)
from losslab.training.network import ModelWithLoss
from losslab.training.resume import StopSignals

pytestmark = pytest.mark.filterwarnings("ignore:.*small for a")

TRAINING = SHORT | {
    "epochs": 3,
    "evaluations_per_epoch": 2,
    "warmup": 0.2,
    "schedule": "cosine",
    "weight_decay": 0.1,
    "soft_targets_from_step": 4,
}
"""Forward passes: 15 of training, or 6 for batchwise losses, and 6 of validation."""
EVERY_FAMILY = ("bce", "db", "asl", "dice2", "bpmll", "zlpr_rdrop", "sad_f1", "sbayes_f1")
EVERY_FAMILY += ("ce_count", "ce_tencent", "mask_label", "mask_element", "kwls")
TIMINGS = ["train_seconds", "train_documents_per_second", "train_memory_gb"]


class Killed(BaseException):
    """What ends a training where a kill would have."""


def probe_recipe(**training) -> Recipe:
    return read_recipe("probe", {"hidden_dim": 4, "dropout": 0.3}, **TRAINING | training)


def probe_job(loss: str = "bce", **training) -> tuple[TrainingJob, TrainingData]:
    """Sixty documents with random embeddings."""
    features = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    targets = sparse.csr_array((features[:, :3] > 0.3).astype(np.int8))
    data = TrainingData(
        {"embeddings": features},
        targets,
        np.arange(40),
        np.arange(40, 60),
        ids=np.arange(60).astype(str),
        groups=[0, 0, 1],
        context={"mask": targets, "soft_targets": np.full((60, 3), 1 / 3, dtype=np.float32)},
    )
    job = describe_job(
        LossSettings(name=loss, options=LOSSES[loss].defaults()),
        probe_recipe(**training),
        describe_labels(targets[:40]) | {"groups": ["head", "tail", "tail"]},
        "multi",
        labels=tuple("abc"),
        grid=tuple(threshold_grid(0.4, 0.6, 0.01)),
        seed=1,
    )
    return job, data


def assert_same(resumed: Fitted, undisturbed: Fitted) -> None:
    assert resumed.best_epoch == undisturbed.best_epoch
    assert resumed.weights.keys() == undisturbed.weights.keys()
    for name, weight in undisturbed.weights.items():
        assert torch.equal(resumed.weights[name], weight), name
    histories = [fitted.history.drop(columns=TIMINGS) for fitted in (resumed, undisturbed)]
    pd.testing.assert_frame_equal(*histories, check_exact=True)
    assert resumed.history["train_seconds"].is_monotonic_increasing


@contextmanager
def signal_at_pass(number: int, *signals: signal.Signals) -> Iterator[None]:
    """Send signals to this process during the given forward pass, counted from 1."""
    passes = count(1)

    def send(module, _):
        if isinstance(module, ModelWithLoss) and next(passes) == number:
            for each in signals:
                signal.raise_signal(each)

    hook = register_module_forward_pre_hook(send)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def killed_at(evaluation: int, seed: int = 1) -> Iterator[None]:
    """End the training right after an evaluation, before it can be saved."""

    def kill(event):
        if isinstance(event, EpochEnded) and (event.evaluation, event.seed) == (evaluation, seed):
            raise Killed

    with listening(kill), pytest.raises(Killed):
        yield


def run_with_interruptions(job, data, checkpoints, every: int) -> tuple[Fitted, int]:
    """Start the training again and again; each time Ctrl-C comes after some forward passes."""
    for stops in count():
        with signal_at_pass(every, signal.SIGINT):
            try:
                return run_job(job, data, checkpoints=checkpoints), stops
            except KeyboardInterrupt:
                assert stops < 30
    raise AssertionError


@contextmanager
def heard_evaluations() -> Iterator[list[EpochEnded]]:
    """Evaluations that are published; a training must start before them."""
    heard: list[EpochEnded] = []
    started = set()

    def hear(event):
        if isinstance(event, TrainingStarted):
            started.add(event.seed)
        elif isinstance(event, EpochEnded):
            assert event.seed in started
            heard.append(event)

    with listening(hear):
        yield heard


def steps_of(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.glob("*/*/*"))


@pytest.fixture
def checkpoints(tmp_path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints", interval=0)


@pytest.fixture
def rarely(tmp_path) -> Checkpoints:
    """Checkpoints after a signal only."""
    return Checkpoints(tmp_path / "checkpoints", interval=3600)


@pytest.mark.parametrize("loss", EVERY_FAMILY)
def test_training_interrupted_again_and_again_ends_as_an_undisturbed_one(loss, rarely):
    recipe = read_recipe("textcnn", {"max_length": 16}, **TRAINING)
    job, data = make_job(recipe, "multi", loss)
    resumed, stops = run_with_interruptions(job, data, rarely, every=3)
    assert stops > 3
    assert_same(resumed, run_job(job, data))


@pytest.mark.parametrize("loss", EVERY_FAMILY)
def test_training_killed_between_evaluations_ends_as_an_undisturbed_one(loss, checkpoints):
    job, data = probe_job(loss)
    for evaluation in (2, 5):
        with killed_at(evaluation):
            run_job(job, data, checkpoints=checkpoints)
        (name,) = steps_of(checkpoints)
        assert name.endswith(f"evaluation_{evaluation - 1:06d}")
    assert_same(run_job(job, data, checkpoints=checkpoints), run_job(job, data))


@pytest.mark.parametrize("name", sorted({*RECIPES} - {"probe", "minilm", "roberta"}))
def test_every_kind_of_model_resumes(name, tmp_path, rarely):
    backbone = {"backbone": write_encoder(tmp_path)} if name == "bert" else {}
    regularizers = {"rdrop": 0.5, "adversarial": 0.5, "adversarial_epsilon": 0.1}
    contrast = 0.0 if name == "image_probe" else 0.5  # frozen embeddings have nothing to move
    regularizers |= {"mulsupcon": contrast, "mulsupcon_temperature": 0.1}
    training = {**TRAINING, "regularizers": regularizers}
    length = {} if name in ("cnn", "image_probe") else {"max_length": 16}
    recipe = read_recipe(name, {**length, **backbone}, **training)
    job, data = make_job(recipe, "multi", "zlpr_rdrop")
    resumed, stops = run_with_interruptions(job, data, rarely, every=4)
    assert stops > 3
    assert_same(resumed, run_job(job, data))


@pytest.mark.parametrize("number", range(1, 22))
def test_interrupt_in_any_pass_continues_after_it(number, rarely, caplog):
    job, data = probe_job("sbayes_f1", min_batch_size_batchwise=8)
    with signal_at_pass(number, signal.SIGINT), pytest.raises(KeyboardInterrupt):
        run_job(job, data, checkpoints=rarely)
    (name,) = steps_of(rarely)
    with heard_evaluations() as heard:
        resumed = run_job(job, data, checkpoints=rarely)
    assert f"continues after step {int(name.split('_')[1])}" in caplog.text
    assert [event.evaluation for event in heard] == [1, 2, 3, 4, 5, 6]
    assert_same(resumed, run_job(job, data))


@pytest.mark.parametrize("seed", range(4))
def test_first_epoch_keeps_its_longest_batch_in_front(seed, rarely):
    job, data = make_job(read_recipe("textcnn", {"max_length": 16}, **TRAINING), "multi", "bce")
    job = job.model_copy(update={"seed": seed})
    with signal_at_pass(2, signal.SIGINT), pytest.raises(KeyboardInterrupt):
        run_job(job, data, checkpoints=rarely)
    assert_same(run_job(job, data, checkpoints=rarely), run_job(job, data))


def test_early_stopping_counts_on(checkpoints):
    job, data = probe_job(epochs=40, patience=3, learning_rate=0.1)
    undisturbed = run_job(job, data)
    assert len(undisturbed.history) < 80
    with killed_at(len(undisturbed.history) - 1):
        run_job(job, data, checkpoints=checkpoints)
    assert_same(run_job(job, data, checkpoints=checkpoints), undisturbed)


def test_resumed_training_publishes_its_whole_curve(checkpoints):
    job, data = probe_job()
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    with heard_evaluations() as heard:
        resumed = run_job(job, data, checkpoints=checkpoints)
    assert [event.evaluation for event in heard] == [1, 2, 3, 4, 5, 6]
    assert [event.epoch for event in heard] == resumed.history["epoch"].tolist()
    recorded = resumed.history.drop(columns="epoch").to_dict("records")
    assert [event.metrics for event in heard] == recorded


def test_time_spent_before_a_kill_counts(checkpoints):
    job, data = probe_job()
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    (progress,) = checkpoints.folder.glob("*/*/*/progress.json")
    saved = json.loads(progress.read_text())
    saved["trainer"]["seconds"] += 1000
    progress.write_text(json.dumps(saved))
    vouch_again(progress.parent)
    seconds = run_job(job, data, checkpoints=checkpoints).history["train_seconds"]
    assert seconds[2] < 1000 < seconds[3]


def vouch_again(folder: Path) -> None:
    """Write the manifest of changed files, as nothing but a test would."""
    from losslab.training.checkpoint import _digest

    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {name: _digest(folder / name) for name in manifest["files"]}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_kill_in_the_third_seed_keeps_the_first_two(rarely, caplog):
    caplog.set_level("DEBUG", "losslab")
    job, data = probe_job("mask_label")
    with killed_at(5, seed=3):
        run_seeds(job, data, range(1, 4), checkpoints=rarely)
    assert steps_of(rarely) == ["finished", "finished"]
    caplog.clear()
    with heard_evaluations() as heard:
        weights, history = run_seeds(job, data, range(1, 4), checkpoints=rarely)
    trained = [line.split(":")[0] for line in caplog.messages if "training starts" in line]
    assert trained == ["mask_label, seed 3"]
    expected_weights, expected_history = run_seeds(job, data, range(1, 4))
    assert weights.keys() == expected_weights.keys()
    for name, weight in expected_weights.items():
        np.testing.assert_array_equal(weights[name], weight)
    histories = [table.drop(columns=TIMINGS) for table in (history, expected_history)]
    pd.testing.assert_frame_equal(*histories, check_exact=True)
    assert [event.seed for event in heard] == [1] * 6 + [2] * 6 + [3] * 6
    metrics = heard[1].metrics
    assert metrics == history.iloc[1][list(metrics)].to_dict()


def test_interrupt_after_the_last_evaluation_keeps_the_result(rarely, caplog):
    caplog.set_level("DEBUG", "losslab")
    job, data = probe_job()

    def interrupt(event):
        if isinstance(event, EpochEnded) and event.evaluation == 6:
            signal.raise_signal(signal.SIGINT)

    with listening(interrupt), pytest.raises(KeyboardInterrupt):
        run_job(job, data, checkpoints=rarely)
    assert steps_of(rarely) == ["finished"]
    caplog.clear()
    assert_same(run_job(job, data, checkpoints=rarely), run_job(job, data))
    assert "bce, seed 1: was finished, is not trained again" in caplog.text


def test_clear_removes_everything(rarely):
    run_job(*probe_job(), checkpoints=rarely)
    rarely.clear()
    assert not rarely.folder.exists()
    rarely.clear()


def break_by_flipping(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def break_by_truncating(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def break_by_emptying(file: Path) -> None:
    os.truncate(file, 0)


FILES = ("network.safetensors", "best.safetensors", "optimizer.pt", "progress.json", MANIFEST)
BREAKS = (break_by_flipping, break_by_truncating, break_by_emptying, Path.unlink)


@pytest.mark.parametrize("do_break", BREAKS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", FILES)
def test_broken_checkpoint_is_passed_over(name, do_break, checkpoints, caplog):
    job, data = probe_job()
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    (file,) = checkpoints.folder.glob(f"*/*/*/{name}")
    do_break(file)
    resumed = run_job(job, data, checkpoints=checkpoints)
    assert f"the checkpoint {file.parent} is passed over: " in caplog.text
    assert "continues" not in caplog.text
    assert_same(resumed, run_job(job, data))


@pytest.mark.parametrize("do_break", BREAKS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", ["weights.safetensors", "result.json", MANIFEST])
def test_broken_result_is_passed_over(name, do_break, checkpoints, caplog):
    job, data = probe_job()
    undisturbed = run_job(job, data, checkpoints=checkpoints)
    (file,) = checkpoints.folder.glob(f"*/*/*/{name}")
    do_break(file)
    assert_same(run_job(job, data, checkpoints=checkpoints), undisturbed)
    assert f"the checkpoint {file.parent} is passed over: " in caplog.text
    assert steps_of(checkpoints) == ["finished"]


@pytest.mark.parametrize("position", range(0, 100, 7))
def test_byte_flipped_anywhere_in_a_manifest_never_gives_another_result(position, checkpoints):
    job, data = probe_job()
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    (manifest,) = checkpoints.folder.glob(f"*/*/*/{MANIFEST}")
    content = bytearray(manifest.read_bytes())
    content[position * len(content) // 100] ^= 0x01
    manifest.write_bytes(content)
    assert find_fault(manifest.parent, own_checkpoints(job, data, checkpoints).facts)
    assert_same(run_job(job, data, checkpoints=checkpoints), run_job(job, data))


def test_older_checkpoint_is_used_where_the_newest_is_broken(checkpoints, tmp_path, caplog):
    job, data = probe_job()
    with killed_at(3):
        run_job(job, data, checkpoints=checkpoints)
    (older,) = checkpoints.folder.glob("*/*/*")
    shutil.copytree(older, tmp_path / older.name)
    with killed_at(5):
        run_job(job, data, checkpoints=checkpoints)
    (newer,) = checkpoints.folder.glob("*/*/*")
    (tmp_path / older.name).rename(older)  # as a kill before its removal leaves it
    break_by_flipping(newer / "network.safetensors")
    caplog.clear()
    resumed = run_job(job, data, checkpoints=checkpoints)
    assert f"{newer} is passed over: network.safetensors: not as written" in caplog.text
    assert "continues after step 5" in caplog.text
    assert_same(resumed, run_job(job, data))


def other_job(job, data, patch):
    return job.model_copy(update={"select_by": "micro_f1"}), data


def other_documents(job, data, patch):
    features = data.features["embeddings"].copy()
    features[3, 2] += 1e-6
    return job, replace(data, features={"embeddings": features})


def other_torch(job, data, patch):
    patch.setattr(torch, "__version__", "0.0.1")
    return job, data


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize(
    ("change", "differing"), [(other_job, "job"), (other_documents, "data"), (other_torch, "torch")]
)
def test_another_configurations_checkpoint_is_never_used(
    change, differing, finished, checkpoints, caplog, monkeypatch
):
    job, data = probe_job()
    if finished:
        run_job(job, data, checkpoints=checkpoints)
    else:
        with killed_at(4):
            run_job(job, data, checkpoints=checkpoints)
    other, documents = change(job, data, monkeypatch)
    fitted = run_job(other, documents, checkpoints=checkpoints)
    assert f"is passed over: it is of another training: {differing} differ" in caplog.text
    assert_same(fitted, run_job(other, documents))
    assert steps_of(checkpoints) == ["finished"]


def test_checkpoints_keep_to_the_interval(tmp_path):
    now, seen = [0.0], []
    checkpoints = Checkpoints(tmp_path, interval=60, clock=lambda: now[0])

    def advance(event):
        if isinstance(event, EpochEnded):
            seen.append([name[-1] for name in steps_of(checkpoints)])
            now[0] += 25

    with listening(advance):
        run_job(*probe_job(epochs=4), checkpoints=checkpoints)
    assert seen == [[], [], [], ["3"], ["3"], ["3"], ["6"], ["6"]]


def test_leftovers_of_dead_processes_are_removed(checkpoints):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    job, data = probe_job()
    folder = own_checkpoints(job, data, checkpoints).folder
    for process in (dead.pid, os.getppid()):
        (folder / f".step_000000001_evaluation_000000.{process}.part").mkdir(parents=True)
    run_job(job, data, checkpoints=checkpoints)
    left = {path.name for path in folder.iterdir()}
    assert left == {f".step_000000001_evaluation_000000.{os.getppid()}.part", "finished"}


def test_full_disk_costs_the_checkpoint_and_not_the_training(checkpoints, caplog):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    job, data = probe_job()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # bytes per file
    try:
        fitted = run_job(job, data, checkpoints=checkpoints)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "no checkpoint in " in caplog.text
    assert [*checkpoints.folder.glob("*/*/*")] == []
    assert_same(fitted, run_job(job, data))


def test_folder_that_cannot_be_made_costs_the_checkpoint_and_not_the_training(tmp_path, caplog):
    (tmp_path / "file").touch()
    job, data = probe_job()
    fitted = run_job(job, data, checkpoints=Checkpoints(tmp_path / "file", interval=0))
    assert "no checkpoint in " in caplog.text
    assert_same(fitted, run_job(job, data))


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_code_in_a_checkpoint_is_not_executed(checkpoints, tmp_path):
    job, data = probe_job()
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    (file,) = checkpoints.folder.glob("*/*/*/optimizer.pt")
    torch.save({"optimizer": Touch(tmp_path / "executed")}, file)
    vouch_again(file.parent)
    with pytest.raises(pickle.UnpicklingError):
        run_job(job, data, checkpoints=checkpoints)
    assert not (tmp_path / "executed").exists()


@pytest.fixture
def exit_on_sigterm() -> Iterator[None]:
    """SIGTERM as a run has it."""

    def leave(*_):
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, leave)
    yield
    assert signal.getsignal(signal.SIGTERM) is leave  # restored
    signal.signal(signal.SIGTERM, before)


def test_sigterm_saves_and_ends_by_the_runs_own_handler(rarely, exit_on_sigterm, caplog):
    job, data = probe_job()
    with signal_at_pass(5, signal.SIGTERM), pytest.raises(SystemExit) as raised:
        run_job(job, data, checkpoints=rarely)
    assert raised.value.code == 143
    assert "SIGTERM: stops after step 4; the same command continues" in caplog.text
    assert_same(run_job(job, data, checkpoints=rarely), run_job(job, data))


def test_second_signal_ends_at_once(rarely):
    before = signal.getsignal(signal.SIGINT)
    with signal_at_pass(5, signal.SIGINT, signal.SIGINT), pytest.raises(KeyboardInterrupt):
        run_job(*probe_job(), checkpoints=rarely)
    assert steps_of(rarely) == []
    assert signal.getsignal(signal.SIGINT) is before


def test_without_checkpoints_a_signal_ends_at_once():
    job, data = probe_job()
    passes = []
    hook = register_module_forward_pre_hook(lambda module, _: passes.append(module))
    with signal_at_pass(1, signal.SIGINT), pytest.raises(KeyboardInterrupt):
        run_job(job, data)
    hook.remove()
    assert len(passes) == 1


def test_signal_is_not_lost_when_the_training_fails():
    def fail():
        with StopSignals():
            signal.raise_signal(signal.SIGINT)
            raise FloatingPointError

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_signal_stays_ignored(rarely):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signal_at_pass(5, signal.SIGTERM):
            run_job(*probe_job(), checkpoints=rarely)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert steps_of(rarely) == ["finished"]


def test_training_in_a_thread_leaves_signals_alone(checkpoints):
    results, handlers = [], []
    job, data = probe_job()

    def look(event):
        handlers.append(signal.getsignal(signal.SIGINT))

    def work():
        results.append(run_job(job, data, checkpoints=checkpoints))

    with listening(look):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert set(handlers) == {signal.getsignal(signal.SIGINT)}
    assert_same(results[0], run_job(job, data))


@pytest.mark.long
def test_two_processes_resume(checkpoints, caplog):
    caplog.set_level("DEBUG", "losslab")
    job, data = probe_job("sbayes_f1", processes=2)
    undisturbed = run_job(job, data)
    with killed_at(4):
        run_job(job, data, checkpoints=checkpoints)
    (name,) = steps_of(checkpoints)
    assert name.endswith(("evaluation_000003", "evaluation_000004"))  # the ranks ran on
    with heard_evaluations() as heard:
        assert_same(run_job(job, data, checkpoints=checkpoints), undisturbed)
    assert [event.evaluation for event in heard] == [1, 2, 3, 4, 5, 6]
    assert_same(run_job(job, data, checkpoints=checkpoints), undisturbed)
    assert "sbayes_f1, seed 1: was finished, is not trained again" in caplog.text
