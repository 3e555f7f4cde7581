"""Raw files as streams of rows: text lines, CSV, JSON lines, JSON.

Each generator yields ``(location, row)``, or ``(location, RowFault)`` for a malformed row. A file
that cannot be read raises ``CorpusError``. Undecodable bytes become surrogates, so that one bad byte
costs one row.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from losslab.data.readers.collector import Row, RowFault, SourceLocation, text_fault
from losslab.errors import CorpusError

FIELD_LIMIT = 2**31 - 1
WIDE = ("utf-16", "utf-32")
EXCEL_HINT = re.compile("sep=(.)")
"""The first line of a CSV that names its delimiter."""
UNREADABLE = (OSError, EOFError, zlib.error, UnicodeError)


def require_file(path: Path) -> Path:
    """The path of a file that exists and is not empty; raise CorpusError otherwise."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise CorpusError(f"{path}: expected a readable file, found {error}") from error
    if size is None:
        raise CorpusError(f"{path} is missing; expected a file of the corpus there")
    if size == 0:
        raise CorpusError(f"{path}, line 1: expected rows, found an empty file")
    return path


def glob_first(folder: Path, *patterns: str) -> list[Path]:
    """The files of the first pattern with a match, sorted by name."""
    for pattern in patterns:
        try:
            paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        except (NotImplementedError, ValueError, OSError) as error:
            raise CorpusError(f"{folder}: cannot search for '{pattern}': {error}") from error
        if paths:
            return paths
    raise CorpusError(f"{folder}: no file {' or '.join(patterns)}; expected the corpus's raw files")


def lines(path: Path, encoding: str = "utf-8") -> Iterator[Row]:
    """Non-blank lines without line ends; ``.gz`` files are decompressed."""
    for number, line in enumerate(text_lines(path, encoding, newline="\n"), start=1):
        if line.strip():
            yield SourceLocation(path, number), text_fault(line) or line.rstrip("\r\n")


def names(path: Path) -> list[str]:
    """A file of names, one per line, such as class names; raise CorpusError on any fault."""
    rows = list(lines(require_file(path)))
    for location, line in rows:
        if isinstance(line, RowFault):
            raise CorpusError(f"{location}: expected a name, found {line}")
    return [line.strip() for _, line in rows]


def parallel_lines(*paths: Path) -> Iterator[Row]:
    """Lines of several files in parallel, blank ones included; their numbers must be equal."""
    files = [text_lines(require_file(path), "utf-8", newline="\n") for path in paths]
    for number, group in enumerate(zip_longest(*files), start=1):
        rest = "".join(filter(None, group)).strip()
        if None in group and rest:
            raise CorpusError(
                f"{paths[group.index(None)]}, line {number}: expected a line beside "
                f"{rest[:60]!r} of the other file, found the end"
            )
        if None in group:
            continue
        yield (
            SourceLocation(paths[0], number),
            text_fault("".join(group)) or [one.strip() for one in group],
        )


def csv_rows(path: Path, encoding: str = "utf-8", *, delimiter: str = ",") -> Iterator[Row]:
    """CSV rows as lists of fields, blank lines skipped.

    Strict quoting: an unbalanced quote would otherwise swallow the rows after it. Each line that
    it swallows is a RowFault.
    """
    lines = text_lines(path, encoding, newline="")
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    limit = csv.field_size_limit(FIELD_LIMIT)
    try:
        while True:
            first = reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                for number in range(first, reader.line_num + 1):
                    yield SourceLocation(path, number), RowFault(f"bad quoting: {error}")
                continue
            if fields:
                yield SourceLocation(path, first), text_fault("".join(fields)) or fields
    finally:
        csv.field_size_limit(limit)


def csv_records(
    path: Path, columns: Sequence[str], encoding: str = "utf-8", *, delimiter: str = ","
) -> Iterator[Row]:
    """CSV rows as dicts; the header must have each of ``columns`` once."""
    header, rows = csv_table(path, encoding, delimiter=delimiter)
    require_columns(path, header, columns)
    yield from rows


def csv_table(
    path: Path, encoding: str = "utf-8", *, delimiter: str = ","
) -> tuple[list[str], Iterator[Row]]:
    """The header of a CSV, and its rows as dicts.

    A first line such as ``sep=;``, as Excel reads and writes it, is no header.
    """
    rows = csv_rows(require_file(path), encoding, delimiter=delimiter)
    _, header = next(rows, (None, []))
    if not isinstance(header, RowFault) and EXCEL_HINT.fullmatch(delimiter.join(header)):
        _, header = next(rows, (None, []))
    if isinstance(header, RowFault):
        raise CorpusError(f"{path}, line 1: expected a header, found a row with {header}")
    header = [name.strip() for name in header]
    return header, (
        (location, fields if isinstance(fields, RowFault) else _record(header, fields))
        for location, fields in rows
    )


def require_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raise CorpusError unless the header has each of ``columns`` once."""
    for name in columns:
        if header.count(name) != 1:
            raise CorpusError(
                f"{path}, line 1: expected one column '{name}', found {header.count(name)}: "
                f"the columns are {', '.join(header)[:500] or 'none'}"
            )


def _record(header: list[str], fields: list[str]) -> dict[str, str] | RowFault:
    """A row by column; empty fields beyond the header (a trailing comma) are ignored."""
    if len(fields) < len(header) or any(fields[len(header) :]):
        return RowFault(f"expected {len(header)} fields, found {len(fields)}")
    return dict(zip(header, fields, strict=False))


def json_lines(path: Path, encoding: str = "utf-8") -> Iterator[Row]:
    """JSON lines: one object per line."""
    for location, line in lines(require_file(path), encoding):
        yield location, line if isinstance(line, RowFault) else _json_object(line)


def json_document(path: Path, encoding: str = "utf-8") -> Any:
    """The content of a JSON file."""
    text = "".join(text_lines(require_file(path), encoding, newline="\n"))
    fault = text_fault(text)
    if fault:
        raise CorpusError(f"{path}: expected JSON, found {fault}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: expected JSON, found {_first_line(error)}") from error


def text_lines(path: Path, encoding: str, newline: str) -> Iterator[str]:
    """Lines with their ends; undecodable bytes as surrogates."""
    with _opened(path, encoding, newline) as text:
        yield from text


def text_chunks(path: Path, encoding: str, size: int) -> Iterator[str]:
    """A text in chunks of at most ``size`` characters, for files with lines of any length."""
    with _opened(path, encoding, "\n") as text:
        while chunk := text.read(size):
            yield chunk


@contextmanager
def _opened(path: Path, encoding: str, newline: str) -> Iterator[TextIO]:
    """A text file after its byte order mark, decompressed if its name ends in ``.gz``."""
    with opened_bytes(path) as file:
        start = file.read(3)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff") and not encoding.startswith(WIDE):
            raise CorpusError(
                f"{path}, line 1: expected {encoding.upper()}, found UTF-16; convert the file"
            )
        if start != b"\xef\xbb\xbf":
            file.seek(0)
        yield io.TextIOWrapper(file, encoding, errors="surrogateescape", newline=newline)


@contextmanager
def opened_bytes(path: Path) -> Iterator[Any]:
    """The bytes of a file, decompressed if its name ends in ``.gz``."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except UNREADABLE as error:
        raise CorpusError(f"{path}: expected a readable file, found {error}") from error


def _json_object(line: str) -> dict[str, Any] | RowFault:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return RowFault(f"not JSON: {_first_line(error)}")
    return value if isinstance(value, dict) else RowFault("expected a JSON object")


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
