"""Getting the raw files of a dataset: from a mirror, its publisher, or with words of advice.

The folder of a dataset appears whole or not at all. Downloads lie in a hidden folder beside it until
then, so that an interrupted fetch goes on where it stopped.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from losslab.corpora.archives import LIMIT, ArchiveError, is_archive, merge, unpack
from losslab.corpora.sources import SOURCES, Download, Source

logger = logging.getLogger(__name__)


class FetchError(Exception):
    """A dataset that could not be fetched: what, where, and what to do."""


class ByHandError(FetchError):
    """A dataset that a user has to get; the message has the steps."""


@dataclass(frozen=True)
class Ways:
    """How to reach the web, and whether to go elsewhere first.

    Attributes:
        mirror: a folder or address of ``<dataset>.tar.xz`` and ``samples/<dataset>.tar.xz``.
        timeout: seconds without an answer or a byte.
        retries: how often to try again after the first failure.
        limit: bytes an archive may unpack to.
        progress: whether to draw a bar.
    """

    mirror: str | None = None
    timeout: float = 30.0
    retries: int = 3
    limit: int = LIMIT
    progress: bool = False

    def download(self, wanted: Download, folder: Path) -> Path:
        """The file at one of its addresses."""
        from losslab.corpora.download import download  # pooch and requests, needed only here

        settings = {"timeout": self.timeout, "retries": self.retries, "progress": self.progress}
        return download(wanted, folder, **settings)


@dataclass(frozen=True)
class Origin:
    """Where the raw files of a dataset were taken from."""

    place: str
    sample: bool
    sha256: dict[str, str]


DEFAULT_WAYS = Ways()
DOWNLOADS = "downloads"


def fetch(
    dataset: str, raw: Path, ways: Ways = DEFAULT_WAYS, *, force: bool = False
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
    with _explained(dataset), _working_folder(raw, dataset, afresh=force) as work:
        found = _from_mirror(dataset, ways, work)
        downloads, origin = found or _from_publisher(dataset, folder, ways, work)
        _put_in_place(_raw_files(downloads, work, ways.limit), folder)
        _origin_file(folder).write_text(json.dumps(asdict(origin), indent=2), encoding="utf-8")
        shutil.rmtree(work / DOWNLOADS, ignore_errors=True)
    return folder


def is_there(folder: Path) -> bool:
    """Whether a dataset's folder has anything in it."""
    return folder.is_dir() and any(folder.iterdir())


def is_sample(folder: Path) -> bool:
    """Whether what lies there was fetched as a sample."""
    try:
        return is_there(folder) and bool(json.loads(_origin_file(folder).read_text())["sample"])
    except (OSError, ValueError, KeyError):
        return False


def advice(dataset: str, folder: Path) -> str:
    """What to do to get a dataset.

    >>> advice("reuters", Path("data/01_raw/reuters"))
    'kedro fetch reuters'
    """
    source = SOURCES[dataset]
    if source.way != "by hand":
        return f"kedro fetch {dataset}"
    steps = "".join(
        f"\n  {number}. {step.format(folder=folder)}" for number, step in enumerate(source.steps, 1)
    )
    return f"it has to be fetched by hand (licence: {source.licence}; more in docs/data.md):{steps}"


@contextmanager
def _explained(dataset: str) -> Iterator[None]:
    """Turn what may go wrong into one line."""
    from losslab.corpora.download import DownloadError

    try:
        yield
    except DownloadError as error:
        advice = "call the same command again to go on, or see docs/data.md"
        raise FetchError(f"{dataset}: {error}; {advice}") from error
    except (ArchiveError, OSError) as error:
        raise FetchError(f"{dataset}: {error}; nothing was put in place") from error


@contextmanager
def _working_folder(raw: Path, dataset: str, *, afresh: bool) -> Iterator[Path]:
    """A hidden folder beside the dataset's own, for one process at a time.

    What was downloaded stays in it after a failure; what was unpacked does not.
    """
    work = raw / f".{dataset}.part"
    (work / DOWNLOADS).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(work / ".lock", timeout=0):
            _tidy(work, keep_downloads=not afresh)
            try:
                yield work
            finally:
                _tidy(work)
                if not any(path.stat().st_size for path in work.rglob("*") if path.is_file()):
                    shutil.rmtree(work)
    except Timeout:
        raise FetchError(f"{dataset}: another command fetches it into {work}; wait") from None


def _tidy(work: Path, *, keep_downloads: bool = True) -> None:
    for path in work.iterdir():
        if path.is_symlink():
            path.unlink()
        elif path.is_dir() and not (path.name == DOWNLOADS and keep_downloads):
            shutil.rmtree(path)


Downloads = dict[Path, str]
"""Files, and which folder of an archive is wanted, if not all of it."""
Found = tuple[Downloads, Origin]


def _from_mirror(dataset: str, ways: Ways, work: Path) -> Found | None:
    """The archive of the mirror, complete or else a sample; None where it has neither."""
    if not ways.mirror:
        return None
    for sample in (False, True):
        place = f"{ways.mirror.rstrip('/')}/{'samples/' * sample}{dataset}.tar.xz"
        archive = _archive_at(place, ways, work / DOWNLOADS / ("sample" if sample else "complete"))
        if archive:
            if sample:
                logger.warning(
                    "%s: %s is a SAMPLE in the true format, too few rows for a result",
                    dataset,
                    place,
                )
            return {archive: ""}, Origin(place, sample, _hashes([archive]))
    logger.info("%s: not in the mirror %s, going to the publisher", dataset, ways.mirror)
    return None


def _archive_at(place: str, ways: Ways, folder: Path) -> Path | None:
    from losslab.corpora.download import NotThereError

    if not place.startswith(("http://", "https://")):
        _check_mirror(Path(str(ways.mirror)))
        return Path(place) if Path(place).is_file() else None
    try:
        return ways.download(Download(place.rpartition("/")[2], (place,)), folder)
    except NotThereError:
        return None


def _check_mirror(folder: Path) -> None:
    if not folder.is_dir():
        raise FetchError(f"LOSSLAB_MIRROR names {folder}, which is no folder; correct or unset it")


def _from_publisher(dataset: str, folder: Path, ways: Ways, work: Path) -> Found:
    wanted_files = SOURCES[dataset].downloads
    if not wanted_files:
        raise ByHandError(f"{dataset}: {advice(dataset, folder)}")
    files = {}
    for wanted in wanted_files:
        logger.info("%s: %s from %s", dataset, wanted.name, wanted.addresses[0])
        files[ways.download(wanted, work / DOWNLOADS)] = wanted.folder
    hashes = _hashes(files)
    for wanted in wanted_files:
        if wanted.sha256 is None:
            logger.info("%s: sha256 of %s: %s", dataset, wanted.name, hashes[wanted.name])
    return files, Origin("; ".join(d.addresses[0] for d in wanted_files), False, hashes)


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    import pooch

    return {file.name: pooch.file_hash(str(file)) for file in files}


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
    old = files.with_name("old")
    if folder.exists():
        folder.rename(old)
    try:
        files.rename(folder)
    except BaseException:
        old.rename(folder)
        raise


def _origin_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.origin.json")


def overview(raw: Path) -> list[dict[str, Any]]:
    """A row per dataset: its name, whether it is there, how to get it, its licence, what it is."""
    return [
        {
            "dataset": name,
            "there": _state(source, raw / name),
            "how": "kedro fetch" if source.way == "download" else source.ready or source.way,
            "licence": source.licence,
            "about": source.about,
        }
        for name, source in SOURCES.items()
    ]


def _state(source: Source, folder: Path) -> str:
    if is_sample(folder):
        return "sample"
    return "yes" if source.ready or is_there(folder) else "no"
