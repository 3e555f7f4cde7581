"""PubMed articles of the BioASQ challenge: ``{"articles": [...]}`` in gigabytes of JSON, as a stream.

The published file has an article a line, so that a broken one can be set aside. In any other layout
nothing tells where the next article begins: a broken one stops the reading.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import existing, lines, matching, text_chunks
from losslab.data.readers.rows import (
    Document,
    LeftOut,
    Place,
    Row,
    RowFault,
    joined,
    plain,
    plain_list,
)
from losslab.errors import CorpusError

OPENING = re.compile(r'\s*(\{\s*"articles"\s*:|articles\s*=)?\s*\[?\s*')
CLOSING = re.compile(r"\s*,?\s*(\]\s*\}?)?\s*;?")
LIST_START = re.compile(r'"articles"\s*:\s*\[')
BETWEEN = re.compile(r"[\s,]*")
DECODER = json.JSONDecoder()
CHUNK = 2**20
LONGEST = 64 * CHUNK


def read_pubmed(
    folder: Path,
    *,
    part: Literal["title", "abstract", "both"] = "both",
    years: list[int] | None = None,
    encoding: Literal["utf-8", "latin-1"] = "utf-8",
) -> Corpus:
    """Read every JSON file.

    ``years`` keeps the articles published then; 2020 and 2021 are those of the balanced-losses paper.
    """
    collector = Collector(folder)
    for path in matching(folder, "*.json", "*.json.gz"):
        collector.gather(articles(path, encoding), partial(_article, part=part, years=years))
    return collector.corpus()


def articles(path: Path, encoding: str) -> Iterator[Row]:
    """The articles of a file, whatever its layout."""
    beginning = next(text_chunks(existing(path), encoding, CHUNK)).split("\n")
    if any(isinstance(_on_one_line(line), dict) for line in beginning[:3]) and beginning[1:]:
        yield from _by_line(path, encoding)
    else:
        yield from _streamed(path, encoding)


def _by_line(path: Path, encoding: str) -> Iterator[Row]:
    for place, line in lines(path, encoding):
        article = line if isinstance(line, RowFault) else _on_one_line(line)
        if article is not None:
            yield place, article


def _on_one_line(line: str) -> dict[str, Any] | RowFault | None:
    """The article of a line; None for one that only opens or closes the list."""
    opening = OPENING.match(line)
    start = opening.end() if opening else 0
    if CLOSING.fullmatch(line, start):
        return None
    try:
        article, end = DECODER.raw_decode(line, start)
    except (ValueError, RecursionError) as error:
        return RowFault(f"not JSON: {str(error)[:200]}")
    if not isinstance(article, dict) or not CLOSING.fullmatch(line, end):
        return RowFault("expected one JSON object")
    return article


def _streamed(path: Path, encoding: str) -> Iterator[Row]:
    chunks = text_chunks(path, encoding, CHUNK)
    text = next(chunks)
    start = LIST_START.search(text)
    if not start:
        raise CorpusError(f'{path}, line 1: expected {{"articles": [, found {text[:60]!r}')
    line, counted, position = 1, 0, start.end()
    while True:
        position = _after(BETWEEN, text, position)
        line, counted = line + text.count("\n", counted, position), position
        try:
            article, position = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            if text.startswith("]", position):
                return
            more = next(chunks, None)
            if more is None or len(text) - position > LONGEST:
                raise _torn(Place(path, line), error) from error
            text, counted, position = text[position:] + more, 0, 0
        else:
            yield Place(path, line), _checked(article)


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _torn(place: Place, error: Exception) -> CorpusError:
    return CorpusError(f"{place}: expected an article or the list's end, found {str(error)[:200]}")


def _checked(article: Any) -> dict[str, Any] | RowFault:
    return article if isinstance(article, dict) else RowFault("expected a JSON object")


def _article(
    _: Place, record: Mapping[str, Any], *, part: str, years: list[int] | None
) -> Document:
    if years is not None and plain(record, "year") not in {str(year) for year in years}:
        raise LeftOut("published in another year")
    texts = {"title": ["title"], "abstract": ["abstractText"]}.get(part, ["title", "abstractText"])
    text = joined(*(plain(record, name) for name in texts))
    return Document(plain(record, "pmid"), text, plain_list(record, "meshMajor"))
