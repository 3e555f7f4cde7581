"""Checks of raw files by sha256: a publisher's known ones, and a mirror's own list."""

import logging
import re
from pathlib import Path

from losslab.data.download.archives import is_archive
from losslab.data.download.sources import SOURCES
from losslab.errors import FetchError

SUMS_FILE = "SHA256SUMS"
"""A mirror's list of its archives, as ``sha256sum`` writes it."""
SUM = re.compile(r"(?P<digest>[0-9a-f]{64}) [ *](?:\./)?(?P<name>.+)")
logger = logging.getLogger(__name__)


def sha256_of(file: Path) -> str:
    """The sha256 of a file, in hexadecimal digits."""
    import pooch

    return str(pooch.file_hash(str(file)))


def parse_sums(text: str) -> dict[str, str]:
    """The sha256 of each file of a list.

    >>> parse_sums("0" * 64 + "  samples/trec.tar.xz")
    {'samples/trec.tar.xz': '0000000000000000000000000000000000000000000000000000000000000000'}
    """
    matches = (SUM.fullmatch(line.strip()) for line in text.splitlines())
    return {match["name"]: match["digest"] for match in matches if match}


def check_sha256(file: Path, expected: str, name: str) -> None:
    """Raise FetchError, with ``name``, unless the file has that sha256."""
    digest = sha256_of(file)
    if digest != expected:
        raise FetchError(
            f"{name} has the sha256 {digest}, expected {expected}: another file, or a damaged one; "
            "correct or unset LOSSLAB_MIRROR"
        )


def check_repacked(dataset: str, files: Path) -> list[str]:
    """Check the files that a mirror repacked by the publisher's sha256; returns their names.

    Raises:
        FetchError: a file whose sha256 is known differs or is missing.
    """
    known = {file.name: file.sha256 for file in SOURCES[dataset].downloads if file.sha256}
    checked = {name: digest for name, digest in known.items() if not is_archive(name)}
    for name, digest in checked.items():
        if not (files / name).is_file():
            raise FetchError(
                f"{dataset}: the mirror's archive has no {name}; correct or unset LOSSLAB_MIRROR"
            )
        check_sha256(files / name, digest, f"{dataset}: {name} of the mirror")
    return list(checked)


def report_unchecked(dataset: str, archive: str, files: Path, checked: list[str]) -> None:
    """Log what was checked of a mirror's archive, and what no known sha256 vouches for."""
    known = [file.name for file in SOURCES[dataset].downloads if file.sha256]
    members = [name for name in checked if name != archive]
    if members:
        others = sum(path.is_file() for path in files.rglob("*")) - len(members)
        rest = f"; no sha256 is known of {others} other files" if others else ""
        logger.info("%s: sha256 as published: %s%s", dataset, ", ".join(members), rest)
    elif checked:
        logger.info("%s: %s has the sha256 of the mirror's list", dataset, archive)
    elif known:
        logger.warning(
            "%s: %s of the mirror was not checked: the known sha256 is that of %s",
            dataset,
            archive,
            ", ".join(known),
        )
    else:
        logger.info("%s: %s of the mirror was not checked, no sha256 is known", dataset, archive)
