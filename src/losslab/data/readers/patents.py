"""Patents as JSON lines, CNIPA (Chinese) and USPTO (English): id, title, abstract, IPC codes."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import json_lines, matching
from losslab.data.readers.rows import (
    Document,
    Place,
    RowFault,
    joined,
    plain,
    plain_list,
    split_of,
)

CODES = ("ipc", "ipc_codes", "codes", "labels")
Part = Literal["title", "abstract", "both"]
Depth = Annotated[int, Field(ge=1)]


def read_cnipa(folder: Path, *, part: Part = "both", depth: Depth = 4) -> Corpus:
    """Read Chinese patents; the options are those of ``read_uspto``."""
    return read_uspto(folder, part=part, depth=depth)


def read_uspto(folder: Path, *, part: Part = "both", depth: Depth = 4) -> Corpus:
    """Read every ``.json`` or ``.jsonl`` file; one named after a split gives its patents to it.

    Args:
        folder: the folder of raw files.
        part: which part of a patent is the text.
        depth: to how many characters codes are cut: 1 section, 3 class, 4 subclass. Four give the
            some 620 labels of the ZLPR paper. Label ids that are numbers are not cut.
    """
    collector = Collector(folder)
    for path in matching(folder, "*.json*"):
        collector.gather(json_lines(path), partial(_patent, part=part, depth=depth))
    return collector.corpus()


def _patent(place: Place, record: Mapping[str, Any], *, part: str, depth: int) -> Document:
    wanted = ("title", "abstract") if part == "both" else (part,)
    text = joined(*(_words(record, name) for name in wanted))
    field = next((name for name in CODES if name in record), None)
    if field is None:
        raise RowFault(f"no field '{CODES[0]}' with the list of codes")
    labels = [
        code if isinstance(raw, int) else code.strip()[:depth]
        for code, raw in zip(plain_list(record, field), record[field], strict=True)
    ]
    return Document(plain(record, "id"), text, labels, split_of(place.path))


def _words(record: Mapping[str, Any], name: str) -> str:
    """A text, or its words one by one."""
    if isinstance(record.get(name), list):
        return " ".join(plain_list(record, name))
    return plain(record, name)
