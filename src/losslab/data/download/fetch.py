"""Getting the raw files of a dataset: from a mirror, its publisher, or with words of advice.

The folder of a dataset appears whole or not at all. Downloads lie in a hidden folder beside it until
then, so that an interrupted fetch goes on where it stopped.
"""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from losslab.data.download.archives import ArchiveError, is_archive, merge, unpack
from losslab.data.download.origins import (
    ByHandError,
    Downloads,
    FetchOptions,
    from_mirror,
    from_publisher,
)
from losslab.data.download.raw_folder import is_there, origin_file
from losslab.data.download.sources import SOURCES
from losslab.errors import FetchError

__all__ = ["ByHandError", "FetchOptions", "fetch"]

logger = logging.getLogger(__name__)
DEFAULT_WAYS = FetchOptions()
DOWNLOADS, REPLACED = "downloads", "replaced"


def fetch(
    dataset: str, raw: Path, ways: FetchOptions = DEFAULT_WAYS, *, force: bool = False
) -> Path | None:
    """The folder ``raw/<dataset>`` with its raw files; None where a dataset needs none.

    Raises:
        ByHandError: the data are behind a log-in or a licence.
        FetchError: they could not be had.
    """
    source, folder = SOURCES[dataset], raw / dataset
    if source.ready:
        logger.info("%s: nothing to fetch, it %s", dataset, source.ready)
        return None
    if is_there(folder) and not force:
        logger.info("%s: already at %s (--force fetches it again)", dataset, folder)
        return folder
    with _explained(dataset), _working_folder(folder, afresh=force) as work:
        found = from_mirror(dataset, ways, work / DOWNLOADS)
        downloads, origin = found or from_publisher(dataset, folder, ways, work / DOWNLOADS)
        files = _raw_files(downloads, work, ways.limit)
        origin_file(folder).write_text(json.dumps(asdict(origin), indent=2), encoding="utf-8")
        _put_in_place(files, folder)
        shutil.rmtree(work / DOWNLOADS, ignore_errors=True)
    return folder


@contextmanager
def _explained(dataset: str) -> Iterator[None]:
    """Turn what may go wrong into one line."""
    from losslab.data.download.http import DownloadError

    try:
        yield
    except DownloadError as error:
        advice = "call the same command again to go on, or see docs/data.md"
        raise FetchError(f"{dataset}: {error}; {advice}") from error
    except (ArchiveError, OSError) as error:
        raise FetchError(f"{dataset}: {error}; nothing was put in place") from error


@contextmanager
def _working_folder(folder: Path, *, afresh: bool) -> Iterator[Path]:
    """A hidden folder beside the dataset's own, for one process at a time.

    What was downloaded stays in it after a failure; what was unpacked does not.
    """
    work = folder.with_name(f".{folder.name}.part")
    (work / DOWNLOADS).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(work / ".lock", timeout=0):
            _restore(folder, work)
            _tidy(work, keep_downloads=not afresh)
            try:
                yield work
            finally:
                _tidy(work)
                if not any(path.stat().st_size for path in work.rglob("*") if path.is_file()):
                    shutil.rmtree(work)
    except Timeout:
        raise FetchError(f"another command fetches {folder.name} into {work}; wait") from None


def _tidy(work: Path, *, keep_downloads: bool = True) -> None:
    for path in work.iterdir():
        if path.is_symlink():
            path.unlink()
        elif path.is_dir() and not (path.name == DOWNLOADS and keep_downloads):
            shutil.rmtree(path)


def _raw_files(downloads: Downloads, work: Path, limit: int) -> Path:
    """A folder with the files and what is in the archives; a broken download is thrown away."""
    files = work / "files"
    files.mkdir()
    for download, wanted in downloads.items():
        if not is_archive(download.name):
            shutil.copy(download, files)
            continue
        try:
            merge(unpack(download, work / "unpacked", limit), files, wanted)
        except ArchiveError:
            if work in download.parents:  # so that the next call gets it anew
                download.unlink()
            raise
        shutil.rmtree(work / "unpacked")
    return files


def _put_in_place(files: Path, folder: Path) -> None:
    """Rename the folder into place; old files go only when the new ones are there."""
    if folder.exists():
        folder.rename(files.with_name(REPLACED))
    try:
        files.rename(folder)
    except BaseException:
        _restore(folder, files.parent)
        raise


def _restore(folder: Path, work: Path) -> None:
    """Put old files back that were to be replaced when a fetch was killed."""
    if (work / REPLACED).exists() and not folder.exists():
        (work / REPLACED).rename(folder)
