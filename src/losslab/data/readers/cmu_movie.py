"""CMU movie summaries: ``movie.metadata.tsv`` (genres as a JSON dict) and ``plot_summaries.txt``."""

import json
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    RowFault,
    SourceLocation,
    join_parts,
)
from losslab.data.readers.raw_text import glob_first, lines, require_file

FIELDS = 9


class Movie(NamedTuple):
    """Title and genres of a movie."""

    title: str
    genres: list[str]


def read_cmu_movie(
    folder: Path, *, part: Literal["title", "abstract", "both"] = "abstract"
) -> Corpus:
    """Read the movies with metadata and a plot summary (their ``abstract``)."""
    collector = Collector(folder)
    movies = _movies(folder, collector)
    for path in glob_first(folder, "plot_summaries*.txt"):
        collector.gather(lines(require_file(path)), partial(_summary, movies=movies, part=part))
    corpus = collector.corpus()
    corpus.notes["excluded"]["no summary"] = len(movies.keys() - set(corpus.documents["id"]))
    return corpus


def _movies(folder: Path, collector: Collector) -> dict[str, Movie]:
    movies: dict[str, Movie] = {}
    (path, *_) = glob_first(folder, "movie.metadata.tsv", "movie.metadata.tsv.gz")
    for location, line in lines(require_file(path)):
        try:
            name, movie = _movie(line)
            if name in movies:
                raise RowFault(f"duplicate id '{name}'")
            movies[name] = movie
        except RowFault as fault:
            collector.reject(location, str(fault))
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


def _summary(_: SourceLocation, line: str, *, movies: dict[str, Movie], part: str) -> Document:
    name, tab, summary = line.partition("\t")
    if not tab:
        raise RowFault("expected 2 fields, found 1")
    if name not in movies:
        raise ExcludedByRule("no metadata")
    texts = {"title": [movies[name].title], "abstract": [summary]}
    text = join_parts(*texts.get(part, [movies[name].title, summary]))
    return Document(name, text, movies[name].genres)
