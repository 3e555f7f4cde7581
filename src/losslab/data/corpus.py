"""What every reader returns."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from losslab.errors import CorpusError

DOCUMENT_COLUMNS = ["id", "text", "labels", "split"]
REJECTED_COLUMNS = ["file", "line", "reason"]
VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


@dataclass(frozen=True)
class Corpus:
    """The documents of a corpus, what was set aside while reading it, and what is worth knowing.

    Attributes:
        documents: ``id`` (str), ``text`` (str), ``labels`` (list of str), ``split`` (``train``,
            ``validation``, ``test``, or None where the corpus prescribes none).
        rejected: ``file``, ``line`` and ``reason`` of each broken row, set aside.
        notes: facts about the reading, such as its source's version; under ``left_out`` how many
            sound rows a rule of the corpus leaves out, by rule.
        tables: what a corpus has beside its documents, by name, such as images or questions.
    """

    documents: pd.DataFrame
    rejected: pd.DataFrame
    notes: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        documents: Iterable[tuple[str, str, list[str], str | None]],
        rejected: Iterable[tuple[str, int, str]] = (),
        notes: dict[str, Any] | None = None,
        tables: dict[str, pd.DataFrame] | None = None,
    ) -> "Corpus":
        """Build the tables from rows."""
        rows = list(documents)
        split = pd.Series([row[-1] for row in rows], dtype=object)  # None stays None beside names
        return cls(
            pd.DataFrame(rows, columns=DOCUMENT_COLUMNS).assign(split=split),
            pd.DataFrame(list(rejected), columns=REJECTED_COLUMNS),
            notes or {},
            tables or {},
        )

    def account(self) -> dict[str, Any]:
        """The notes, and how many rows became documents, were rejected and were left out.

        Reasons that differ only in what they quote or in numbers are counted together.
        """
        kinds = Counter(VARYING.sub("…", reason) for reason in self.rejected["reason"])
        return {
            "notes": {name: value for name, value in self.notes.items() if name != "left_out"},
            "documents": len(self.documents),
            "rejected": dict(kinds.most_common()),
            "left_out": self.notes.get("left_out", {}),
        }


def check_rejected(account: Mapping[str, Any], *, limit: float, file: str) -> None:
    """Stop where more than ``limit`` (a share) of the rows were broken; ``file`` lists them."""
    rejected = sum(account["rejected"].values())
    rows = rejected + account["documents"]
    if rejected <= limit * rows:
        return
    common = Counter(account["rejected"]).most_common(3)
    reasons = "; ".join(f"{reason} ({count})" for reason, count in common)
    raise CorpusError(
        f"{rejected} of {rows} rows were rejected ({rejected / rows:.1%}), more than max_rejected "
        f"({limit:.1%}) allows: {reasons}. Each is listed in {file}; mend the raw files, or raise "
        "max_rejected"
    )
