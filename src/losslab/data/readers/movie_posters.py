"""Movie posters and genres: ``MovieGenre.csv``, genres joined by a bar.

The text is the movie's title. Where its poster is stands in the table ``images``.
"""

from pathlib import Path
from typing import Literal

import pandas as pd

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import csv_records
from losslab.data.readers.rows import Document, Place

FILE = "MovieGenre.csv"
COLUMNS = ("imdbId", "Title", "Genre", "Poster")


def read_movie_posters(
    folder: Path,
    *,
    images: str = "SampleMoviePosters",
    encoding: Literal["utf-8", "latin-1"] = "utf-8",
) -> Corpus:
    """Read the sheet; ``images`` is the folder of pictures ``<imdbId>.jpg`` below the raw files.

    Of each document, the table ``images`` has ``id``, ``path`` (relative, whether the file is there
    or not) and ``url``.
    """
    collector = Collector(folder)
    urls: dict[str, str] = {}

    def movie(_: Place, row: dict[str, str]) -> Document:
        name = row["imdbId"].strip()
        urls.setdefault(name, row["Poster"])
        genres = [genre for genre in row["Genre"].split("|") if genre.strip()]
        return Document(name, row["Title"], genres)

    collector.gather(csv_records(folder / FILE, COLUMNS, encoding), movie)
    corpus = collector.corpus()
    ids = corpus.documents["id"]
    corpus.tables["images"] = pd.DataFrame(
        {
            "id": ids,
            "path": [f"{images}/{name}.jpg" for name in ids],
            "url": [urls[name] for name in ids],
        }
    )
    return corpus
