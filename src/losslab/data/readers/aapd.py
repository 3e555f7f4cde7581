"""AAPD, arXiv abstracts with their subjects: line files of the release, or JSON.

The release has ``text_train`` with one abstract per line and ``label_train`` with its labels,
separated by spaces. The JSON files are lists of ``text`` and ``label[]``, named ``…train.json``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    Row,
    RowFault,
    SourceLocation,
    str_field,
    str_list_field,
)
from losslab.data.readers.raw_text import json_document, parallel_lines
from losslab.errors import CorpusError

FILES = {"train": "train", "val": "validation", "test": "test"}


def read_aapd(folder: Path) -> Corpus:
    """Read the line files if there are any, else the JSON files.

    Of JSON files with different prefixes, those with the most splits are read.
    """
    collector = Collector(folder)
    line_files = [part for part in FILES if any(folder.glob(f"*_{part}"))]
    for part in line_files:
        rows = parallel_lines(folder / f"text_{part}", folder / f"label_{part}")
        collector.gather(rows, partial(_line, split=FILES[part]))
    json_files = {} if line_files else _json_files(folder)
    valid_labels = _valid_labels(json_files)
    for part, path in json_files.items():
        collector.gather(json_entries(path), partial(_entry, split=FILES[part], valid=valid_labels))
    return collector.corpus(files=[f"text_{part}" for part in line_files] or _names(json_files))


def json_entries(path: Path) -> Iterator[Row]:
    """The objects of a JSON list; the line of a location is the entry's number."""
    entries = json_document(path)
    if not isinstance(entries, list):
        raise CorpusError(f"{path}: expected a list of objects, found {str(entries)[:60]!r}")
    for number, entry in enumerate(entries, start=1):
        fault = None if isinstance(entry, dict) else RowFault("expected a JSON object")
        yield SourceLocation(path, number), fault or entry


def _json_files(folder: Path) -> dict[str, Path]:
    by_prefix: dict[str, dict[str, Path]] = defaultdict(dict)
    for part in FILES:
        for path in sorted(folder.glob(f"*{part}.json")):
            by_prefix[path.name.removesuffix(f"{part}.json")][part] = path
    if not by_prefix:
        raise CorpusError(f"{folder}: no file text_train or *train.json; expected the raw files")
    return max(by_prefix.values(), key=len)


def _valid_labels(json_files: Mapping[str, Path]) -> set[str] | None:
    """The labels in ``…labels.json`` beside the files; None without such a file."""
    for part, path in json_files.items():
        listed = path.with_name(path.name.removesuffix(f"{part}.json") + "labels.json")
        if listed.exists():
            return {str(name) for name in _iterable(json_document(listed), listed)}
    return None


def _iterable(names: Any, path: Path) -> list[Any]:
    if not isinstance(names, list | dict):
        raise CorpusError(f"{path}: expected the labels, found {str(names)[:60]!r}")
    return list(names)


def _names(files: Mapping[str, Path]) -> list[str]:
    return [path.name for path in files.values()]


def _line(location: SourceLocation, fields: list[str], *, split: str) -> Document:
    text, labels = fields
    return Document(f"{split}-{location.line}", text, labels.split(), split)


def _entry(
    location: SourceLocation, entry: Mapping[str, Any], *, split: str, valid: set[str] | None
) -> Document:
    labels = str_list_field(entry, "label")
    for name in labels:
        if valid is not None and name not in valid:
            raise RowFault(f"unknown label '{name[:60]}'")
    return Document(f"{split}-{location.line}", str_field(entry, "text"), labels, split)
