"""Atomic saving: readers see the old file or the new one, never a part."""

import os
import shutil
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

import fsspec
from kedro.io import AbstractVersionedDataset, Version
from kedro.io.core import get_filepath_str, get_protocol_and_path

T = TypeVar("T")
LATEST = "latest"
"""Folder of links to the newest versions, beside the datasets."""


class AtomicSave:
    """Mix-in before a versioned dataset class: writes to a temporary name, then renames.

    A process killed while saving leaves a file that no reader opens. Of a versioned dataset
    ``folder/name/<version>/name``, the link ``folder/latest/name`` is the newest version. It is
    outside ``folder/name``, where Kedro would take it for a version.
    """

    _filepath: PurePosixPath
    _version: Version | None
    _get_versions: Callable[[], list[str]]
    _fs: Any
    _protocol: str
    _temporary: PurePosixPath | None = None

    @property
    def latest(self) -> Path:
        """Stable path of the newest version; without versions, of the file itself."""
        path = Path(self._filepath)
        return path.parent / LATEST / path.name if self._version else path

    def save(self, data: Any) -> None:
        """Save ``data`` atomically and point ``latest`` to it."""
        parent: Any = super()
        final = self._get_save_path()
        self._temporary = final.with_name(f".{final.name}.part")
        try:
            unwrap(parent.save)(self, data)
            temporary = get_filepath_str(self._temporary, self._protocol)
        finally:
            self._temporary = None
        self._fs.mv(temporary, get_filepath_str(final, self._protocol))
        if self._version and self._protocol == "file":
            _replace_link(self.latest, Path(self._get_versions()[0]))

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
        self._protocol, path = get_protocol_and_path(filepath, version)
        self._fs = fsspec.filesystem(self._protocol, auto_mkdir=True)
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
        path = Path(self._get_save_path())
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(path, data)

    def _exists(self) -> bool:
        return Path(self._get_load_path()).exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath, "version": self._version}


def _replace_link(link: Path, target: Path) -> None:
    """Make ``link`` a relative symlink to ``target``, or a copy of it, atomically."""
    link.parent.mkdir(parents=True, exist_ok=True)
    temporary = link.with_name(f".{link.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    try:
        temporary.symlink_to(os.path.relpath(target, link.parent))
    except OSError:  # a file system without symlinks
        shutil.copyfile(target, temporary)
    temporary.replace(link)
