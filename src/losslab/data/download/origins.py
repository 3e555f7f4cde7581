"""The places raw files are taken from: a mirror, else their publishers."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from losslab.data.download.archives import LIMIT
from losslab.data.download.raw_folder import advice
from losslab.data.download.sources import SOURCES, Download
from losslab.errors import FetchError

logger = logging.getLogger(__name__)


class ByHandError(FetchError):
    """A dataset that a user has to get; the message has the steps."""


@dataclass(frozen=True)
class FetchOptions:
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
        from losslab.data.download.http import download  # pooch and requests, needed only here

        settings = {"timeout": self.timeout, "retries": self.retries, "progress": self.progress}
        return download(wanted, folder, **settings)


@dataclass(frozen=True)
class Origin:
    """Where the raw files of a dataset were taken from."""

    place: str
    sample: bool
    sha256: dict[str, str]


Downloads = dict[Path, str]
"""Files, and which folder of an archive is wanted, if not all of it."""
Found = tuple[Downloads, Origin]


def from_mirror(dataset: str, ways: FetchOptions, downloads: Path) -> Found | None:
    """The archive of the mirror, complete or else a sample; None where it has neither."""
    if not ways.mirror:
        return None
    for sample in (False, True):
        place = f"{ways.mirror.rstrip('/')}/{'samples/' * sample}{dataset}.tar.xz"
        archive = _archive_at(place, ways, downloads / ("sample" if sample else "complete"))
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


def _archive_at(place: str, ways: FetchOptions, folder: Path) -> Path | None:
    from losslab.data.download.http import NotThereError

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


def from_publisher(dataset: str, folder: Path, ways: FetchOptions, downloads: Path) -> Found:
    """The files of the publisher; ``folder`` is where they will go."""
    wanted_files = SOURCES[dataset].downloads
    if not wanted_files:
        raise ByHandError(f"{dataset}: {advice(dataset, folder)}")
    files = {}
    for wanted in wanted_files:
        logger.info("%s: %s from %s", dataset, wanted.name, wanted.addresses[0])
        files[ways.download(wanted, downloads)] = wanted.folder
    hashes = _hashes(files)
    for wanted in wanted_files:
        if wanted.sha256 is None:
            logger.info("%s: sha256 of %s: %s", dataset, wanted.name, hashes[wanted.name])
    return files, Origin("; ".join(d.addresses[0] for d in wanted_files), False, hashes)


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    import pooch

    return {file.name: pooch.file_hash(str(file)) for file in files}
