"""Readers of public corpora: raw files in, documents with their labels out.

``READERS`` is the table to add a corpus to; a reader takes the folder of raw files, and options by
name.
"""

from collections.abc import Callable

from pydantic import BaseModel

from losslab.corpora.aapd import read_aapd
from losslab.corpora.arxiv import read_arxiv
from losslab.corpora.cmu_movie import read_cmu_movie
from losslab.corpora.corpus import Corpus, CorpusError, check_rejected
from losslab.corpora.cwe import packaged_folder, read_cwe
from losslab.corpora.goemotions import read_goemotions
from losslab.corpora.hoc import read_hoc
from losslab.corpora.imdb import read_imdb
from losslab.corpora.movie_posters import read_movie_posters
from losslab.corpora.numbered_classes import read_ag_news, read_dbpedia, read_yelp
from losslab.corpora.one_hot import read_archive, read_toxic
from losslab.corpora.options import options_of
from losslab.corpora.own import read_csv, read_jsonl
from losslab.corpora.patents import read_cnipa, read_uspto
from losslab.corpora.pubmed import read_pubmed
from losslab.corpora.reuters import read_reuters
from losslab.corpora.simulated import read_simulated
from losslab.corpora.split import SPLITS, assign_splits
from losslab.corpora.squad import read_squad
from losslab.corpora.sst5 import read_sst5
from losslab.corpora.toutiao import read_toutiao
from losslab.corpora.trec import read_trec
from losslab.corpora.wos import read_wos

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
    "csv": read_csv,
    "jsonl": read_jsonl,
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
