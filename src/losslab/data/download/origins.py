"""Origins of raw files: a mirror, else the publisher."""

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
    """A dataset that must be fetched by hand; the message has the steps."""


@dataclass(frozen=True)
class FetchOptions:
    """Mirror, timeout and limits of a fetch.

    Attributes:
        mirror: a folder or URL of ``<dataset>.tar.xz`` and ``samples/<dataset>.tar.xz``.
        timeout: of connection and read, in seconds.
        retries: after the first failure.
        limit: maximal extracted size of an archive in bytes.
        progress: show a progress bar.
    """

    mirror: str | None = None
    timeout: float = 30.0
    retries: int = 3
    limit: int = LIMIT
    progress: bool = False

    def download(self, file: Download, folder: Path) -> Path:
        """Download a file from one of its addresses."""
        from losslab.data.download.http import download  # imports pooch and requests

        return download(
            file, folder, timeout=self.timeout, retries=self.retries, progress=self.progress
        )


@dataclass(frozen=True)
class Origin:
    """Origin of a dataset's raw files, kept as ``<dataset>.origin.json``."""

    source: str
    sample: bool
    sha256: dict[str, str]


Downloads = dict[Path, str]
"""Files, each with the subfolder of an archive to keep (empty: all)."""


def from_mirror(
    dataset: str, options: FetchOptions, downloads: Path
) -> tuple[Downloads, Origin] | None:
    """The mirror's archive, complete or else a sample; None without either."""
    if not options.mirror:
        return None
    for sample in (False, True):
        address = f"{options.mirror.rstrip('/')}/{'samples/' * sample}{dataset}.tar.xz"
        archive = _archive_at(address, options, downloads / ("sample" if sample else "complete"))
        if archive:
            if sample:
                logger.warning(
                    "%s: %s is a SAMPLE in the true format, too few rows for a result",
                    dataset,
                    address,
                )
            return {archive: ""}, Origin(address, sample, _hashes([archive]))
    logger.info("%s: not in the mirror %s, fetching from the publisher", dataset, options.mirror)
    return None


def _archive_at(address: str, options: FetchOptions, folder: Path) -> Path | None:
    from losslab.data.download.http import NotThereError

    if not address.startswith(("http://", "https://")):
        _check_mirror(Path(str(options.mirror)))
        return Path(address) if Path(address).is_file() else None
    try:
        return options.download(Download(address.rpartition("/")[2], (address,)), folder)
    except NotThereError:
        return None


def _check_mirror(folder: Path) -> None:
    if not folder.is_dir():
        raise FetchError(f"LOSSLAB_MIRROR is {folder}, which is not a folder; correct or unset it")


def from_publisher(
    dataset: str, folder: Path, options: FetchOptions, downloads: Path
) -> tuple[Downloads, Origin]:
    """The publisher's files; ``folder`` is named in the manual steps."""
    downloadable = SOURCES[dataset].downloads
    if not downloadable:
        raise ByHandError(f"{dataset}: {advice(dataset, folder)}")
    files = {}
    for file in downloadable:
        logger.info("%s: %s from %s", dataset, file.name, file.addresses[0])
        files[options.download(file, downloads)] = file.folder
    hashes = _hashes(files)
    for file in downloadable:
        if file.sha256 is None:
            logger.info("%s: sha256 of %s: %s", dataset, file.name, hashes[file.name])
    return files, Origin("; ".join(d.addresses[0] for d in downloadable), False, hashes)


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    import pooch

    return {file.name: pooch.file_hash(str(file)) for file in files}
