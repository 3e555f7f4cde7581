"""Readers of public corpora: raw files in, documents with their labels out.

``READERS`` is the table to add a corpus to; a reader takes the folder of raw files.
"""

from collections.abc import Callable

from losslab.corpora.corpus import Corpus, CorpusError
from losslab.corpora.cwe import packaged_folder, read_cwe
from losslab.corpora.split import SPLITS, assign_splits

READERS: dict[str, Callable[..., Corpus]] = {
    "cwe": read_cwe,
}

PACKAGED = {
    "cwe": packaged_folder,
}
"""Corpora that come with an installed package: where their raw files are."""

__all__ = ["PACKAGED", "READERS", "SPLITS", "Corpus", "CorpusError", "assign_splits"]
