"""Texts from data that a spreadsheet would run."""

import csv
import io

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslab.data.csv_cells import TEXTS_IN_QUOTES, quote_formulas, unquote_formulas

HOSTILE = ["=1+1", "@SUM(A1)", "+1", "-1+cmd|' /C calc'!A0", "\t=1", "\r=1", "\uff1d1+1", "'=1"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_or_column_begins_a_formula(text):
    written = quote_formulas(pd.DataFrame({"label": [text], text: ["a"]})).to_csv(
        index=False, **TEXTS_IN_QUOTES
    )
    header, row = csv.reader(io.StringIO(written, newline=""))
    assert row == [f"'{text}", "a"]
    assert header == ["label", f"'{text}"]


def test_numbers_and_missing_values_stay():
    table = pd.DataFrame({"difference": [-0.5, 1.0], "ok": [True, False], "why": [None, "-"]})
    quoted = quote_formulas(table)
    assert quoted["difference"].tolist() == [-0.5, 1.0]
    assert quoted["ok"].tolist() == [True, False]
    assert quoted["why"].isna().tolist() == [True, False]
    assert quoted["why"][1] == "'-"


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.text("'=+-@\t\r\n\uff1da ", max_size=5), min_size=1))
def test_what_was_written_comes_back(texts):
    table = pd.DataFrame({"label": pd.Series(texts, dtype=object)})
    assert unquote_formulas(quote_formulas(table))["label"].tolist() == texts
