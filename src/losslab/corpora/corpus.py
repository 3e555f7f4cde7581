"""What every reader returns."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

DOCUMENT_COLUMNS = ["id", "text", "labels", "split"]
REJECTED_COLUMNS = ["file", "line", "reason"]


class CorpusError(ValueError):
    """Raw files that cannot be read: the message says which, where, and what was expected."""


@dataclass(frozen=True)
class Corpus:
    """The documents of a corpus, what was set aside while reading it, and what is worth knowing.

    Attributes:
        documents: ``id`` (str), ``text`` (str), ``labels`` (list of str), ``split`` (``train``,
            ``validation``, ``test``, or None where the corpus prescribes none).
        rejected: ``file``, ``line`` and ``reason`` of each row set aside.
        notes: facts about the reading, such as its source's version.
    """

    documents: pd.DataFrame
    rejected: pd.DataFrame
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        documents: Iterable[tuple[str, str, list[str], str | None]],
        rejected: Iterable[tuple[str, int, str]] = (),
        notes: dict[str, Any] | None = None,
    ) -> "Corpus":
        """Build the tables from rows."""
        return cls(
            pd.DataFrame(list(documents), columns=DOCUMENT_COLUMNS),
            pd.DataFrame(list(rejected), columns=REJECTED_COLUMNS),
            notes or {},
        )
