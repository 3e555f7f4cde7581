"""User data: a CSV with a header, or JSON lines.

Labels are a JSON list or a separated list in one column, or one-hot in one column each.
"""

import json
import logging
from collections.abc import Iterable, Mapping
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
    str_value,
)
from losslab.data.readers.raw_text import csv_records, json_lines
from losslab.errors import CorpusError

ONE_HOT = {
    "1": True,
    "1.0": True,
    "true": True,
    "0": False,
    "0.0": False,
    "false": False,
    "": False,
}

OTHER_SEPARATORS = ("|", ";")
logger = logging.getLogger(__name__)
Columns = str | Annotated[list[str], Field(min_length=1)]
Separator = Annotated[str, Field(min_length=1)]


class Layout(NamedTuple):
    """The columns of text or image, labels, split and id."""

    text: Columns
    labels: Columns
    separator: str
    split: str | None
    id: str | None
    image: str | None

    @property
    def content(self) -> list[str]:
        """The columns of what a document is."""
        return _listed(self.text) if self.image is None else [self.image]

    @property
    def columns(self) -> list[str]:
        """Every column that is read."""
        single = [name for name in (self.split, self.id) if name is not None]
        return [*self.content, *_listed(self.labels), *single]


def read_csv(
    folder: Path,
    *,
    file: str,
    text: Columns = "text",
    labels: Columns = "labels",
    separator: Separator = ",",
    split: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the option
    image: str | None = None,
) -> Corpus:
    """Read a CSV with a header, UTF-8 with or without a byte order mark.

    Args:
        folder: searched first for a relative ``file``, before the working directory.
        file: name or path of the file.
        text: the column of the text, or several, joined by line breaks.
        labels: one column with a JSON list or a separated list, or several one-hot columns of
            0 and 1; an empty cell is 0.
        separator: between the labels of a separated list.
        split: the column of train, validation or test; empty: assigned later.
        id: the column of document ids; default: ``row-<line>``.
        image: the column of an image's path, relative to the file; ``text`` is not read then.
    """
    layout = Layout(text, labels, separator, split, id, image)
    path = _resolve(folder, file)
    return _collect(folder, path, csv_records(path, layout.columns), layout)


def read_jsonl(
    folder: Path,
    *,
    file: str,
    text: Columns = "text",
    labels: Columns = "labels",
    separator: Separator = ",",
    split: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the option
    image: str | None = None,
) -> Corpus:
    """Read JSON lines; the options are those of ``read_csv``."""
    layout = Layout(text, labels, separator, split, id, image)
    path = _resolve(folder, file)
    return _collect(folder, path, json_lines(path), layout)


def split_labels(cell: Any, separator: str) -> list[str]:
    """The labels of a cell: a list, a JSON list, or a separated list; empty ones are dropped.

    >>> split_labels('["a, b", "c"]', ","), split_labels("a, b,", ",")
    (['a, b', 'c'], ['a', 'b'])
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise RowFault("labels: expected a JSON list") from None
    if isinstance(cell, str):
        return [name for name in (part.strip() for part in cell.split(separator)) if name]
    if not isinstance(cell, list):
        raise RowFault(f"labels: expected a list or a string, found {str(cell)[:60]!r}")
    return [str_value(name, "labels") for name in cell]


def _resolve(folder: Path, file: str) -> Path:
    for path in (folder / file, Path(file)):
        if path.exists() or Path(file).is_absolute():
            return path
    raise CorpusError(f"{file} is neither in {folder} nor in {Path.cwd()}; give its path")


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
    _warn_of_separator(corpus, layout)
    return corpus


def _warn_of_separator(corpus: Corpus, layout: Layout) -> None:
    """Labels that all lack the separator, while many hold another one, were hardly separated."""
    labels = {label for labels in corpus.documents["labels"] for label in labels}
    for other in OTHER_SEPARATORS:
        holding = sum(other in label for label in labels)
        if other != layout.separator and holding > len(labels) / 2:
            logger.warning(
                "%d of %d labels contain '%s': corpus.separator='%s'?",
                holding,
                len(labels),
                other,
                other,
            )


def _labels(record: Mapping[str, Any], layout: Layout) -> list[str]:
    if isinstance(layout.labels, str):
        return split_labels(record[layout.labels], layout.separator)
    return [name for name in layout.labels if one_hot(record[name], name)]


def one_hot(cell: Any, name: str) -> bool:
    """Whether a one-hot cell is set."""
    value = ONE_HOT.get(str(cell).strip().lower())
    if value is None:
        raise RowFault(f"column '{name}': expected 0 or 1, found {str(cell)[:60]!r}")
    return value


def _split(record: Mapping[str, Any], layout: Layout) -> str | None:
    if layout.split is None or record[layout.split] in (None, ""):
        return None
    name = str(record[layout.split]).strip().lower()
    if name not in SPLIT_NAMES:
        raise RowFault(f"unknown split {name[:60]!r}: expected train, validation or test")
    return SPLIT_NAMES[name]


def _listed(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) else columns
