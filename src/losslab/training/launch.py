"""A training in several processes: files in, files out, figures on the way."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_tensors
from scipy import sparse

from losslab.errors import NonFiniteLossError, TrainingFailedError
from losslab.supervision import SoftLabels, load_soft_labels, save_soft_labels
from losslab.training.batches import Column
from losslab.training.events import EpochEnded, TrainingStarted, publish
from losslab.training.fit import Fitted
from losslab.training.job import TrainingData, TrainingJob

EVENTS = {"TrainingStarted": TrainingStarted, "EpochEnded": EpochEnded}
MARK = "losslab-event "


def run_in_processes(job: TrainingJob, material: TrainingData, failures: Path | None) -> Fitted:
    """Train in as many processes as the recipe asks for; their events are published here."""
    processes = job.chosen.training.processes
    _check_devices(job.recipe, processes)
    with TemporaryDirectory(prefix="losslab-") as scratch:
        folder = Path(scratch)
        (folder / "job.json").write_text(job.model_dump_json())
        write_training_data(material, folder)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        count = f"--nproc-per-node={processes}"
        kept = [] if failures is None else [str(failures.resolve())]
        words = [*command, count, "-m", "losslab.training.worker", str(folder), *kept]
        code, said = listen_to(words, threads=max(1, torch.get_num_threads() // processes))
        if (folder / "non_finite.txt").exists():
            raise NonFiniteLossError((folder / "non_finite.txt").read_text())
        if code != 0:
            cause = _first_error(folder) or f"exit code {code}\n{said}"
            raise TrainingFailedError(
                f"{job.loss}, seed {job.seed}: a training process failed: {cause}"
            )
        return read_fitted(folder)


def _check_devices(recipe: str, processes: int) -> None:
    if torch.cuda.is_available() and processes > torch.cuda.device_count():
        raise TrainingFailedError(
            f"recipes.{recipe}.training.processes is {processes}, and each needs a GPU of its own: "
            f"found {torch.cuda.device_count()}; ask for no more processes than that"
        )


def _first_error(folder: Path) -> str | None:
    """What the process wrote that failed first: the others may have failed in consequence."""
    left = sorted(folder.glob("error_*.txt"), key=lambda path: path.stat().st_mtime_ns)
    return left[0].read_text() if left else None


def listen_to(words: list[str], *, threads: int) -> tuple[int, str]:
    """Run a command and publish the events it prints; its exit code and its last words.

    Its progress bar and warnings go where ours go. It ends with us, whatever ends us. Left to
    itself, torchrun gives each process a single thread.
    """
    last: list[str] = []
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(  # noqa: S603
        words, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            for line in process.stdout or ():
                last = [*last[-30:], *_hear(line)]
        except BaseException:
            process.terminate()
            raise
    return process.returncode, "".join(last)


def _hear(line: str) -> list[str]:
    """Publish an event; what is none is given back."""
    if not line.startswith(MARK):
        return [line]
    fact = json.loads(line.removeprefix(MARK))
    publish(EVENTS[fact.pop("kind")](**fact))
    return []


def tell(event: TrainingStarted | EpochEnded) -> None:
    """Print an event for the process that listens."""
    fact = json.dumps({"kind": type(event).__name__, **asdict(event)})
    sys.stdout.write(f"{MARK}{fact}\n")
    sys.stdout.flush()


def write_training_data(material: TrainingData, folder: Path) -> None:
    """Everything a job is done with, as files without code."""
    rows = {"train": material.train, "validation": material.validation}
    arrays = {**{f"features/{name}": a for name, a in material.features.items()}, **rows}
    save_file(
        {k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / "arrays.safetensors"
    )
    (folder / "ids.json").write_text(json.dumps([str(name) for name in material.ids]))
    columns = {"targets": material.targets, "groups": material.groups, **material.context}
    for name, column in columns.items():
        if column is not None:
            _write_column(folder / name, column)


def _write_column(path: Path, column: Column) -> None:
    """A sparse matrix as NPZ, soft labels as their factors, an array as it is."""
    if sparse.issparse(column):
        sparse.save_npz(path.with_suffix(".npz"), sparse.csr_array(column))
    elif isinstance(column, SoftLabels):
        save_soft_labels(column, path.with_suffix(".soft"))
    elif callable(column):
        raise TypeError(
            f"{path.name}: several processes take a matrix or SoftLabels, not a {type(column)}, "
            "which cannot be written down"
        )
    else:
        np.save(path.with_suffix(".npy"), np.asarray(column), allow_pickle=False)


def read_training_data(folder: Path) -> TrainingData:
    """What ``write_training_data`` wrote; arrays stay on disk until they are read."""
    arrays = load_file(folder / "arrays.safetensors")
    features = {
        name.removeprefix("features/"): array
        for name, array in arrays.items()
        if name.startswith("features/")
    }
    columns: dict[str, Column] = {
        path.stem: sparse.csr_array(sparse.load_npz(path)) for path in folder.glob("*.npz")
    }
    columns |= {path.stem: load_soft_labels(path) for path in folder.glob("*.soft")}
    columns |= {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
    return TrainingData(
        features,
        columns.pop("targets"),
        arrays["train"],
        arrays["validation"],
        np.array(json.loads((folder / "ids.json").read_text())),
        columns.pop("groups", None),
        columns,
    )


def write_fitted(fitted: Fitted, folder: Path) -> None:
    """A result, for the process that waits."""
    weights: Mapping[str, np.ndarray] = {k: v.numpy() for k, v in fitted.weights.items()}
    save_file(dict(weights), folder / "weights.safetensors")
    fitted.history.to_parquet(folder / "history.parquet")
    (folder / "best.json").write_text(json.dumps(fitted.best_epoch))


def read_fitted(folder: Path) -> Fitted:
    """What ``write_fitted`` wrote."""
    return Fitted(
        load_tensors(folder / "weights.safetensors"),
        pd.read_parquet(folder / "history.parquet"),
        json.loads((folder / "best.json").read_text()),
    )
