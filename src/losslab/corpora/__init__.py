"""Readers of public corpora: raw files in, documents with their labels out.

``READERS`` is the table to add a corpus to; a reader takes the folder of raw files.
"""

from collections.abc import Callable

from pydantic import BaseModel

from losslab.corpora.corpus import Corpus, CorpusError, check_rejected
from losslab.corpora.cwe import packaged_folder, read_cwe
from losslab.corpora.options import options_of
from losslab.corpora.split import SPLITS, assign_splits

READERS: dict[str, Callable[..., Corpus]] = {
    "cwe": read_cwe,
}

PACKAGED = {
    "cwe": packaged_folder,
}
"""Corpora that come with an installed package: where their raw files are."""


def reader_options(reader: str) -> type[BaseModel]:
    """The model of a reader's options: names, types and defaults as in its signature."""
    return options_of(READERS[reader])


__all__ = [
    "PACKAGED",
    "READERS",
    "SPLITS",
    "Corpus",
    "CorpusError",
    "assign_splits",
    "check_rejected",
    "reader_options",
]
