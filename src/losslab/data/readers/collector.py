"""Gathering documents from rows, with the checks that every corpus needs."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from losslab.data.corpus import Corpus
from losslab.data.readers.raw_text import text_fault
from losslab.data.readers.rows import Document, LeftOut, Place, Row, RowFault


class Collector:
    """Documents, rows set aside with their place, and how many rows a rule left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents: list[Document] = []
        self._places: dict[str, Place] = {}
        self._rejected: list[tuple[str, int, str]] = []
        self._left_out: Counter[str] = Counter()

    def gather(self, rows: Iterable[Row], parse: Callable[[Place, Any], Document]) -> None:
        """Add what ``parse`` makes of each row; it raises RowFault or LeftOut for some."""
        for place, row in rows:
            try:
                if isinstance(row, RowFault | LeftOut):
                    raise row
                self.add(place, parse(place, row))
            except RowFault as fault:
                self.reject(place, str(fault))
            except LeftOut as rule:
                self.leave_out(str(rule))

    def add(self, place: Place, document: Document) -> None:
        """Keep a document with a text, sound labels and an id of its own; raise RowFault else."""
        name, text = document.id.strip(), document.text.strip()
        labels = list(dict.fromkeys(label.strip() for label in document.labels))
        if not text:
            raise RowFault("empty text")
        if not name or not all(labels):
            raise RowFault("empty label" if name else "empty id")
        fault = text_fault("".join((name, text, *labels)))
        if fault:
            raise fault
        if name in self._places:
            raise RowFault(f"duplicate id '{name}', first at {self._where(self._places[name])}")
        self._places[name] = place
        self._documents.append(Document(name, text, labels, document.split))

    def reject(self, place: Place, reason: str) -> None:
        """Set a row aside."""
        self._rejected.append((self._name(place.path), place.line, reason))

    def leave_out(self, rule: str, rows: int = 1) -> None:
        """Count sound rows that a rule of the corpus leaves out."""
        self._left_out[rule] += rows

    def corpus(self, tables: dict[str, pd.DataFrame] | None = None, **notes: Any) -> Corpus:
        """What was gathered, with further tables and notes."""
        notes["left_out"] = dict(self._left_out)
        return Corpus.of(self._documents, self._rejected, notes, tables)

    def _name(self, path: Path) -> str:
        inside = path.is_relative_to(self._folder)
        return (path.relative_to(self._folder) if inside else path).as_posix()

    def _where(self, place: Place) -> str:
        return f"{self._name(place.path)}, line {place.line}"
