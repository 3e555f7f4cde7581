"""What is read off a file of unknown make, and what is left to its owner."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslab.data.readers.sniffing import (
    SEPARATORS,
    sniff_encoding,
    sniff_format,
    sniff_separator,
    sniff_unicode,
)
from losslab.errors import CorpusError

FILE = Path("own.csv")
GERMAN = "Die Größe der Tür \u2013 „übermäßig“ \u2013 ändert sich: 5 €, l\u2019été."
POLISH = "Zażółć gęślą jaźń, wszystkie książki są już sprzedane."
RUSSIAN = "Зима и жизнь"
JAPANESE = "日本語の文章です"


def encoding_of(text, encoding, ascii_lines=0):
    lines = [b"plain"] * ascii_lines + text.encode(encoding).split(b"\n")
    return sniff_encoding(lines, FILE)


@pytest.mark.parametrize("text", ["plain", GERMAN, POLISH, RUSSIAN, JAPANESE])
def test_unicode_is_taken_as_such(text):
    assert encoding_of(text, "utf-8") == "utf-8"


@pytest.mark.parametrize("ascii_lines", [0, 1000])
def test_western_words_of_windows_are_recognised(ascii_lines):
    assert encoding_of(GERMAN, "cp1252", ascii_lines) == "cp1252"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (POLISH, "cp1250"),
        (POLISH[:6], "cp1250"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "gb18030"),
    ],
)
def test_other_encodings_are_listed_with_a_word_of_each(text, encoding):
    with pytest.raises(CorpusError, match=r"set corpus\.encoding to ") as told:
        encoding_of(text, encoding)
    word = next(word for word in text.split() if not word.isascii())
    assert f"{encoding} ({word!r})" in str(told.value)


def test_damaged_lines_of_unicode_stay_damaged():
    lines = [GERMAN.encode()] * 3 + [b"d\xe9j\xe0"]
    assert sniff_encoding(lines, FILE) == "utf-8"


def test_damaged_lines_of_ascii_stay_damaged():
    assert sniff_encoding([b"plain"] * 30 + [b"\xff\xfe\xfa"], FILE) == "utf-8"


def test_as_many_damaged_lines_as_legible_ones_are_left_to_the_user():
    with pytest.raises(CorpusError, match="1 of 2 lines are not UTF-8"):
        sniff_encoding([GERMAN.encode(), GERMAN.encode("cp1252")], FILE)


@given(
    st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cc"]), min_size=8),
    st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]),
)
def test_byte_order_marks_are_obeyed(text, encoding):
    content = text.encode(encoding)
    assert content.decode(sniff_unicode(content)).removeprefix("\ufeff") == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(encoding):
    assert sniff_unicode(f"text;labels\n{GERMAN}".encode(encoding)) == encoding


@given(st.binary(max_size=200))
def test_any_bytes_have_an_encoding_that_decodes_or_a_message(content):
    with suppress(CorpusError):
        content.decode(sniff_encoding(content.splitlines(), FILE), errors="surrogateescape")


@given(
    names=st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=3, unique=True),
    separator=st.sampled_from(SEPARATORS),
    space=st.booleans(),
)
def test_separator_between_recurring_labels_is_found(names, separator, space):
    joint = f"{separator} " if space else separator
    cells = [joint.join(names[:end]) for end in range(1, len(names) + 1)]
    assert sniff_separator(cells) == separator


@given(
    names=st.lists(st.text("abcd", min_size=1, max_size=4), min_size=4, max_size=9, unique=True),
    inner=st.sampled_from(SEPARATORS),
    outer=st.sampled_from(SEPARATORS),
)
def test_a_separator_inside_of_names_never_wins_in_silence(names, inner, outer):
    """Names hold another separator: theirs is found, or the candidates are listed."""
    whole = [f"x{name}{inner} y{name}" for name in names]
    with suppress(CorpusError):  # which lists the candidates
        assert sniff_separator([outer.join(pair) for pair in pairwise(whole)]) == outer


def test_what_separates_labels_is_asked_where_it_cannot_be_told():
    cells = ["a, b; c", "c, a; b"]
    with pytest.raises(CorpusError, match=r"comma gives 4 labels, such as .*semicolon gives 4"):
        sniff_separator(cells)


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        ("a.CSV", b"", "csv"),
        ("a.tsv", b"", "csv"),
        ("a.ndjson.gz", b"", "jsonl"),
        ("a.json", b"", "json"),
        ("a.pq", b"", "parquet"),
        ("a", b"PAR1", "parquet"),
        ("a.txt", b"text,labels", "csv"),
        ("a.data", b'\xef\xbb\xbf{"text"', "jsonl"),
    ],
)
def test_format_is_told_by_name_else_by_content(name, start, expected):
    assert sniff_format(Path(name), start) == expected
