"""CSV cells that a spreadsheet would run as a formula, such as a label named ``=1+1``.

A quote before the cell makes it text, as OWASP advises against CSV injection. Taking the quote away
again gives the cell that was written, quotes of its own included. Texts stand in double quotes, for
a carriage return would else begin a row.
"""

import csv
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

TEXTS_IN_QUOTES = {"quoting": csv.QUOTE_NONNUMERIC}
"""Options of ``DataFrame.to_csv``."""
FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Starts of a formula, full-width ones included, and those that have been quoted."""


def quote_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose texts and column names begin no formula.

    >>> quote_formulas(pd.DataFrame({"label": ["=1+1", "a"], "change": [-1, 2]}))["label"].tolist()
    ["'=1+1", 'a']
    """
    return _map_texts(table, quote_formula)


def quote_formula(text: str) -> str:
    """A text that begins no formula.

    >>> quote_formula("=1+1"), quote_formula("a")
    ("'=1+1", 'a')
    """
    return f"'{text}" if FORMULA.match(text) else text


def unquote_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table that ``quote_formulas`` was given."""
    return _map_texts(
        table, lambda text: text[1:] if text[:1] == "'" and FORMULA.match(text) else text
    )


def _map_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    result = table.copy()
    for name, kind in table.dtypes.items():
        if not (is_numeric_dtype(kind) or is_bool_dtype(kind)):
            result[name] = table[name].map(changed)
    return result.rename(columns=changed)
