"""Checked datasets: saved atomically with a manifest, loaded only if they verify."""

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import unwrap
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

import fsspec
from kedro.io import AbstractVersionedDataset, DatasetError, Version
from kedro.io.core import VersionNotFoundError, get_protocol_and_path
from safetensors import SafetensorError

from losslab.errors import Failure
from losslab.manifest import (
    MANIFEST,
    BrokenFileError,
    Lineage,
    Manifest,
    Provenance,
    hash_file,
    link_or_copy,
)
from losslab.temporary import part_of, rename_synced, write_text

T = TypeVar("T")
FAILED = "failed.txt"
"""Beside the versions: why the newest run has none."""
LATEST = "latest"
"""Folder of links to the newest versions, beside the datasets."""
logger = logging.getLogger(__name__)


class Checked:
    """Mix-in before a dataset class of one local file.

    Saving writes to a temporary sibling, syncs, renames, and writes the manifest last. Loading takes
    the newest version that verifies. A dataset that has saved or chosen a version keeps to it,
    whatever other runs write meanwhile.

    Of a versioned dataset ``folder/name/<version>/name``, the link ``folder/latest/name`` is the
    newest version. It is outside ``folder/name``, where Kedro would take it for a version.

    Attributes:
        provenance: what the next save writes into the manifest; the runner sets it.
    """

    _filepath: PurePosixPath
    _version: Version | None
    _temporary: PurePosixPath | None = None
    _pinned: str | None = None
    resolve_save_version: Callable[[], str | None]
    provenance = Provenance()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._verified: dict[Path, tuple[int, ...]] = {}

    @property
    def latest(self) -> Path:
        """Stable path of the newest version; without versions, of the file itself."""
        path = Path(self._filepath)
        return path.parent / LATEST / path.name if self._version else path

    @property
    def manifest(self) -> Manifest:
        """The manifest of the version this dataset loads."""
        return Manifest.read(self._load_file())

    def versions(self) -> list[str]:
        """All versions, newest first; the only one of an unversioned dataset is ``""``."""
        path = Path(self._filepath)
        if not self._version:
            return [""] if path.is_file() else []
        files = [*path.glob(f"*/{path.name}"), *path.glob(f"*/{MANIFEST}")]
        return sorted({file.parent.name for file in files}, reverse=True)

    def file(self, version: str) -> Path:
        """The file of a version."""
        path = Path(self._filepath)
        return path / version / path.name if version else path

    def verified(self, version: str) -> Manifest:
        """The manifest of a version whose file agrees with it; BrokenFileError if it does not."""
        file = self.file(version)
        manifest = Manifest.read(file)
        try:
            facts = file.stat()
        except OSError as error:
            raise BrokenFileError(f"{file} cannot be read: {error.strerror}") from None
        state = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
        if self._verified.get(file) != state:  # hash it once
            manifest.verify(file)
            self._verified[file] = state
        return manifest

    def pin(self, version: str) -> None:
        """Load this version from now on."""
        self._pinned = version

    def adopt(self, version: str, lineage: Lineage | None = None) -> None:
        """Load an earlier version from now on; with a ``lineage``, as a new version made of that."""
        if self._version and lineage is not None:
            adopted = str(self.resolve_save_version())
            self.file(adopted).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(self.file(version), self.file(adopted))
            manifest = Manifest.read(self.file(version))
            made = replace(manifest.provenance, lineage=lineage)
            replace(manifest, provenance=made).write(self.file(adopted))
            version = adopted
        self._use(version)

    def mark_failed(self, failure: Failure) -> None:
        """Note that the newest run failed to make this: an older version is not its result."""
        folder = Path(self._filepath)
        if self._version and folder.is_dir():
            try:
                write_text(folder / FAILED, f"{failure.node} failed: {failure.reason}")
            except OSError as error:
                logger.warning("%s: that it failed cannot be noted: %s", folder, error.strerror)

    @property
    def failure(self) -> str:
        """Why the newest run failed to make this; empty if it did not."""
        file = Path(self._filepath, FAILED)
        return file.read_text(encoding="utf-8") if self._version and file.is_file() else ""

    def _use(self, version: str) -> None:
        """Load ``version`` from now on, and point ``latest`` to the newest."""
        self.pin(version)
        if self._version:
            Path(self._filepath, FAILED).unlink(missing_ok=True)
            files = (self.file(each) for each in self.versions())
            replace_link(self.latest, next(file for file in files if file.is_file()))

    def load(self) -> Any:
        """Load the pinned version, else the newest one that verifies."""
        parent: Any = super()
        try:
            self.verified(self.resolve_load_version() or "")
        except BrokenFileError as error:
            raise DatasetError(str(error)) from None
        return unwrap(parent.load)(self)

    def save(self, data: Any) -> None:
        """Save ``data`` and its manifest, and point ``latest`` to it."""
        parent: Any = super()
        final = Path(self._get_save_path())
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = part_of(final)
        self._temporary = PurePosixPath(temporary)
        try:
            with system_errors():
                unwrap(parent.save)(self, data)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            self._temporary = None
        manifest = Manifest(hash_file(temporary), temporary.stat().st_size, self.provenance)
        rename_synced(temporary, final)
        manifest.write(final)
        self._use(final.parent.name if self._version else "")

    def resolve_load_version(self) -> str | None:
        """The version to load: the requested, the pinned, or the newest that verifies."""
        if not self._version:
            return None
        if self._version.load:
            return str(self._version.load)
        if self._pinned is None:
            self.pin(self._newest_verified())
        return self._pinned

    def _newest_verified(self) -> str:
        for version in self.versions():
            try:
                self.verified(version)
            except BrokenFileError as error:
                logger.warning("passed over: %s", error)
            else:
                return version
        raise VersionNotFoundError(f"Did not find any versions for {self}")

    def _load_file(self) -> Path:
        return self.file(self.resolve_load_version() or "")

    def _get_save_path(self) -> PurePosixPath:
        parent: Any = super()
        path: PurePosixPath = self._temporary or parent._get_save_path()
        return path


class FileDataset(AbstractVersionedDataset[T, T], Generic[T]):
    """A versioned local file; subclasses implement ``read`` and ``write`` of a path."""

    def __init__(
        self,
        *,
        filepath: str,
        version: Version | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        protocol, path = get_protocol_and_path(filepath, version)
        self._fs = fsspec.filesystem(protocol, auto_mkdir=True)
        self.metadata = metadata
        super().__init__(
            filepath=PurePosixPath(path),
            version=version,
            exists_function=self._fs.exists,
            glob_function=self._fs.glob,
        )

    def read(self, path: Path) -> T:
        """Read the file at ``path``."""
        raise NotImplementedError

    def write(self, path: Path, data: T) -> None:
        """Write ``data`` to a new file at ``path``."""
        raise NotImplementedError

    def load(self) -> T:
        """Read the newest version, or the requested one."""
        return self.read(Path(self._get_load_path()))

    def save(self, data: T) -> None:
        """Write a new version."""
        self.write(Path(self._get_save_path()), data)

    def _exists(self) -> bool:
        return Path(self._get_load_path()).exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath, "version": self._version}


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise OSError for what safetensors tells as text: ``No space left on device (os error 28)``."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def replace_link(link: Path, target: Path) -> None:
    """Make ``link`` a relative symlink to ``target``, or a copy of it, atomically."""
    link.parent.mkdir(parents=True, exist_ok=True)
    temporary = part_of(link)
    temporary.unlink(missing_ok=True)
    try:
        temporary.symlink_to(os.path.relpath(target, link.parent))
    except OSError:  # a file system without symlinks
        shutil.copyfile(target, temporary)
    temporary.replace(link)
