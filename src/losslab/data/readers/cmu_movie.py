"""CMU movie summaries: ``movie.metadata.tsv`` (genres as a JSON dict) and ``plot_summaries.txt``."""

import json
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import existing, lines, matching
from losslab.data.readers.rows import Document, LeftOut, Place, RowFault, joined

FIELDS = 9


class Movie(NamedTuple):
    """What the metadata tells of a movie."""

    title: str
    genres: list[str]


def read_cmu_movie(
    folder: Path, *, part: Literal["title", "abstract", "both"] = "abstract"
) -> Corpus:
    """Read the movies that have both metadata and a summary, which is their ``abstract``."""
    collector = Collector(folder)
    movies = _movies(folder, collector)
    for path in matching(folder, "plot_summaries*.txt"):
        collector.gather(lines(existing(path)), partial(_summary, movies=movies, part=part))
    corpus = collector.corpus()
    corpus.notes["left_out"]["no summary"] = len(movies.keys() - set(corpus.documents["id"]))
    return corpus


def _movies(folder: Path, collector: Collector) -> dict[str, Movie]:
    movies: dict[str, Movie] = {}
    (path, *_) = matching(folder, "movie.metadata.tsv", "movie.metadata.tsv.gz")
    for place, line in lines(existing(path)):
        try:
            name, movie = _movie(line)
            if name in movies:
                raise RowFault(f"duplicate id '{name}'")
            movies[name] = movie
        except RowFault as fault:
            collector.reject(place, str(fault))
    return movies


def _movie(line: str | RowFault) -> tuple[str, Movie]:
    if isinstance(line, RowFault):
        raise line
    fields = line.split("\t")
    if len(fields) != FIELDS:
        raise RowFault(f"expected {FIELDS} fields, found {len(fields)}")
    try:
        genres = json.loads(fields[-1])
    except (ValueError, RecursionError):
        genres = None
    if not isinstance(genres, dict) or not all(isinstance(name, str) for name in genres.values()):
        raise RowFault("genres: expected a JSON object of names")
    return fields[0], Movie(fields[2], list(genres.values()))


def _summary(_: Place, line: str, *, movies: dict[str, Movie], part: str) -> Document:
    name, tab, summary = line.partition("\t")
    if not tab:
        raise RowFault("expected 2 fields, found 1")
    if name not in movies:
        raise LeftOut("no metadata")
    texts = {"title": [movies[name].title], "abstract": [summary]}
    text = joined(*texts.get(part, [movies[name].title, summary]))
    return Document(name, text, movies[name].genres)
