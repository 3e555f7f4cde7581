"""Labels as cells of a table hold them: lists, separated lists, zeros and ones."""

import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from losslab.data.readers.collector import RowFault, str_value
from losslab.data.readers.sniffing import SEPARATORS, cell_parts, character_name

ONE_HOT = {
    "1": True,
    "1.0": True,
    "true": True,
    "0": False,
    "0.0": False,
    "false": False,
    "": False,
}
WHOLE = "none"
"""The separator of cells that hold one label each."""
MANY_LABELS = 20
"""From so many on it is told that most labels have one document."""
NO_LITERAL = (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError)


def split_labels(cell: Any, separator: str) -> list[str]:
    """The labels of a cell: a list, a JSON or Python list, or a separated list; null is none.

    >>> split_labels('["a, b", "c"]', ","), split_labels("['a']", ","), split_labels("a, b,", ",")
    (['a, b', 'c'], ['a'], ['a', 'b'])
    """
    if isinstance(cell, str) and is_list(cell):
        cell = _parse_list(cell)
    if isinstance(cell, str):
        return cell_parts(cell, separator) if separator != WHOLE else [cell][: bool(cell.strip())]
    if isinstance(cell, list):
        return [str_value(_whole(name), "labels") for name in cell]
    if is_missing(cell):
        return []
    if isinstance(cell, bool) or not isinstance(_whole(cell), int):
        raise RowFault(f"labels: expected a list or a string, found {str(cell)[:60]!r}")
    return [str(_whole(cell))]


def is_list(cell: str) -> bool:
    """Whether a cell begins as a JSON or Python list does."""
    return cell.lstrip().startswith("[")


def is_missing(cell: Any) -> bool:
    """Whether a cell is null or, in a table of numbers, NaN."""
    return cell is None or cell != cell


def _parse_list(cell: str) -> Any:
    """A list as JSON or Python writes it; nothing but literals is read."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return _parse_python_list(cell.strip())


def _parse_python_list(cell: str) -> Any:
    """A Python list; ``['a' 'b']``, as NumPy prints arrays, would be read as one label."""
    try:
        value = ast.literal_eval(cell)
        tokens = list(tokenize.generate_tokens(io.StringIO(cell).readline))
    except NO_LITERAL:
        raise RowFault("labels: expected a JSON or Python list") from None
    if any(one.type == next_one.type == tokenize.STRING for one, next_one in pairwise(tokens)):
        raise RowFault("labels: expected commas between the items of a list")
    return value


def _whole(value: Any) -> Any:
    """A whole number as such: a table with missing values makes 3 a 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def one_hot(cell: Any, name: str) -> bool:
    """Whether a one-hot cell is set."""
    value = ONE_HOT.get(flag(cell))
    if value is None:
        raise RowFault(f"column '{name}': expected 0 or 1, found {str(cell)[:60]!r}")
    return value


def flag(cell: Any) -> str:
    """A one-hot cell as ``ONE_HOT`` has it."""
    return "" if is_missing(cell) else str(cell).strip().lower()


def label_warnings(label_sets: Iterable[Iterable[str]], separator: str) -> list[str]:
    """What makes labels look as if they were several in one, or texts of their own.

    >>> label_warnings([["a|b"], ["b|c"], ["c"]], ",")
    ["2 of 3 labels contain '|', such as 'a|b': corpus.separator=bar?"]
    """
    counts = Counter(label for labels in label_sets for label in labels)
    told = [
        f"{len(holding)} of {len(counts)} labels contain {other!r}, such as {holding[0][:60]!r}: "
        f"corpus.separator={character_name(other)}?"
        for other in (*SEPARATORS, " ", "/")
        if other != separator and (holding := _joined(counts, other))
    ]
    single = [label for label, count in counts.items() if count == 1]
    if len(counts) >= MANY_LABELS and 2 * len(single) > len(counts):
        told.append(
            f"{len(single)} of {len(counts)} labels have a single document, such as "
            f"{single[0][:60]!r}: corpus.labels, corpus.separator, or min_label_frequency"
        )
    return told


def _joined(counts: Counter[str], other: str) -> list[str]:
    """The labels with ``other``, if they are most; of words and paths, if parts are half as many."""
    holding = [label for label in counts if other in label]
    parts = {part for label in counts for part in cell_parts(label, other)}
    enough = other in SEPARATORS or 2 * len(parts) <= len(counts)
    return holding if 2 * len(holding) > len(counts) and enough else []
