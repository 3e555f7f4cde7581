"""A user's file as a table, whatever its format: CSV, JSON lines, JSON, Parquet, a folder of texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from losslab.data.readers.collector import SPLIT_NAMES, Row, RowFault, SourceLocation, text_fault
from losslab.data.readers.raw_text import (
    csv_table,
    glob_first,
    json_document,
    json_lines,
    opened_bytes,
    require_file,
    text_chunks,
)
from losslab.data.readers.sniffing import (
    DELIMITERS,
    FORMATS,
    character_name,
    foreign_word,
    is_utf8,
    sniff_encoding,
    sniff_format,
    sniff_unicode,
)
from losslab.errors import CorpusError

AUTO: Final = "auto"
Format = Literal["auto", "csv", "jsonl", "json", "parquet", "folder"]
START = 4096
"""Bytes by which a format is told."""
BATCH = 1000
"""Rows of a Parquet file that are in memory."""
TEXT_FOLDER = ["id", "text", "labels", "split"]
"""Columns of a folder of texts."""
Fits = Callable[[list[str]], bool]


class FileOptions(NamedTuple):
    """What a user says of a file; ``auto``: it is read off the file."""

    format: Format = AUTO
    encoding: str = AUTO
    delimiter: str = AUTO


class Table(NamedTuple):
    """Columns and rows of a file, and what was found out about it.

    ``columns`` is None where every row has its own.
    """

    columns: list[str] | None
    rows: Iterator[Row]
    facts: list[str]


def open_table(path: Path, options: FileOptions, fits: Fits) -> Table:
    """Open a file; ``fits``: whether a CSV's header has the columns that are asked for."""
    form: str = options.format
    if form == AUTO:
        form = "folder" if path.is_dir() else sniff_format(path, _start(path))
    if form == "folder":
        return _open_folder(path, options)
    if form == "parquet":
        return _open_parquet(require_file(path))
    encoding, facts = _encoding([require_file(path)], options)
    if form == "csv":
        return _open_csv(path, encoding, facts, options, fits)
    rows = json_lines(path, encoding) if form == "jsonl" else _json_rows(path, encoding)
    return Table(None, rows, [{"jsonl": "JSON lines", "json": "JSON"}[form], *facts])


def _start(path: Path) -> bytes:
    with opened_bytes(require_file(path)) as file:
        return bytes(file.read(START))


def _encoding(paths: Sequence[Path], options: FileOptions) -> tuple[str, list[str]]:
    """The encoding of files, and what to tell of it: nothing of UTF-8."""
    if options.encoding != AUTO:
        return _known_encoding(options.encoding), [f"encoding {options.encoding}"]
    encoding = sniff_unicode(_start(paths[0]))
    if encoding is not None:
        return encoding, [] if encoding == "utf-8" else [f"encoding {encoding}"]
    encoding = sniff_encoding(_byte_lines(paths), paths[0])
    if encoding == "utf-8":
        return encoding, []
    legacy = (line for line in _byte_lines(paths) if not is_utf8(line))
    word = foreign_word(legacy, encoding)
    return encoding, [f"encoding {encoding} (such as {word!r})"]


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise CorpusError(f"corpus.encoding: {name!r} is no encoding of text") from None
    return name


def _byte_lines(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        with opened_bytes(path) as file:
            yield from file


def _open_csv(
    path: Path, encoding: str, facts: list[str], options: FileOptions, fits: Fits
) -> Table:
    delimiter = options.delimiter
    if delimiter == AUTO:
        delimiter = _sniff_delimiter(path, encoding, fits)
    columns, rows = csv_table(path, encoding, delimiter=delimiter)
    return Table(columns, rows, ["CSV", f"delimiter {character_name(delimiter)}", *facts])


def _sniff_delimiter(path: Path, encoding: str, fits: Fits) -> str:
    """The delimiter under which the header has the columns that are asked for.

    Where none does, the one that gives most columns: the error will list them.
    """
    headers = {each: _header(path, encoding, each) for each in DELIMITERS}
    fitting = [each for each, header in headers.items() if fits(header)]
    if len(fitting) > 1:
        names = ", ".join(map(character_name, fitting))
        raise CorpusError(
            f"{path}, line 1: what delimits the fields: {names}? Set corpus.delimiter"
        )
    return fitting[0] if fitting else max(DELIMITERS, key=lambda each: len(headers[each]))


def _header(path: Path, encoding: str, delimiter: str) -> list[str]:
    """The header under a delimiter; none where its quoting is broken."""
    try:
        return csv_table(path, encoding, delimiter=delimiter)[0]
    except CorpusError:
        return []


def _json_rows(path: Path, encoding: str) -> Iterator[Row]:
    """The objects of a JSON array; JSON lines under the name of JSON are read as such."""
    with opened_bytes(path) as file:
        start = file.read(START)
    if start.decode(encoding, "ignore").lstrip("\ufeff \r\n\t").startswith("{"):
        yield from json_lines(path, encoding)
        return
    content = json_document(path, encoding)
    if not isinstance(content, list):
        raise CorpusError(f"{path}: expected a JSON array of objects")
    for number, row in enumerate(content, start=1):
        sound = isinstance(row, dict)
        yield SourceLocation(path, number), row if sound else RowFault("expected a JSON object")


def _open_parquet(path: Path) -> Table:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        columns = list(ParquetFile(path).schema_arrow.names)
    except (ArrowException, OSError) as error:
        raise CorpusError(f"{path}: expected Parquet, found {str(error)[:200]}") from error
    return Table(columns, _parquet_rows(path), ["Parquet"])


def _parquet_rows(path: Path) -> Iterator[Row]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 0
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield SourceLocation(path, number), row
    except (ArrowException, OSError) as error:
        raise CorpusError(f"{path}, row {number + 1}: {str(error)[:200]}") from error


def _open_folder(folder: Path, options: FileOptions) -> Table:
    """A text per file; its folder is its label, below a folder per split if there are such."""
    files = [path for path in glob_first(folder, "**/*.txt", "**/*") if path.name[0] != "."]
    tables = [path.name for path in files if path.suffix.lower() in FORMATS]
    if tables or not files:
        found = f"{tables[0]}: give its path" if tables else "none"
        raise CorpusError(f"{folder}: expected a text in each file, found {found}")
    encoding, facts = _encoding(files, options)
    facts = [f"{len(files):,} texts, labelled by their folders", *facts]
    return Table(TEXT_FOLDER, _texts(folder, files, encoding), facts)


def _texts(folder: Path, files: Sequence[Path], encoding: str) -> Iterator[Row]:
    parents = {path: list(path.relative_to(folder).parts[:-1]) for path in files}
    split = all(parts and parts[0].lower() in SPLIT_NAMES for parts in parents.values())
    for path, parts in parents.items():
        text = "".join(text_chunks(path, encoding, START))
        row = {
            "id": path.relative_to(folder).as_posix(),
            "text": text,
            "labels": ["/".join(parts[split:])] if parts[split:] else [],
            "split": parts[0] if split else None,
        }
        yield SourceLocation(path, 1), text_fault(text) or row
