"""Tasks for workers that do not share the data's folder: their files travel through a store.

The store is a folder or an object store that fsspec knows (``s3://bucket/folder``). Files lie there
under their sha256, so that each is sent once; the parent's catalog stays where it is.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fsspec
from kedro.pipeline.node import Node

from losslab.datasets.checked import Checked
from losslab.datasets.folders import CheckpointsDataset, FolderDataset
from losslab.manifest import MANIFEST, BrokenFileError, Manifest, hash_file, link_or_copy
from losslab.runners.tasks import NodeTask, Outcome
from losslab.temporary import part_of, rename_synced, scratch_folder, sweep_scratch_folders

CHECKPOINTS, FAILURES = "checkpoints", "failures"


@dataclass(frozen=True)
class Store:
    """A folder, here or on an object store."""

    url: str

    def put(self, file: Path, name: str) -> None:
        """Copy a file into the store."""
        fs, path = self._locate(name)
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        fs.put_file(str(file), path)

    def get(self, name: str, file: Path) -> None:
        """Copy a file out of the store, atomically."""
        fs, path = self._locate(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        fs.get_file(path, str(part_of(file)))
        rename_synced(part_of(file), file)

    def put_content(self, file: Path, digest: str) -> None:
        """Copy a file into the store under its sha256, unless it is there."""
        fs, path = self._locate(digest)
        if not fs.exists(path) or fs.size(path) != file.stat().st_size:
            self.put(file, digest)

    def get_content(self, digest: str, file: Path) -> None:
        """Copy the file of that sha256 out of the store; raise BrokenFileError if it is another."""
        self.get(digest, file)
        if hash_file(file) != digest:
            file.unlink()
            raise BrokenFileError(f"{self.url}/{digest} is broken: its content has another sha256")

    def put_folder(self, folder: Path, name: str) -> None:
        """Copy a folder into the store, manifests last; what it no longer holds is removed."""
        fs, root = self._locate(name)
        before = set(fs.find(root))
        files = [file for file in folder.rglob("*") if file.is_file()]
        for file in sorted(files, key=lambda each: each.name == MANIFEST):
            self.put(file, f"{name}/{file.relative_to(folder)}")
        stale = before - {f"{root}/{file.relative_to(folder)}" for file in files}
        if stale:
            fs.rm(sorted(stale))

    def get_folder(self, name: str, folder: Path) -> None:
        """Copy a folder out of the store; nothing where there is none."""
        fs, root = self._locate(name)
        for path in fs.find(root):
            below = path.removeprefix(root).lstrip("/")
            self.get(f"{name}/{below}", folder / below)

    def remove(self, name: str) -> None:
        """Remove a folder and all it holds, if it is there."""
        fs, path = self._locate(name)
        if fs.exists(path):
            fs.rm(path, recursive=True)

    def _locate(self, name: str) -> tuple[Any, str]:
        fs, root = fsspec.url_to_fs(self.url)  # fsspec keeps one for each address
        fs.invalidate_cache()  # other machines write here, too
        return fs, f"{root.rstrip('/')}/{name}"


@dataclass(frozen=True)
class CheckpointCopies:
    """Where the checkpoints of a configuration lie in a store: a node of a cluster may be lost."""

    store: Store
    key: str

    def fetch(self, folder: Path) -> None:
        """Copy the checkpoints of all its trainings to ``folder``."""
        self.store.get_folder(self._name(), folder)

    def keep(self, folder: Path, training: Path) -> None:
        """Copy those of one training, of which ``folder`` holds those of all."""
        self.store.put_folder(training, f"{self._name()}/{training.relative_to(folder)}")

    def clear(self) -> None:
        """Remove all: the results of the trainings are saved elsewhere."""
        self.store.remove(self._name())

    def _name(self) -> str:
        return f"{CHECKPOINTS}/{self.key}"


@dataclass(frozen=True)
class StoredTask:
    """A task and the store that its files travel through.

    Attributes:
        inputs: by dataset, the version to read and its manifest.
        name: unique to the task; its outputs are found by it.
    """

    task: NodeTask
    store: Store
    inputs: dict[str, tuple[str, Manifest]]
    name: str

    @property
    def node(self) -> Node:
        """The node to compute."""
        return self.task.node

    @property
    def publishes(self) -> bool:
        """Whether training events are sent."""
        return self.task.publishes

    @classmethod
    def send(cls, task: NodeTask, store: Store, name: str) -> "StoredTask":
        """Put the files that a task reads into the store."""
        inputs = {}
        for dataset_name in task.node.inputs:
            dataset = task.datasets.get(dataset_name)
            if isinstance(dataset, Checked):
                version = dataset.resolve_load_version() or ""
                manifest = dataset.verified(version)
                store.put_content(dataset.file(version), manifest.sha256)
                inputs[dataset_name] = (version, manifest)
        return cls(task, store, inputs, name)

    def run(self) -> None:
        """On the worker: fetch what the task reads, compute, put what it makes into the store."""
        with scratch_folder() as folder:
            datasets = {
                name: relocated(dataset, Path(folder))
                for name, dataset in self.task.datasets.items()
            }
            self._fetch(datasets)
            local = replace(self.task, datasets=datasets)
            try:
                local.run()
            finally:
                for failures in _folders(datasets):
                    if failures.is_dir():
                        self.store.put_folder(failures, f"{FAILURES}/{self.name}")
            for name in self.node.outputs if self.task.saves else ():
                file = datasets[name].file(str(datasets[name].resolve_save_version()))
                self.store.put_content(file, datasets[name].manifest.sha256)
                self.store.put(file.with_name(MANIFEST), f"{self.name}/{name}.json")

    def _fetch(self, datasets: dict[str, Any]) -> None:
        for name, (version, manifest) in self.inputs.items():
            cached = Path(_cache_folder().name, manifest.sha256)
            if not cached.exists():
                self.store.get_content(manifest.sha256, cached)
            file = datasets[name].file(version)
            file.parent.mkdir(parents=True)
            link_or_copy(cached, file)
            manifest.write(file)
        for dataset in datasets.values():
            if isinstance(dataset, CheckpointsDataset):
                CheckpointCopies(self.store, dataset.key).fetch(dataset.load().folder)

    def receive(self, outcome: Outcome) -> None:
        """In the parent: put what the task made in the place that the catalog says."""
        for folder in _folders(self.task.datasets):
            self.store.get_folder(f"{FAILURES}/{self.name}", folder)
        for name in self.node.outputs if self.task.saves and outcome.error is None else ():
            dataset: Checked = self.task.datasets[name]
            version = str(dataset.resolve_save_version())
            file = dataset.file(version)
            self.store.get(f"{self.name}/{name}.json", file.with_name(MANIFEST))
            self.store.get_content(Manifest.read(file).sha256, file)
            dataset.adopt(version)
        self.store.remove(self.name)
        self.store.remove(f"{FAILURES}/{self.name}")


def relocated(dataset: Any, root: Path) -> Any:
    """A copy of a dataset whose files lie below ``root``."""
    moved = copy(dataset)
    attribute = "_filepath" if isinstance(dataset, Checked) else "_folder"
    path = getattr(dataset, attribute)
    setattr(moved, attribute, type(path)(root, *path.parts[1:]))
    if isinstance(dataset, Checked):
        moved._verified = {}
    return moved


def _folders(datasets: dict[str, Any]) -> Iterator[Path]:
    """Folders that nodes write to beside their outputs: of failed trainings."""
    return (each.load() for each in datasets.values() if isinstance(each, FolderDataset))


@cache
def _cache_folder() -> TemporaryDirectory[str]:
    """Files that this process has fetched; gone when it ends."""
    sweep_scratch_folders()
    return scratch_folder()
