"""Safe extraction of archives: no member outside the folder, no links, no devices."""

import bz2
import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

SINGLE: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}
"""Formats of a single compressed file."""
TARS = (".tar", ".tgz", ".txz", *(f".tar{suffix}" for suffix in SINGLE))
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,  # zipfile: unknown compression
    RuntimeError,  # zipfile: password
)
LITTER = ("__MACOSX", ".DS_Store")


@dataclass(frozen=True)
class Limits:
    """What an archive may hold; the defaults leave room beyond the largest dataset.

    Attributes:
        size: bytes extracted; the largest dataset takes 5 GB.
        members: files and folders; the largest dataset has 100,000.
        ratio: bytes extracted per byte of the archive, above ``always_allowed``.
        always_allowed: bytes that any archive may extract to; small ones compress well by chance.
    """

    size: int = 16 * 2**30
    members: int = 1_000_000
    ratio: float = 200.0
    always_allowed: int = 100 * 2**20

    def allowed_size(self, archive: Path) -> int:
        """Bytes that this archive may extract to."""
        compressed = archive.stat().st_size
        return min(self.size, max(self.always_allowed, int(self.ratio * compressed)))


LIMITS = Limits()


class ArchiveError(Exception):
    """A corrupt or unsafe archive."""


class Member(NamedTuple):
    """A member of an archive; ``open`` is None for a directory."""

    name: str
    open: Callable[[], Any] | None


def is_archive(name: str) -> bool:
    """Whether a file of that name is extracted.

    >>> is_archive("reuters21578.tar.gz"), is_archive("train.tsv")
    (True, False)
    """
    return name.lower().endswith((".zip", *TARS, *SINGLE))


def unpack(archive: Path, folder: Path, limits: Limits = LIMITS) -> Path:
    """Extract into the new ``folder``; returns it, or the single top-level folder in it.

    Raises:
        ArchiveError: a member is outside the folder, a link or a device, the content exceeds
            ``limits``, or the archive is corrupt; ``folder`` is then incomplete.
    """
    folder.mkdir(parents=True)
    remaining = limits.allowed_size(archive)
    try:
        for number, member in enumerate(_members(archive), 1):
            if number > limits.members:
                raise ArchiveError(
                    f"the archive is refused: it has more than {limits.members:,} members"
                )
            remaining -= _write(member, folder, remaining)
    except (*BROKEN, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # a disk error
            raise
        raise ArchiveError(
            f"{archive.name} is not a complete archive: {_cause(archive, error)}"
        ) from error
    entries = list(folder.iterdir())
    if not entries or not archive.stat().st_size:
        raise ArchiveError(f"{archive.name} is not a complete archive: it is empty")
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _members(archive: Path) -> Iterator[Member]:
    name = archive.name.lower()
    if name.endswith(".zip"):
        return _zip_members(archive)
    if name.endswith(TARS):
        return _tar_members(archive)
    suffix = next(suffix for suffix in SINGLE if name.endswith(suffix))
    return iter([Member(archive.name[: -len(suffix)], lambda: SINGLE[suffix](archive))])


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ArchiveError(_refused(info.filename, "is a link or a device"))
            opened = None if info.is_dir() else lambda info=info: file.open(info)
            yield Member(info.filename, opened)


def _tar_members(archive: Path) -> Iterator[Member]:
    with tarfile.open(archive) as file:
        for info in file:
            if not (info.isfile() or info.isdir()):
                raise ArchiveError(_refused(info.name, "is a link or a device"))
            opened = None if info.isdir() else lambda info=info: file.extractfile(info)
            yield Member(info.name, opened)


def _write(member: Member, folder: Path, limit: int) -> int:
    """Write a member; returns its true size, which may differ from the declared one."""
    path = _inside(folder, member.name)
    if path is None:
        return 0
    if member.open is None:
        path.mkdir(parents=True, exist_ok=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with member.open() as source, path.open("wb") as target:
        while chunk := source.read(2**18):
            if target.tell() + len(chunk) > limit:
                raise ArchiveError(
                    _refused(member.name, "makes it larger than the limit of its size or ratio")
                )
            target.write(chunk)
        return target.tell()


def _inside(folder: Path, name: str) -> Path | None:
    """The path of a member; None for desktop metadata."""
    path = PureWindowsPath(name)  # handles both slashes and drives
    if path.drive or path.root or ".." in path.parts or "\0" in name:
        raise ArchiveError(_refused(name, "would land outside the folder"))
    if not path.parts or path.parts[0] in LITTER or path.name in LITTER:
        return None
    return folder / name


def _refused(name: str, reason: str) -> str:
    return f"the archive is refused: its member {name[:200]!r} {reason}"


def _cause(archive: Path, error: Exception) -> str:
    with archive.open("rb") as file:
        start = file.read(64).lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "the server sent a web page"
    return str(error) or "unexpected end of file"


def merge(folder: Path, target: Path, subfolder: str = "") -> None:
    """Move the content of ``folder``, or of its subfolder ``subfolder``, into ``target``."""
    if not (folder / subfolder).is_dir():
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:10])
        raise ArchiveError(f"the archive has no folder {subfolder}, found {names}")
    for path in (folder / subfolder).iterdir():
        shutil.move(path, target / path.name)
