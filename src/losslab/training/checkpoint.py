"""Checkpoints: what a training needs to go on after a kill, and the seeds that are finished.

A checkpoint is a folder that is written under a temporary name, synced and renamed; its manifest
comes last. Nothing is loaded that the manifest does not vouch for, and no pickle that holds code.
"""

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from losslab.features.inputs import default_device
from losslab.manifest import MANIFEST, hash_file
from losslab.temporary import part_of, sweep_parts, sync, sync_tree

logger = logging.getLogger(__name__)

FINISHED = "finished"
Contents = dict[str, Any]
"""By file name; the suffix says how: tensors (.safetensors), state of torch (.pt), plain (.json)."""


class Copies(Protocol):
    """Keeps copies of checkpoints elsewhere: the machine of a training may be lost."""

    def keep(self, folder: Path, training: Path) -> None:
        """Copy the checkpoints of one training, of which ``folder`` holds those of all."""

    def clear(self) -> None:
        """Remove all copies."""


class Checkpoints:
    """The checkpoints of one training configuration; its trainings share a folder.

    Args:
        folder: nothing else is kept in it. Whoever chooses it answers for code and data.
        interval: least number of seconds between two checkpoints of a training.
        clock: seconds.
        copies: told of each checkpoint that was written.
    """

    def __init__(
        self,
        folder: Path,
        interval: float,
        clock: Callable[[], float] = monotonic,
        copies: Copies | None = None,
    ) -> None:
        self.folder, self.interval, self.clock, self.copies = folder, interval, clock, copies

    def of_training(self, name: str, facts: Mapping[str, Any]) -> "TrainingCheckpoints":
        """The checkpoints of the training ``name``; those with other ``facts`` are not used."""
        facts = {**facts, "torch": torch.__version__, "device": default_device().type}
        keep = None if self.copies is None else partial(self.copies.keep, self.folder)
        return TrainingCheckpoints(self.folder / name, facts, self.interval, self.clock, keep)

    def clear(self) -> None:
        """Delete all: the results of the trainings are saved elsewhere."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # others are there
            self.folder.parent.rmdir()
        if self.copies is not None:
            self.copies.clear()


class TrainingCheckpoints:
    """The checkpoints of one training: the newest one, or its result once it is finished."""

    def __init__(
        self,
        folder: Path,
        facts: Mapping[str, Any],
        interval: float,
        clock: Callable[[], float],
        keep: Callable[[Path], None] | None = None,
    ) -> None:
        self.folder, self.interval, self.clock, self._keep = folder, interval, clock, keep
        self.facts = json.loads(_as_json(facts))
        self._newest: str | None = None
        self._saved_at = clock()

    def begin(self) -> None:
        """Start the interval; remove what a killed process left half-written."""
        self._saved_at = self.clock()
        sweep_parts(self.folder)

    def is_due(self) -> bool:
        """Whether the last checkpoint is at least ``interval`` seconds old."""
        return self.clock() - self._saved_at >= self.interval

    def save(self, step: int, evaluations: int, contents: Contents) -> bool:
        """Save a checkpoint and remove older ones; False, with a warning, where that fails."""
        name = f"step_{step:09d}_evaluation_{evaluations:06d}"
        saved = name == self._newest or self._write(name, contents)
        self._newest = name if saved else self._newest
        self._saved_at = self.clock()
        return saved

    def newest(self) -> Path | None:
        """The newest checkpoint that verifies; each one passed over is logged."""
        for path in sorted(self.folder.glob("step_*"), reverse=True):
            if self._verifies(path):
                self._newest = path.name
                return path
        return None

    def finish(self, contents: Contents) -> bool:
        """Keep the result of the training in place of its checkpoints."""
        return self._write(FINISHED, contents)

    def finished(self) -> Contents | None:
        """The result of the training, if it was finished."""
        path = self.folder / FINISHED
        return read_checkpoint(path) if path.exists() and self._verifies(path) else None

    def _write(self, name: str, contents: Contents) -> bool:
        try:
            _write_folder(self.folder / name, contents, self.facts)
        except (OSError, SafetensorError, RuntimeError) as error:  # torch.save: RuntimeError
            logger.warning("no checkpoint in %s: %s", self.folder, error)
            return False
        for path in self.folder.iterdir():
            if path.name != name and not path.name.startswith("."):
                shutil.rmtree(path, ignore_errors=True)
        return self._keep_copy()

    def _keep_copy(self) -> bool:
        try:
            if self._keep is not None:
                self._keep(self.folder)
        except Exception as error:  # noqa: BLE001 - a store raises errors of its own
            logger.warning("no copy of the checkpoint in %s: %s", self.folder, error)
            return False
        return True

    def _verifies(self, path: Path) -> bool:
        fault = find_fault(path, self.facts)
        if fault:
            logger.warning("the checkpoint %s is passed over: %s", path, fault)
        return fault is None


def read_checkpoint(path: Path) -> Contents:
    """The contents of a checkpoint by file name; tensors are on the CPU."""
    files = (file for file in path.iterdir() if file.name != MANIFEST)
    return {file.name: _READERS[file.suffix](file) for file in files}


def find_fault(path: Path, facts: Mapping[str, Any]) -> str | None:
    """Why a checkpoint cannot be used; None where it can."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        recorded, files = dict(manifest["facts"]), dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"its manifest cannot be read: {error!r}"
    if recorded != facts:
        names = sorted(recorded.keys() | facts.keys())
        other = [name for name in names if recorded.get(name) != facts.get(name)]
        return f"it is of another training: {', '.join(other)} differ"
    present = {file.name for file in path.iterdir()} - {MANIFEST}
    if missing := sorted(files.keys() ^ present):
        return f"{', '.join(missing)}: missing, or not in its manifest"
    damaged = sorted(name for name in present if _digest(path / name) != files[name])
    return f"{', '.join(damaged)}: not as written" if damaged else None


def _write_folder(target: Path, contents: Contents, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint under a temporary name, sync it, rename it."""
    temporary = part_of(target)
    try:
        temporary.mkdir(parents=True)
        for name, content in contents.items():
            _WRITERS[Path(name).suffix](content, temporary / name)
        files = {name: _digest(temporary / name) for name in contents}
        _write_json({"facts": facts, "files": files}, temporary / MANIFEST)
        sync_tree(temporary)
        shutil.rmtree(target, ignore_errors=True)  # of another training, or damaged
        temporary.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _digest(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": hash_file(path)}


def _as_json(content: Any) -> str:
    return json.dumps(content, default=lambda number: number.item())  # NumPy's numbers


def _write_json(content: Any, path: Path) -> None:
    path.write_text(_as_json(content), encoding="utf-8")


def _write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)


def _read_state(path: Path) -> Any:
    return torch.load(path, map_location="cpu", weights_only=True)


_WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".safetensors": _write_tensors,
    ".pt": torch.save,
    ".json": _write_json,
}
_READERS: dict[str, Callable[[Path], Any]] = {
    ".safetensors": load_file,
    ".pt": _read_state,
    ".json": lambda path: json.loads(path.read_bytes()),
}
