"""Fetch the raw files of a dataset from a mirror or its publisher.

The folder of a dataset is created atomically. Until then downloads are kept in a hidden folder beside
it, so that an interrupted fetch resumes.
"""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from losslab.data.download.archives import ArchiveError, Limits, is_archive, merge, unpack
from losslab.data.download.checksums import check_repacked, report_unchecked
from losslab.data.download.origins import (
    ByHandError,
    Downloads,
    FetchOptions,
    from_mirror,
    from_publisher,
)
from losslab.data.download.raw_folder import advice, has_files, origin_file
from losslab.data.download.sources import SOURCES
from losslab.errors import FetchError
from losslab.temporary import sync, sync_tree, write_text

__all__ = ["ByHandError", "FetchOptions", "fetch"]

logger = logging.getLogger(__name__)
DEFAULT_OPTIONS = FetchOptions()
DOWNLOADS, REPLACED = "downloads", "replaced"


def fetch(
    dataset: str, raw: Path, options: FetchOptions = DEFAULT_OPTIONS, *, force: bool = False
) -> Path | None:
    """Fetch into ``raw/<dataset>`` and return this folder; None for a dataset without raw files.

    Raises:
        ByHandError: a log-in or a licence is required.
        FetchError: the download failed.
    """
    source, folder = SOURCES[dataset], raw / dataset
    if source.ready:
        logger.info("%s: nothing to fetch, it %s", dataset, source.ready)
        return None
    if has_files(folder) and not force:
        if source.folder and not has_files(folder / source.folder):
            raise ByHandError(
                f"{dataset}: {folder / source.folder} has no files; {advice(dataset, folder)}"
            )
        logger.info("%s: already at %s (--force fetches it again)", dataset, folder)
        return folder
    with _translate_errors(dataset), _working_folder(folder, clean=force) as work:
        mirrored = from_mirror(dataset, options, work / DOWNLOADS)
        downloads, origin = mirrored or from_publisher(dataset, folder, options, work / DOWNLOADS)
        files = _raw_files(downloads, work, options.limits)
        if mirrored and not origin.sample:
            origin.checked.extend(check_repacked(dataset, files))
        if mirrored:
            report_unchecked(dataset, next(iter(origin.sha256)), files, origin.checked)
        sync_tree(files)
        write_text(origin_file(folder), json.dumps(asdict(origin), indent=2))
        _install(files, folder)
        shutil.rmtree(work / DOWNLOADS, ignore_errors=True)
    return folder


@contextmanager
def _translate_errors(dataset: str) -> Iterator[None]:
    """Raise download, archive and disk errors as FetchError."""
    from losslab.data.download.http import DownloadError

    try:
        yield
    except DownloadError as error:
        advice = "repeat the command to resume, or see docs/data.md"
        raise FetchError(f"{dataset}: {error}; {advice}") from error
    except (ArchiveError, OSError) as error:
        raise FetchError(f"{dataset}: {error}; no files were installed") from error


@contextmanager
def _working_folder(folder: Path, *, clean: bool) -> Iterator[Path]:
    """A locked, hidden folder beside the dataset's; after a failure it keeps the downloads."""
    work = folder.with_name(f".{folder.name}.part")
    (work / DOWNLOADS).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(work / ".lock", timeout=0):
            _restore(folder, work)
            _clean_up(work, keep_downloads=not clean)
            try:
                yield work
            finally:
                _clean_up(work)
                if not any(path.stat().st_size for path in work.rglob("*") if path.is_file()):
                    shutil.rmtree(work)
    except Timeout:
        raise FetchError(f"another command is fetching {folder.name} into {work}") from None


def _clean_up(work: Path, *, keep_downloads: bool = True) -> None:
    for path in work.iterdir():
        if path.is_symlink():
            path.unlink()
        elif path.is_dir() and not (path.name == DOWNLOADS and keep_downloads):
            shutil.rmtree(path)


def _raw_files(downloads: Downloads, work: Path, limits: Limits) -> Path:
    """A folder of the files and the archives' contents; a corrupt download is deleted."""
    files = work / "files"
    files.mkdir()
    for download, subfolder in downloads.items():
        if not is_archive(download.name):
            shutil.copy(download, files)
            continue
        try:
            merge(unpack(download, work / "unpacked", limits), files, subfolder)
        except ArchiveError:
            if work in download.parents:  # to be downloaded again
                download.unlink()
            raise
        shutil.rmtree(work / "unpacked")
    return files


def _install(files: Path, folder: Path) -> None:
    """Rename the folder into place; old files are restored if that fails."""
    if folder.exists():
        folder.rename(files.with_name(REPLACED))
    try:
        files.rename(folder)
    except BaseException:
        _restore(folder, files.parent)
        raise
    sync(folder.parent)


def _restore(folder: Path, work: Path) -> None:
    """Restore old files after a fetch that was killed while replacing them."""
    if (work / REPLACED).exists() and not folder.exists():
        (work / REPLACED).rename(folder)
