"""Manifests: beside every saved file its sha256 and size, and what it was made of.

A file without a manifest, or one that does not agree with it, is no result. The manifest is written
last: a save that is killed half-way leaves none.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field, fields
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from losslab.temporary import part_of, rename_synced, write_text

MANIFEST = "manifest.json"
SHORT = 16
"""Digits of a hash in a lineage."""


class BrokenFileError(Exception):
    """A file that does not agree with its manifest, or has none."""


@dataclass(frozen=True)
class Lineage:
    """Everything a dataset was made of, its whole upstream.

    Attributes:
        datasets: the sha256 of each dataset, by name.
        parameters: each parameter's value, by dotted name.
    """

    datasets: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """How a node made its outputs; ``fingerprint`` is a hash of code, parameters and inputs."""

    node: str = ""
    fingerprint: str = ""
    code: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    lineage: Lineage = field(default_factory=Lineage)
    run: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The facts about one saved file."""

    sha256: str
    size: int
    provenance: Provenance = field(default_factory=Provenance)

    @classmethod
    def read(cls, file: Path) -> "Manifest":
        """The manifest of a saved file; raise BrokenFileError where there is none to be read."""
        path = manifest_path(file)
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            _refuse_other_provenance(facts)
            known = {each.name for each in fields(Provenance)}
            made = {key: value for key, value in facts["provenance"].items() if key in known}
            made["lineage"] = Lineage(**made["lineage"])
            return cls(facts["sha256"], facts["size"], Provenance(**made))
        except FileNotFoundError:
            raise BrokenFileError(f"{file} has no manifest") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BrokenFileError(f"{path} cannot be read: {error}") from None

    def write(self, file: Path) -> None:
        """Write the manifest of ``file``, atomically."""
        facts = asdict(self)
        facts["provenance_sha256"] = _hash_facts(facts["provenance"])
        write_text(manifest_path(file), json.dumps(facts, indent=1))

    def verify(self, file: Path) -> None:
        """Raise BrokenFileError if ``file`` is not the one that was saved."""
        try:
            size, actual = file.stat().st_size, hash_file(file)
        except OSError as error:
            raise BrokenFileError(f"{file} cannot be read: {error.strerror}") from None
        if (size, actual) != (self.size, self.sha256):
            raise BrokenFileError(
                f"{file} is broken: {size} bytes, sha256 {actual[:12]}; "
                f"saved were {self.size} bytes, {self.sha256[:12]}"
            )


def _refuse_other_provenance(facts: dict[str, Any]) -> None:
    """Raise ValueError if the provenance is not as written; manifests once had no hash of it."""
    actual = _hash_facts(facts["provenance"])
    if facts.get("provenance_sha256", actual) != actual:
        raise ValueError("its provenance is not as written")


def _hash_facts(facts: dict[str, Any]) -> str:
    return sha256(json.dumps(facts).encode()).hexdigest()


def manifest_path(file: Path) -> Path:
    """``<version>/manifest.json`` of a versioned file, else a hidden file beside it."""
    versioned = file.parent.parent.name == file.name
    return file.with_name(MANIFEST if versioned else f".{file.name}.{MANIFEST}")


def hash_file(file: Path) -> str:
    """The sha256 of a file's content."""
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def hash_path(path: Path) -> str:
    """A hash of a file, or of the names and contents of all files of a folder."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    parts = (f"{each.relative_to(path)} {hash_file(each)}" for each in files)
    return sha256("\n".join(parts).encode()).hexdigest()[:SHORT]


def link_or_copy(source: Path, target: Path) -> None:
    """Make ``target`` another name of ``source``, or a copy where links are not possible."""
    temporary = part_of(target)
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    rename_synced(temporary, target)
