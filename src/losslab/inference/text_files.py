"""Texts from a file, row by row, and predictions into one: CSV, JSON lines, plain lines, a stream."""

import csv
import json
import logging
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from tqdm import tqdm

from losslab.data.csv_cells import quote_formula
from losslab.data.readers.collector import (
    Row,
    RowFault,
    SourceLocation,
    join_parts,
    str_field,
    text_fault,
)
from losslab.data.readers.raw_text import csv_records, json_lines, lines, require_file
from losslab.errors import ModelError
from losslab.inference.classifier import Classifier, Prediction, batched
from losslab.temporary import part_of, rename_synced

logger = logging.getLogger(__name__)
Format = Literal["csv", "jsonl", "text"]
FORMATS: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "text"}
STREAM = "-"
"""Standard input or output."""
COLUMNS = ("line", "id", "labels", "probabilities", "rule", "error")
EXPLANATION = "words"
EXPLAINED_AT_ONCE = 64


class TextRow(NamedTuple):
    """A row of a file: its line, its id or "", its text; or why it has none."""

    line: int
    id: str
    text: str
    fault: str = ""


class LabelledRow(NamedTuple):
    """A row, and what was predicted of it; None of a row that could not be read."""

    row: TextRow
    prediction: Prediction | None


@dataclass(frozen=True)
class TextFile:
    """The texts of a file, read anew by each iteration.

    Attributes:
        path: a CSV with a header, JSON lines, or a text on each line; ``.gz`` of each.
        text: the column of the text, or several, joined by line breaks; for plain lines unused.
        id: the column of an id, or None.
        format: None: by the file's name.
    """

    path: Path
    text: str | Sequence[str] = "text"
    id: str | None = None
    format: Format | None = None

    def __iter__(self) -> Iterator[TextRow]:
        """Every row; one that cannot be read has its fault in place of a text."""
        for location, row in self._rows():
            try:
                yield self._parse(location, row)
            except RowFault as fault:
                yield TextRow(location.line, "", "", str(fault))

    @property
    def columns(self) -> list[str]:
        """The columns of the text."""
        return [self.text] if isinstance(self.text, str) else list(self.text)

    def count_lines(self) -> int | None:
        """Lines of the file, for a progress bar; None if it is compressed."""
        if self.path.suffix == ".gz":
            return None
        with self.path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))

    def _rows(self) -> Iterator[Row]:
        form = self.format or format_of(self.path)
        if form == "text":
            return lines(require_file(self.path))
        if form == "jsonl":
            return json_lines(self.path)
        return csv_records(self.path, [*self.columns, *([self.id] if self.id else [])])

    def _parse(self, location: SourceLocation, row: Any) -> TextRow:
        if isinstance(row, RowFault):
            raise row
        if isinstance(row, str):
            name, text = "", row.strip()
        else:
            name = str_field(row, self.id) if self.id else ""
            text = join_parts(*(str_field(row, column) for column in self.columns))
        fault = text_fault(name + text)
        if fault or not text:
            raise fault or RowFault("empty text")
        return TextRow(location.line, name, text)


def format_of(path: Path) -> Format:
    """What a file is by its name, ``.gz`` aside; a file of another name holds a text on each line.

    >>> format_of(Path("a.csv")), format_of(Path("a.jsonl.gz")), format_of(Path("notes"))
    ('csv', 'jsonl', 'text')
    """
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return FORMATS.get(name.suffix.lower(), "text")


def spool(stream: IO[bytes], folder: Path) -> Path:
    """Standard input as a file in a temporary folder: JSON lines if it begins with ``{``, else texts."""
    file = folder / "stdin"
    with file.open("wb") as target:
        shutil.copyfileobj(stream, target)
    with file.open("rb") as written:
        is_json = written.read(1 << 12).lstrip().startswith(b"{")
    return file.rename(file.with_suffix(".jsonl" if is_json else ".txt"))


@dataclass(frozen=True)
class LabelledRows:
    """Predictions of a file's texts, made while they are read: a part is in memory at a time.

    Attributes:
        explain: with the words that each label hangs on; ``max_words`` of each text are tried.
    """

    classifier: Classifier
    texts: TextFile
    rule: str | None = None
    top: int = 0
    explain: bool = False
    max_words: int | None = None

    def __iter__(self) -> Iterator[LabelledRow]:
        """Every row of the file, in order, with a progress bar in a terminal."""
        self.classifier.require_rule(self.rule)
        total = self.texts.count_lines()
        with tqdm(total=total, desc="labelling", unit="text", disable=None, leave=False) as bar:
            for part in batched(self.texts, self._size()):
                yield from self._label(part)
                bar.update(len(part))

    def _size(self) -> int:
        return EXPLAINED_AT_ONCE if self.explain else self.classifier.texts_at_once

    def _label(self, rows: list[TextRow]) -> Iterator[LabelledRow]:
        texts = [row.text for row in rows if not row.fault]
        options: dict[str, Any] = {"rule": self.rule, "top": self.top}
        if self.explain:
            predictions = self.classifier.explain(texts, **options, max_words=self.max_words)
        else:
            predictions = self.classifier.predict(texts, **options)
        found = iter(predictions)
        for row in rows:
            yield LabelledRow(row, None if row.fault else next(found))


def write_labels(path: str | Path, rows: Iterable[LabelledRow], *, explained: bool = False) -> int:
    """Write predictions as CSV, or as JSON lines by the name ``.jsonl``; the number of rows.

    A file is complete or not there. Labels and probabilities are JSON: labels may hold commas. A row
    that could not be read has no labels and its ``error``; how many there are is told.
    """
    faults: list[TextRow] = []
    written, faulty = 0, 0
    with _target(path) as file:
        write = _json_writer(file) if _is_json(path) else _csv_writer(file, explained=explained)
        for labelled in rows:
            write(describe_row(labelled, explained=explained))
            written += 1
            if labelled.row.fault:
                faulty, faults = faulty + 1, faults or [labelled.row]
    for first in faults:
        told = (faulty, written, first.line, first.fault)
        logger.warning("%d of %d rows have no text and no labels, first line %d: %s", *told)
    return written


def _is_json(path: str | Path) -> bool:
    return str(path) != STREAM and format_of(Path(path)) == "jsonl"


@contextmanager
def _target(path: str | Path) -> Iterator[IO[str]]:
    """Standard output, or a file that takes its name when it is complete."""
    if str(path) == STREAM:
        yield sys.stdout
        sys.stdout.flush()
        return
    part = part_of(Path(path))
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        rename_synced(part, Path(path))
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def describe_row(labelled: LabelledRow, *, explained: bool = False) -> dict[str, Any]:
    """A row as JSON holds it; ``words``: by label, each word with the drop it causes."""
    row, prediction = labelled
    described: dict[str, Any] = {
        "line": row.line,
        "id": row.id,
        "labels": list(prediction.labels) if prediction else [],
        "probabilities": _rounded(prediction.scores) if prediction else {},
        "rule": prediction.rule if prediction else "",
        "error": row.fault,
    }
    if explained:
        words = prediction.words if prediction else {}
        described[EXPLANATION] = {
            label: [[effect.word, round(effect.drop, 6)] for effect in effects]
            for label, effects in words.items()
        }
    return described


def _rounded(scores: Any) -> dict[str, float]:
    return {label: float(f"{score:.6g}") for label, score in scores.items()}


def _json_writer(file: IO[str]) -> Any:
    return lambda row: file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _csv_writer(file: IO[str], *, explained: bool) -> Any:
    columns = [*COLUMNS, *([EXPLANATION] if explained else [])]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)

    def write(row: dict[str, Any]) -> None:
        writer.writerow([_cell(row[name]) for name in columns])

    return write


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return quote_formula(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
