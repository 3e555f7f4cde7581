"""Writes docs/paper_tables.md: the papers' numbers, and ours where docs/results has them.

``python tools/paper_tables.py``; ``--data data`` takes the newest results below ``data/08_reporting``
instead. A test compares the document with its generator.
"""

import argparse
from pathlib import Path

from losslab.reporting.paper_tables import (
    count_documents,
    find_our_results,
    read_paper_tables,
    read_results,
    write_paper_tables,
)

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "paper_tables.md"
RESULTS = PROJECT / "docs" / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="a data folder, in place of docs/results")
    PAGE.write_text(render(parser.parse_args().data), encoding="utf-8")


def render(data: Path | None = None) -> str:
    """The document, with the collected results or those below a data folder."""
    if data is None:
        return write_paper_tables(read_paper_tables(), *read_results(RESULTS))
    ours = find_our_results(data / "08_reporting")
    return write_paper_tables(read_paper_tables(), ours, count_documents(data / "03_primary"))


if __name__ == "__main__":
    main()
