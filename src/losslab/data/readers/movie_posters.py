"""Movie posters and genres: ``MovieGenre.csv``, genres joined by a bar, and a poster of each movie."""

from functools import partial
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, ExcludedByRule, SourceLocation
from losslab.data.readers.raw_text import csv_records
from losslab.errors import CorpusError

FILE = "MovieGenre.csv"
POSTERS = "SampleMoviePosters"
COLUMNS = ("imdbId", "Title", "Genre")


def read_movie_posters(
    folder: Path, *, image: bool = True, encoding: Literal["utf-8", "latin-1"] = "utf-8"
) -> Corpus:
    """Read the sheet; a document's id is its ``imdbId``, its text the title.

    Args:
        folder: of the sheet and of ``SampleMoviePosters``, a file ``<imdbId>.jpg`` of each movie.
        image: documents are posters, movies without a file are excluded; false: titles.
        encoding: of the sheet.
    """
    collector = Collector(folder)
    parse = partial(_movie, collector=collector, posters=folder / POSTERS if image else None)
    collector.gather(csv_records(folder / FILE, COLUMNS, encoding), parse)
    corpus = collector.corpus()
    if image and corpus.documents.empty:
        raise CorpusError(
            f"{folder / POSTERS} has no poster of any movie of {FILE}: 'kedro fetch movie_posters' "
            "says how to get them; corpus.image=false reads the titles"
        )
    return corpus


def _movie(
    _: SourceLocation, row: dict[str, str], *, collector: Collector, posters: Path | None
) -> Document:
    name = row["imdbId"].strip()
    genres = [genre for genre in row["Genre"].split("|") if genre.strip()]
    if posters is None:
        return Document(name, row["Title"], genres)
    if name.isalnum() and not (posters / f"{name}.jpg").exists():
        raise ExcludedByRule(f"no file in {POSTERS}")
    poster = collector.image(posters, f"{name}.jpg")
    return Document(name, row["Title"], genres, image=poster)
