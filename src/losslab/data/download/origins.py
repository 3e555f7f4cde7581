"""Origins of raw files: a mirror, else the publisher."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from losslab.data.download.archives import LIMITS, Limits
from losslab.data.download.checksums import SUMS_FILE, check_sha256, parse_sums, sha256_of
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
        limits: of an archive's content.
        progress: show a progress bar.
    """

    mirror: str | None = None
    timeout: float = 30.0
    retries: int = 3
    limits: Limits = LIMITS
    progress: bool = False

    def download(self, file: Download, folder: Path) -> Path:
        """Download a file from one of its addresses."""
        from losslab.data.download.http import download  # imports pooch and requests

        return download(
            file, folder, timeout=self.timeout, retries=self.retries, progress=self.progress
        )


@dataclass(frozen=True)
class Origin:
    """Origin of a dataset's raw files, kept as ``<dataset>.origin.json``.

    ``checked``: the files whose sha256 was compared with a known one.
    """

    source: str
    sample: bool
    sha256: dict[str, str]
    checked: list[str]


Downloads = dict[Path, str]
"""Files, each with the subfolder of an archive to keep (empty: all)."""


def from_mirror(
    dataset: str, options: FetchOptions, downloads: Path
) -> tuple[Downloads, Origin] | None:
    """The mirror's archive, complete or else a sample; None without either.

    Raises:
        FetchError: an archive that the mirror's SHA256SUMS lists has another sha256.
    """
    if not options.mirror:
        return None
    sums = _mirror_sums(options, downloads)
    for sample in (False, True):
        name = f"{'samples/' * sample}{dataset}.tar.xz"
        folder = downloads / ("sample" if sample else "complete")
        archive = _mirror_file(name, options, folder, sums.get(name))
        if archive:
            address = f"{str(options.mirror).rstrip('/')}/{name}"
            if sample:
                logger.warning(
                    "%s: %s is a SAMPLE in the true format, too few rows for a result",
                    dataset,
                    address,
                )
            checked = [archive.name] if name in sums else []
            return {archive: ""}, Origin(address, sample, _hashes([archive]), checked)
    logger.info("%s: not in the mirror %s, fetching from the publisher", dataset, options.mirror)
    return None


def _mirror_sums(options: FetchOptions, downloads: Path) -> dict[str, str]:
    """The mirror's own sha256 of its archives, where it has a list."""
    (downloads / SUMS_FILE).unlink(missing_ok=True)  # of an earlier fetch
    file = _mirror_file(SUMS_FILE, options, downloads)
    return parse_sums(file.read_text(encoding="utf-8", errors="replace")) if file else {}


def _mirror_file(
    name: str, options: FetchOptions, folder: Path, sha256: str | None = None
) -> Path | None:
    """A file of the mirror, checked where its sha256 is given; None if there is none."""
    from losslab.data.download.http import NotThereError

    mirror = str(options.mirror).rstrip("/")
    if mirror.startswith(("http://", "https://")):
        file = Download(name.rpartition("/")[2], (f"{mirror}/{name}",), sha256)
        try:
            return options.download(file, folder)
        except NotThereError:
            return None
    if not Path(mirror).is_dir():
        raise FetchError(f"LOSSLAB_MIRROR is {mirror}, which is not a folder; correct or unset it")
    path = Path(mirror, name)
    if not path.is_file():
        return None
    if sha256:
        check_sha256(path, sha256, str(path))
    return path


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
            logger.info(
                "%s: %s was not checked, no sha256 of it is known; it has %s",
                dataset,
                file.name,
                hashes[file.name],
            )
    checked = [file.name for file in downloadable if file.sha256]
    return files, Origin("; ".join(d.addresses[0] for d in downloadable), False, hashes, checked)


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in files}
