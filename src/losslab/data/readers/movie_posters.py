"""Movie posters and genres: ``MovieGenre.csv``, genres joined by a bar; the text is the title."""

from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, SourceLocation
from losslab.data.readers.raw_text import csv_records

FILE = "MovieGenre.csv"
COLUMNS = ("imdbId", "Title", "Genre")


def read_movie_posters(folder: Path, *, encoding: Literal["utf-8", "latin-1"] = "utf-8") -> Corpus:
    """Read the sheet; a document's id is its ``imdbId``."""
    collector = Collector(folder)
    collector.gather(csv_records(folder / FILE, COLUMNS, encoding), _movie)
    return collector.corpus()


def _movie(_: SourceLocation, row: dict[str, str]) -> Document:
    genres = [genre for genre in row["Genre"].split("|") if genre.strip()]
    return Document(row["imdbId"].strip(), row["Title"], genres)
