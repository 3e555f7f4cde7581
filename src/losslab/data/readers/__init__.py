"""Readers of public corpora: raw files in, documents with labels out.

To add a corpus, add its reader to ``READERS``: a function of the folder of raw files and of
keyword-only options.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from losslab.data.corpus import Corpus, Modality
from losslab.data.readers.aapd import read_aapd
from losslab.data.readers.arxiv import read_arxiv
from losslab.data.readers.cmu_movie import read_cmu_movie
from losslab.data.readers.cwe import packaged_folder, read_cwe
from losslab.data.readers.goemotions import read_goemotions
from losslab.data.readers.hoc import read_hoc
from losslab.data.readers.imdb import read_imdb
from losslab.data.readers.movie_posters import read_movie_posters
from losslab.data.readers.numbered_classes import read_ag_news, read_dbpedia, read_yelp
from losslab.data.readers.one_hot import read_archive, read_toxic
from losslab.data.readers.own import read_own
from losslab.data.readers.patents import read_cnipa, read_uspto
from losslab.data.readers.pubmed import read_pubmed
from losslab.data.readers.reuters import read_reuters
from losslab.data.readers.simulated import read_simulated
from losslab.data.readers.squad import read_squad
from losslab.data.readers.sst5 import read_sst5
from losslab.data.readers.toutiao import read_toutiao
from losslab.data.readers.trec import read_trec
from losslab.data.readers.wos import read_wos

READERS: dict[str, Callable[..., Corpus]] = {
    "cwe": read_cwe,
    "reuters": read_reuters,
    "pubmed": read_pubmed,
    "sst5": read_sst5,
    "trec": read_trec,
    "wos": read_wos,
    "aapd": read_aapd,
    "cnipa": read_cnipa,
    "toutiao": read_toutiao,
    "uspto": read_uspto,
    "archive": read_archive,
    "cmu_movie": read_cmu_movie,
    "goemotions": read_goemotions,
    "toxic": read_toxic,
    "ag_news": read_ag_news,
    "dbpedia": read_dbpedia,
    "imdb": read_imdb,
    "yelp": read_yelp,
    "arxiv": read_arxiv,
    "hoc": read_hoc,
    "chemical_exposure": read_hoc,
    "movie_posters": read_movie_posters,
    "squad": read_squad,
    "simulated": read_simulated,
    "own": read_own,
    "csv": read_own,
    "jsonl": read_own,
}

FILE_READERS = ("own", "csv", "jsonl")
"""The reader of one's own file, under three names, whatever the dataset is called."""

QUESTION_READERS = ("squad",)
"""Readers of question-answer corpora, whose task is retrieval."""

PACKAGED: dict[str, Callable[[], Path]] = {
    "cwe": packaged_folder,
}
"""Corpora that come with an installed package: the folder of their raw files."""


def reader_options(reader: str) -> type[BaseModel]:
    """The pydantic model of a reader's options."""
    return options_of(READERS[reader])


def modality_of(options: Any) -> Modality:
    """What documents are, by a reader's options: images where its ``image`` is set."""
    return "image" if getattr(options, "image", None) else "text"


def options_of(reader: Callable[..., Any]) -> type[BaseModel]:
    """A pydantic model of ``reader``'s arguments without the first, its folder.

    >>> def read(folder, *, depth: int = 4): ...
    >>> options_of(read)().model_dump()
    {'depth': 4}
    """
    hints = get_type_hints(reader, include_extras=True)
    _, *arguments = signature(reader).parameters.values()
    fields: dict[str, Any] = {
        argument.name: (
            hints.get(argument.name, Any),
            ... if argument.default is Parameter.empty else argument.default,
        )
        for argument in arguments
    }
    strict = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    return create_model(f"Options of {reader.__name__}", __config__=strict, **fields)


__all__ = [
    "FILE_READERS",
    "PACKAGED",
    "QUESTION_READERS",
    "READERS",
    "modality_of",
    "options_of",
    "reader_options",
]
