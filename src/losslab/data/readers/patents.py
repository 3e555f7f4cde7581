"""Patents as JSON lines, CNIPA (Chinese) and USPTO (English): id, title, abstract, IPC codes."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    RowFault,
    SourceLocation,
    join_parts,
    split_of,
    str_field,
    str_list_field,
)
from losslab.data.readers.raw_text import glob_first, json_lines

CODES = ("ipc", "ipc_codes", "codes", "labels")
Part = Literal["title", "abstract", "both"]
Depth = Annotated[int, Field(ge=1)]


def read_cnipa(folder: Path, *, part: Part = "both", depth: Depth = 4) -> Corpus:
    """Read Chinese patents; the options are those of ``read_uspto``."""
    return read_uspto(folder, part=part, depth=depth)


def read_uspto(folder: Path, *, part: Part = "both", depth: Depth = 4) -> Corpus:
    """Read every ``.json`` or ``.jsonl`` file; a split in a file's name is the split of its patents.

    Args:
        folder: the folder of raw files.
        part: the part of a patent that is the text.
        depth: characters of a code to keep: 1 section, 3 class, 4 subclass (about 620 labels in
            the ZLPR paper). Integer label ids are kept whole.
    """
    collector = Collector(folder)
    for path in glob_first(folder, "*.json*"):
        collector.gather(json_lines(path), partial(_patent, part=part, depth=depth))
    return collector.corpus()


def _patent(
    location: SourceLocation, record: Mapping[str, Any], *, part: str, depth: int
) -> Document:
    fields = ("title", "abstract") if part == "both" else (part,)
    text = join_parts(*(_words(record, name) for name in fields))
    field = next((name for name in CODES if name in record), None)
    if field is None:
        raise RowFault(f"no field '{CODES[0]}' with the list of codes")
    labels = [
        code if isinstance(raw, int) else code.strip()[:depth]
        for code, raw in zip(str_list_field(record, field), record[field], strict=True)
    ]
    return Document(str_field(record, "id"), text, labels, split_of(location.path))


def _words(record: Mapping[str, Any], name: str) -> str:
    """A text, or a list of its words."""
    if isinstance(record.get(name), list):
        return " ".join(str_list_field(record, name))
    return str_field(record, name)
