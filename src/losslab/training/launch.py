"""A training in several processes: files in, files out, figures on the way."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_tensors
from scipy import sparse

from losslab.training.batches import Column
from losslab.training.errors import NonFiniteLossError, TrainingFailedError
from losslab.training.events import EpochEnded, TrainingStarted, publish
from losslab.training.fit import Fitted
from losslab.training.job import Job, Material

EVENTS = {"TrainingStarted": TrainingStarted, "EpochEnded": EpochEnded}
MARK = "losslab-event "
ROWS_AT_A_TIME = 1024


def run_in_processes(job: Job, material: Material, failures: Path | None) -> Fitted:
    """Train in ``training.processes`` processes; their events are published here."""
    with TemporaryDirectory(prefix="losslab-") as scratch:
        folder = Path(scratch)
        (folder / "job.json").write_text(job.model_dump_json())
        write_material(material, folder)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        count = f"--nproc-per-node={job.chosen.training.processes}"
        kept = [] if failures is None else [str(failures.resolve())]
        words = [*command, count, "-m", "losslab.training.worker", str(folder), *kept]
        code, said = _listen(words)
        if (folder / "non_finite.txt").exists():
            raise NonFiniteLossError((folder / "non_finite.txt").read_text())
        if code != 0:
            raise TrainingFailedError(
                f"{job.loss}, seed {job.seed}: a training process failed\n{said}"
            )
        return read_fitted(folder)


def _listen(words: list[str]) -> tuple[int, str]:
    """Run a command and publish the events it prints; its exit code and its last words."""
    last: list[str] = []
    with subprocess.Popen(  # noqa: S603
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            if line.startswith(MARK):
                fact = json.loads(line.removeprefix(MARK))
                publish(EVENTS[fact.pop("kind")](**fact))
            else:
                last = [*last[-30:], line]
    return process.returncode, "".join(last)


def tell(event: TrainingStarted | EpochEnded) -> None:
    """Print an event for the process that listens."""
    fact = json.dumps({"kind": type(event).__name__, **asdict(event)})
    sys.stdout.write(f"{MARK}{fact}\n")
    sys.stdout.flush()


def write_material(material: Material, folder: Path) -> None:
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
            _write_column(folder / name, column, len(material.ids), material.train)


def _write_column(path: Path, column: Column, rows: int, train: np.ndarray) -> None:
    """A sparse matrix as NPZ, an array as it is, a function's training rows a block at a time."""
    if sparse.issparse(column):
        sparse.save_npz(path.with_suffix(".npz"), sparse.csr_array(column))
        return
    if not callable(column):
        np.save(path.with_suffix(".npy"), np.asarray(column), allow_pickle=False)
        return
    first = column(train[:1])
    whole = np.lib.format.open_memmap(
        path.with_suffix(".npy"), mode="w+", dtype=np.float32, shape=(rows, first.shape[1])
    )
    for start in range(0, len(train), ROWS_AT_A_TIME):
        part = train[start : start + ROWS_AT_A_TIME]
        whole[part] = column(part)


def read_material(folder: Path) -> Material:
    """What ``write_material`` wrote; arrays stay on disk until they are read."""
    arrays = load_file(folder / "arrays.safetensors")
    features = {
        name.removeprefix("features/"): array
        for name, array in arrays.items()
        if name.startswith("features/")
    }
    columns: dict[str, Column] = {
        path.stem: sparse.csr_array(sparse.load_npz(path)) for path in folder.glob("*.npz")
    }
    columns |= {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
    return Material(
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
