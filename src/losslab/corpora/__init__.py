"""Readers of public corpora: raw files in, documents with their labels out.

``READERS`` is the table to add a corpus to; a reader takes the folder of raw files, and options by
name.
"""

from collections.abc import Callable

from pydantic import BaseModel

from losslab.corpora.corpus import Corpus, CorpusError, check_rejected
from losslab.corpora.cwe import packaged_folder, read_cwe
from losslab.corpora.options import options_of
from losslab.corpora.own import read_csv, read_jsonl
from losslab.corpora.reuters import read_reuters
from losslab.corpora.split import SPLITS, assign_splits
from losslab.corpora.trec import read_trec

READERS: dict[str, Callable[..., Corpus]] = {
    "cwe": read_cwe,
    "reuters": read_reuters,
    "trec": read_trec,
    "csv": read_csv,
    "jsonl": read_jsonl,
}

PACKAGED = {
    "cwe": packaged_folder,
}
"""Corpora that come with an installed package: where their raw files are."""

FOLDERLESS = frozenset({"csv", "jsonl"})
"""Readers that can do without a folder of raw files."""


def reader_options(reader: str) -> type[BaseModel]:
    """The model of a reader's options: names, types and defaults as in its signature."""
    return options_of(READERS[reader])


__all__ = [
    "FOLDERLESS",
    "PACKAGED",
    "READERS",
    "SPLITS",
    "Corpus",
    "CorpusError",
    "assign_splits",
    "check_rejected",
    "reader_options",
]
