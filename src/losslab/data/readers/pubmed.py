"""PubMed articles of the BioASQ challenge: gigabytes of ``{"articles": [...]}``, streamed.

The published file has one article per line, so that a malformed one is rejected. In any other layout
the start of the next article is unknown: a malformed one raises CorpusError.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    Row,
    RowFault,
    SourceLocation,
    join_parts,
    str_field,
    str_list_field,
)
from losslab.data.readers.raw_text import glob_first, lines, require_file, text_chunks
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

    ``years``: years of publication to keep; the balanced-losses paper has 2020 and 2021.
    """
    collector = Collector(folder)
    for path in glob_first(folder, "*.json", "*.json.gz"):
        collector.gather(articles(path, encoding), partial(_article, part=part, years=years))
    return collector.corpus()


def articles(path: Path, encoding: str) -> Iterator[Row]:
    """The articles of a file in any layout."""
    beginning = next(text_chunks(require_file(path), encoding, CHUNK)).split("\n")
    if any(isinstance(_on_one_line(line), dict) for line in beginning[:3]) and beginning[1:]:
        yield from _by_line(path, encoding)
    else:
        yield from _streamed(path, encoding)


def _by_line(path: Path, encoding: str) -> Iterator[Row]:
    for location, line in lines(path, encoding):
        article = line if isinstance(line, RowFault) else _on_one_line(line)
        if article is not None:
            yield location, article


def _on_one_line(line: str) -> dict[str, Any] | RowFault | None:
    """The article of a line; None for a line that only opens or closes the list."""
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
                raise _torn(SourceLocation(path, line), error) from error
            text, counted, position = text[position:] + more, 0, 0
        else:
            yield SourceLocation(path, line), _checked(article)


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _torn(location: SourceLocation, error: Exception) -> CorpusError:
    return CorpusError(
        f"{location}: expected an article or the list's end, found {str(error)[:200]}"
    )


def _checked(article: Any) -> dict[str, Any] | RowFault:
    return article if isinstance(article, dict) else RowFault("expected a JSON object")


def _article(
    _: SourceLocation, record: Mapping[str, Any], *, part: str, years: list[int] | None
) -> Document:
    if years is not None and str_field(record, "year") not in {str(year) for year in years}:
        raise ExcludedByRule("published in another year")
    texts = {"title": ["title"], "abstract": ["abstractText"]}.get(part, ["title", "abstractText"])
    text = join_parts(*(str_field(record, name) for name in texts))
    return Document(str_field(record, "pmid"), text, str_list_field(record, "meshMajor"))
