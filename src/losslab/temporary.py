"""Temporary files, named by the process that writes them; writes that survive a power failure.

``.<name>.<pid>.part`` is a file that becomes ``<name>`` when it is complete, ``losslab-<pid>-*`` a
folder of the system's temporary folder. What dead processes left is swept by the next command.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PART = re.compile(r"\..+\.(?P<pid>\d{1,10})\.part")
MANY = 100
"""Files from which on a sync of all is quicker: each one by itself waits for the disk, 2 ms here."""
SCRATCH = re.compile(r"losslab-(?P<pid>\d{1,10})-.+")


def part_of(path: Path) -> Path:
    """The temporary sibling of a file that this process writes."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def scratch_folder() -> "TemporaryDirectory[str]":
    """A temporary folder of this process, to be used in a ``with`` statement."""
    return TemporaryDirectory(prefix=f"losslab-{os.getpid()}-")


def sweep_parts(root: Path) -> list[Path]:
    """Remove ``.<name>.<pid>.part`` of dead processes anywhere below ``root``; returns what went."""
    return _sweep(
        (
            Path(folder, name)
            for folder, folders, files in os.walk(root)
            for name in (*folders, *files)
            if name.endswith(".part")
        ),
        PART,
    )


def sweep_scratch_folders(folder: Path | None = None) -> list[Path]:
    """Remove ``losslab-<pid>-*`` of dead processes from the system's temporary folder."""
    return _sweep((folder or Path(gettempdir())).iterdir(), SCRATCH)


def _sweep(paths: Iterable[Path], pattern: re.Pattern[str]) -> list[Path]:
    return [path for path in list(_abandoned(paths, pattern)) if _remove(path)]


def _abandoned(paths: Iterable[Path], pattern: re.Pattern[str]) -> Iterator[Path]:
    """The user's own files of that name whose process has ended."""
    for path in paths:
        match = pattern.fullmatch(path.name)
        try:
            if match and _is_ours(path) and not _writes(match["pid"], path):
                yield path
        except FileNotFoundError:  # finished by its process
            continue


def _is_ours(path: Path) -> bool:
    return os.name != "posix" or path.lstat().st_uid == os.getuid()


def _writes(pid: str, path: Path) -> bool:
    """Whether that process exists and is not a later one of the same id."""
    import psutil

    try:
        return bool(psutil.Process(int(pid)).create_time() <= path.lstat().st_mtime + 1)
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False


def _remove(path: Path) -> bool:
    """Remove a file or folder; False if another process was faster, or it cannot be removed."""
    try:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError:
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Write atomically and durably: after a power failure there is the old text or the new one."""
    part = part_of(path)
    part.write_text(text, encoding="utf-8")
    rename_synced(part, path)


def rename_synced(temporary: Path, path: Path) -> None:
    """Put ``temporary`` in the place of ``path``, with both on the disk when this returns."""
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)


def sync_tree(folder: Path) -> None:
    """Write every file below ``folder``, and the folders, through to the disk."""
    paths = [folder, *folder.rglob("*")]
    if len(paths) > MANY and hasattr(os, "sync"):
        os.sync()
        return
    for path in paths:
        sync(path)


def sync(path: Path) -> None:
    """Write a file or folder through to the disk."""
    if not path.is_dir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    elif os.name == "posix":
        entries = os.open(path, os.O_RDONLY)
        try:
            os.fsync(entries)
        finally:
            os.close(entries)
