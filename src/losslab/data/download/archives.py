"""Archives, unpacked so that no member lands outside their folder."""

import bz2
import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PureWindowsPath
from typing import IO, NamedTuple

SINGLE: dict[str, Callable[..., IO[bytes]]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}
"""Compressed files that hold one file."""
TARS = (".tar", ".tgz", ".txz", *(f".tar{suffix}" for suffix in SINGLE))
LIMIT = 16 * 2**30
"""Bytes an archive may unpack to; the largest of our datasets takes five thousand million."""
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,  # zipfile, on a compression it does not know
    RuntimeError,  # zipfile, on a password
)
LITTER = ("__MACOSX", ".DS_Store")


class ArchiveError(Exception):
    """An archive that is broken or not to be trusted."""


class Member(NamedTuple):
    """A member of an archive; ``open`` is None for a folder."""

    name: str
    open: Callable[[], IO[bytes]] | None


def is_archive(name: str) -> bool:
    """Whether a file of that name is unpacked.

    >>> is_archive("reuters21578.tar.gz"), is_archive("train.tsv")
    (True, False)
    """
    return name.lower().endswith((".zip", *TARS, *SINGLE))


def unpack(archive: Path, folder: Path, limit: int = LIMIT) -> Path:
    """Unpack into the new ``folder``; the only folder at an archive's top is what is returned.

    Raises:
        ArchiveError: a member is outside the folder, a link or a device, the bytes are more than
            ``limit``, or the archive is broken; ``folder`` is then to be thrown away.
    """
    folder.mkdir(parents=True)
    left = limit
    try:
        for member in _members(archive):
            left -= _write(member, folder, left)
    except (*BROKEN, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the disk's fault, not the archive's
            raise
        raise ArchiveError(
            f"{archive.name} is not a whole archive: {_why(archive, error)}"
        ) from error
    inside = list(folder.iterdir())
    if not inside or not archive.stat().st_size:
        raise ArchiveError(f"{archive.name} is not a whole archive: it is empty")
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


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


def _write(member: Member, folder: Path, left: int) -> int:
    """Write a member; returns its bytes, which are counted as they come, not as they are declared."""
    path = _inside(folder, member.name)
    if path is None:
        return 0
    if member.open is None:
        path.mkdir(parents=True, exist_ok=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with member.open() as source, path.open("wb") as target:
        while chunk := source.read(2**18):
            if target.tell() + len(chunk) > left:
                raise ArchiveError(_refused(member.name, "makes it larger than the limit"))
            target.write(chunk)
        return target.tell()


def _inside(folder: Path, name: str) -> Path | None:
    """The path of a member, None for what desktops leave in archives."""
    path = PureWindowsPath(name)  # splits at both kinds of slash and knows drives
    if path.drive or path.root or ".." in path.parts or "\0" in name:
        raise ArchiveError(_refused(name, "would land outside the folder"))
    if not path.parts or path.parts[0] in LITTER or path.name in LITTER:
        return None
    return folder / name


def _refused(name: str, reason: str) -> str:
    return f"the archive is refused: its member {name[:200]!r} {reason}"


def _why(archive: Path, error: Exception) -> str:
    with archive.open("rb") as file:
        start = file.read(64).lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "the server sent a web page"
    return str(error) or "it ends too early"


def merge(folder: Path, target: Path, wanted: str = "") -> None:
    """Move what is in ``folder``, or in the folder ``wanted`` of it, into ``target``."""
    if not (folder / wanted).is_dir():
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:10])
        raise ArchiveError(f"the archive has no folder {wanted}, found {found}")
    for path in (folder / wanted).iterdir():
        shutil.move(path, target / path.name)
