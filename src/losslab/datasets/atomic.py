"""Saving that is seen whole or not at all."""

from collections.abc import Callable
from inspect import unwrap
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

import fsspec
from kedro.io import AbstractVersionedDataset, Version
from kedro.io.core import get_filepath_str, get_protocol_and_path

T = TypeVar("T")


class AtomicSave:
    """Mix-in before a versioned dataset class: writes beside the file, then renames it into place.

    A process killed while saving leaves a file whose name no reader looks for.
    """

    _get_save_path: Callable[[], PurePosixPath]
    _fs: fsspec.AbstractFileSystem
    _protocol: str

    def save(self, data: Any) -> None:
        """Save ``data``; readers see the old state or the new one."""
        final = super()._get_save_path()  # type: ignore[misc]
        part = final.with_name(f".{final.name}.part")
        self._get_save_path = lambda: part  # type: ignore[method-assign]
        try:
            unwrap(super().save)(self, data)  # type: ignore[misc]
        finally:
            del self._get_save_path
        self._fs.mv(get_filepath_str(part, self._protocol), get_filepath_str(final, self._protocol))


class FileDataset(AbstractVersionedDataset[T, T], Generic[T]):
    """A versioned file on a local disk; subclasses say how to read and write a path."""

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
        """The content of the file at ``path``."""
        raise NotImplementedError

    def write(self, path: Path, data: T) -> None:
        """Write ``data`` to a new file at ``path``."""
        raise NotImplementedError

    def load(self) -> T:
        """Read the newest version, or the one asked for."""
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
