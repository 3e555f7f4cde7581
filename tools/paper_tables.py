"""Writes docs/paper_tables.md: the papers' numbers, and ours where there are results.

``python tools/paper_tables.py [data]`` reads the newest results below ``data/08_reporting``. A test
compares the document with its generator, whatever results of ours it holds.
"""

import sys
from pathlib import Path

from losslab.reporting.paper_tables import (
    count_documents,
    find_our_results,
    read_paper_tables,
    write_paper_tables,
)

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "paper_tables.md"


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT / "data"
    PAGE.write_text(render(data), encoding="utf-8")


def render(data: Path) -> str:
    """The document, with the results below a data folder."""
    ours = find_our_results(data / "08_reporting")
    return write_paper_tables(read_paper_tables(), ours, count_documents(data / "03_primary"))


if __name__ == "__main__":
    main()
