"""User data: CSV, JSON lines, JSON or Parquet, or a folder of texts.

Labels are a list or a separated list in one column, or one-hot in one column each.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    SPLIT_NAMES,
    Collector,
    Document,
    Row,
    RowFault,
    SourceLocation,
    join_parts,
    str_field,
)
from losslab.data.readers.label_cells import (
    ONE_HOT,
    WHOLE,
    flag,
    is_list,
    label_warnings,
    one_hot,
    split_labels,
)
from losslab.data.readers.raw_text import require_columns
from losslab.data.readers.sniffing import NAMED, character_name, labels_recur, sniff_separator
from losslab.data.readers.tables import AUTO, TEXT_FOLDER, FileOptions, Format, open_table
from losslab.errors import CorpusError

EVERY = "*"
"""Stands for all one-hot columns."""
SNIFFED_ROWS = 10_000
"""Rows by which columns and separator are told."""
logger = logging.getLogger(__name__)
Columns = str | Annotated[list[str], Field(min_length=1)]
Character = Annotated[str, Field(min_length=1)]


class Layout(NamedTuple):
    """The columns of text or image, labels, split and id."""

    text: Columns
    labels: Columns
    separator: str
    split: str | None
    id: str | None
    image: str | None = None

    @property
    def content(self) -> list[str]:
        """The columns of what a document is."""
        return _listed(self.text) if self.image is None else [self.image]

    @property
    def columns(self) -> list[str]:
        """Every column that is read and has been named."""
        single = [name for name in (self.split, self.id) if name is not None]
        labels = [] if self.labels == EVERY else _listed(self.labels)
        return [*self.content, *labels, *single]

    def among(self, columns: Sequence[str]) -> "Layout":
        """With ``a|b`` as two columns, unless one is called so."""
        text, labels = (_named(each, columns) for each in (self.text, self.labels))
        return self._replace(text=text, labels=labels)

    def fits(self, header: list[str]) -> bool:
        """Whether a header has every column once."""
        return all(header.count(name) == 1 for name in self.among(header).columns)


def read_own(
    folder: Path,
    *,
    file: str,
    text: Columns = "text",
    labels: Columns = "labels",
    separator: Character = AUTO,
    split: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the option
    format: Format = AUTO,  # noqa: A002 - the name of the option
    delimiter: Character = AUTO,
    encoding: Character = AUTO,
    image: str | None = None,
) -> Corpus:
    """Read a file of one's own: what ``auto`` stands for is read off the file, and told.

    Args:
        folder: searched first for a relative ``file``, before the working directory.
        file: name or path of the file, or of a folder with a text in each file: labels are the
            names of their folders, below folders train, validation and test if there are such.
        text: the column of the text, or several (a list, or ``a|b``), joined by line breaks.
        labels: one column with a JSON or Python list or a separated list, or several one-hot
            columns of 0 and 1 (a list, or ``a|b``); ``*``: all that hold 0 and 1. An empty cell is
            no label, or 0.
        separator: between the labels of a separated list; ``none``: a cell is one label. As for
            ``delimiter``, names do: comma, semicolon, bar, tab, space, newline.
        split: the column of train, validation or test; empty: assigned later.
        id: the column of document ids; default: ``row-<line>``.
        format: csv, jsonl, json, parquet or folder.
        delimiter: between the fields of CSV.
        encoding: of text; one with a byte order mark needs none.
        image: the column of an image's path, relative to the file; ``text`` is not read then.
    """
    wanted = Layout(text, labels, NAMED.get(separator, separator), split, id, image)
    path = _resolve(folder, file)
    options = FileOptions(format, encoding, NAMED.get(delimiter, delimiter))
    table = open_table(path, options, wanted.fits)
    sample = list(islice(table.rows, SNIFFED_ROWS))
    columns = _columns_of(sample) if table.columns is None else table.columns
    if columns is TEXT_FOLDER:
        wanted = wanted._replace(split=split or "split", id=id or "id")
    layout = _settle(path, wanted.among(columns), columns, sample)
    corpus = _collect(folder, path, chain(sample, table.rows), layout)
    understood = [] if columns is TEXT_FOLDER else _describe(layout, sample)
    logger.info("%s: %s", path.name, ", ".join([*table.facts, *understood]))
    for sentence in label_warnings(corpus.documents["labels"], layout.separator):
        logger.warning("%s", sentence)
    return corpus


def _resolve(folder: Path, file: str) -> Path:
    for path in (folder / file, Path(file)):
        if path.exists() or Path(file).is_absolute():
            return path
    raise CorpusError(f"{file} is neither in {folder} nor in {Path.cwd()}; give its path")


def _named(option: Columns, columns: Sequence[str]) -> Columns:
    if isinstance(option, str) and option not in columns and "|" in option:
        return [name for name in (part.strip() for part in option.split("|")) if name]
    return option


def _columns_of(rows: Iterable[Row]) -> list[str]:
    """Every field of rows that each have their own."""
    return list(dict.fromkeys(name for row in _sound(rows) for name in row))


def _sound(rows: Iterable[Row]) -> Iterator[Mapping[str, Any]]:
    return (row for _, row in rows if isinstance(row, dict))


def _settle(path: Path, layout: Layout, columns: list[str], sample: Sequence[Row]) -> Layout:
    """The layout with every column and the separator known."""
    if columns or any(True for _ in _sound(sample)):
        require_columns(path, columns, layout.columns)
    if layout.labels == EVERY and EVERY not in columns:
        free = [name for name in columns if name and name not in layout.columns]
        layout = layout._replace(labels=_one_hot_columns(path, free, sample))
    if layout.separator == AUTO:
        layout = layout._replace(separator=sniff_separator(_cells(layout, sample)))
    return layout


def _one_hot_columns(path: Path, columns: list[str], sample: Sequence[Row]) -> list[str]:
    """Those that hold 0 and 1 alone, and a 1 or 0 at all."""
    values = {name: {flag(row.get(name)) for row in _sound(sample)} for name in columns}
    flags = {name for name, found in values.items() if found <= ONE_HOT.keys() and found != {""}}
    if not flags:
        shown = ", ".join(columns)[:500] or "none"
        raise CorpusError(
            f"{path}: corpus.labels=* finds no column of 0 and 1 among {shown}: name them, as in a|b"
        )
    return [name for name in columns if name in flags]


def _cells(layout: Layout, sample: Sequence[Row]) -> list[str]:
    """The separated lists among the labels."""
    if not isinstance(layout.labels, str):
        return []
    cells = (row.get(layout.labels) for row in _sound(sample))
    return [cell for cell in cells if isinstance(cell, str) and not is_list(cell)]


def _describe(layout: Layout, sample: Sequence[Row]) -> list[str]:
    """What was understood of text and labels."""
    kind = "text" if layout.image is None else "image"
    text = f"{kind}: {' + '.join(layout.content)}"
    if not isinstance(layout.labels, str):
        return [text, f"labels: {len(layout.labels)} one-hot columns ({_shown(layout.labels)})"]
    cells = _cells(layout, sample)
    if not cells:
        return [text, f"labels: lists or numbers in {layout.labels}"]
    if layout.separator == WHOLE or not any(layout.separator in cell for cell in cells):
        return [text, f"labels: one a cell in {layout.labels}"]
    unsure = "" if labels_recur(cells, layout.separator) else " (or none: corpus.separator=none)"
    name = character_name(layout.separator)
    return [text, f"labels: {layout.labels}, separated by {name}{unsure}"]


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]} to {names[-1]}"


def _collect(folder: Path, path: Path, rows: Iterable[Row], layout: Layout) -> Corpus:
    def document(location: SourceLocation, record: Mapping[str, Any]) -> Document:
        for name in layout.columns:
            if name not in record:
                raise RowFault(f"no field '{name}'")
        text = join_parts(*(str_field(record, name) for name in layout.content))
        name = f"row-{location.line}" if layout.id is None else str_field(record, layout.id)
        image = None if layout.image is None else collector.image(path.parent, text)
        return Document(name, text, _labels(record, layout), _split(record, layout), image)

    collector = Collector(folder)
    collector.gather(rows, document)
    corpus = collector.corpus()
    if corpus.documents.empty and corpus.rejected.empty:
        raise CorpusError(f"{path} has no rows: expected a document on each")
    return corpus


def _labels(record: Mapping[str, Any], layout: Layout) -> list[str]:
    if isinstance(layout.labels, str):
        return split_labels(record[layout.labels], layout.separator)
    return [name for name in layout.labels if one_hot(record[name], name)]


def _split(record: Mapping[str, Any], layout: Layout) -> str | None:
    if layout.split is None or record[layout.split] in (None, ""):
        return None
    name = str(record[layout.split]).strip().lower()
    if name not in SPLIT_NAMES:
        raise RowFault(f"unknown split {name[:60]!r}: expected train, validation or test")
    return SPLIT_NAMES[name]


def _listed(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) else columns
