"""Reading raw files row by row: where a row stands, and what is wrong with it if something is.

Each generator yields ``(place, row)``, and ``(place, RowFault)`` for a row that cannot be used. What
makes the whole file unusable raises ``CorpusError``. Bytes that do not decode are kept as surrogates
until the row they stand in is known, so that one bad byte costs one row.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from losslab.data.readers.rows import Place, Row, RowFault
from losslab.errors import CorpusError

FIELD_LIMIT = 2**31 - 1
UNREADABLE = (OSError, EOFError, zlib.error)


def existing(path: Path) -> Path:
    """The path of a file that has content."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise CorpusError(f"{path}: expected a readable file, found {error}") from error
    if size is None:
        raise CorpusError(f"{path} is missing; expected a file of the corpus there")
    if size == 0:
        raise CorpusError(f"{path}, line 1: expected rows, found an empty file")
    return path


def matching(folder: Path, *patterns: str) -> list[Path]:
    """The files that match the first pattern that any file matches, in order of their names."""
    for pattern in patterns:
        try:
            found = sorted(path for path in folder.glob(pattern) if path.is_file())
        except (NotImplementedError, ValueError, OSError) as error:
            raise CorpusError(f"{folder}: cannot look for '{pattern}': {error}") from error
        if found:
            return found
    raise CorpusError(f"{folder}: no file {' or '.join(patterns)}; expected the corpus's raw files")


def lines(path: Path, encoding: str = "utf-8") -> Iterator[Row]:
    """The lines that are not blank, without their ends; a file named ``.gz`` is unpacked."""
    for number, line in enumerate(text_lines(path, encoding, newline="\n"), start=1):
        if line.strip():
            yield Place(path, number), text_fault(line) or line.rstrip("\r\n")


def names(path: Path) -> list[str]:
    """The names in a file with one a line, such as the names of classes; raise on any fault."""
    found = [(place, line) for place, line in lines(existing(path))]
    for place, line in found:
        if isinstance(line, RowFault):
            raise CorpusError(f"{place}: expected a name, found {line}")
    return [line.strip() for _, line in found]


def parallel_lines(*paths: Path) -> Iterator[Row]:
    """The lines of several files side by side, blank ones too; they must be equally many."""
    files = [text_lines(existing(path), "utf-8", newline="\n") for path in paths]
    for number, group in enumerate(zip_longest(*files), start=1):
        rest = "".join(filter(None, group)).strip()
        if None in group and rest:
            raise CorpusError(
                f"{paths[group.index(None)]}, line {number}: expected a line beside "
                f"{rest[:60]!r} of the other file, found the end"
            )
        if None in group:
            continue
        yield Place(paths[0], number), text_fault("".join(group)) or [one.strip() for one in group]


def csv_rows(path: Path, encoding: str = "utf-8", *, delimiter: str = ",") -> Iterator[Row]:
    """The rows of a CSV as lists of fields; blank lines are passed over.

    Quoting is taken strictly: a stray quote would otherwise swallow the rows after it. Each line
    that one swallowed is told.
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
                    yield Place(path, number), RowFault(f"bad quoting: {error}")
                continue
            if fields:
                yield Place(path, first), text_fault("".join(fields)) or fields
    finally:
        csv.field_size_limit(limit)


def csv_records(
    path: Path, columns: Sequence[str], encoding: str = "utf-8", *, delimiter: str = ","
) -> Iterator[Row]:
    """The rows of a CSV as dicts by its header, which must have each of ``columns`` once."""
    rows = csv_rows(existing(path), encoding, delimiter=delimiter)
    _, header = next(rows, (None, []))
    if isinstance(header, RowFault):
        raise CorpusError(f"{path}, line 1: expected a header, found a row with {header}")
    header = [name.strip() for name in header]
    for name in columns:
        if header.count(name) != 1:
            raise CorpusError(
                f"{path}, line 1: expected one column '{name}', found {header.count(name)}: "
                f"the columns are {', '.join(header)[:500] or 'none'}"
            )
    for place, fields in rows:
        yield place, fields if isinstance(fields, RowFault) else _record(header, fields)


def _record(header: list[str], fields: list[str]) -> dict[str, str] | RowFault:
    """Empty fields beyond the header do no harm: some files end each row with a comma."""
    if len(fields) < len(header) or any(fields[len(header) :]):
        return RowFault(f"expected {len(header)} fields, found {len(fields)}")
    return dict(zip(header, fields, strict=False))


def json_lines(path: Path) -> Iterator[Row]:
    """The objects of a file with one JSON object a line."""
    for place, line in lines(existing(path)):
        yield place, line if isinstance(line, RowFault) else _json_object(line)


def json_document(path: Path) -> Any:
    """The whole of a JSON file."""
    text = "".join(text_lines(existing(path), "utf-8", newline="\n"))
    fault = text_fault(text)
    if fault:
        raise CorpusError(f"{path}: expected JSON, found {fault}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: expected JSON, found {_first_line(error)}") from error


def text_fault(text: str) -> RowFault | None:
    """What keeps a text from being stored: a NUL, or characters that UTF-8 does not have."""
    if "\0" in text:
        return RowFault("NUL byte")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        found = f"byte 0x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"U+{code:04X}"
        return RowFault(f"wrong encoding: {found} at character {error.start + 1}")
    return None


def text_lines(path: Path, encoding: str, newline: str) -> Iterator[str]:
    """The lines as they stand; bytes that do not decode as surrogates."""
    with _opened(path, encoding, newline) as text:
        yield from text


def text_chunks(path: Path, encoding: str, size: int) -> Iterator[str]:
    """A text in pieces of at most ``size`` characters, for files with lines of any length."""
    with _opened(path, encoding, "\n") as text:
        while chunk := text.read(size):
            yield chunk


@contextmanager
def _opened(path: Path, encoding: str, newline: str) -> Iterator[TextIO]:
    """A text, unpacked if its name ends in ``.gz``, past a byte order mark."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            start = file.read(3)
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise CorpusError(f"{path}, line 1: expected UTF-8, found UTF-16; convert the file")
            if start != b"\xef\xbb\xbf":
                file.seek(0)
            yield io.TextIOWrapper(file, encoding, errors="surrogateescape", newline=newline)
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
