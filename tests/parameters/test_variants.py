"""Folder names of variants."""

import pytest

from losslab.parameters.variants import MAX_LENGTH, variant_name

FILES = {"corpus": {"part": "abstract"}, "split": {"seed": 0, "fold": 1}}
PARAMETERS = ("corpus", "split")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "x"),
        ({"corpus": {"part": "abstract"}}, "x"),
        ({"corpus": {"part": "title"}}, "x-part=title"),
        ({"corpus": {"part": "title"}, "split": {"seed": 3}}, "x-part=title-split.seed=3"),
        ({"split": {"fold": 3}}, "x"),
        ({"recipe": "lstm"}, "x"),
        ({"corpus": {"part": "a/b: c"}}, "x-part=a_b_c"),
        ({"corpus": {"part": "../.."}}, "x-part=.._.."),
        ({"corpus": {"file": "in/tickets.2024.csv"}}, "x-in_tickets.2024"),
    ],
    ids=str,
)
def test_variant_is_named_by_what_differs(changes, expected):
    assert variant_name("x", changes, FILES, PARAMETERS) == expected


def test_name_holds_no_separator_of_folders():
    for value in ("/etc", "a/b", "..", "", "日本"):
        name = variant_name("x", {"corpus": {"part": value}}, FILES, PARAMETERS)
        assert "/" not in name
        assert name != "x"


def test_long_name_is_shortened_and_stays_distinct():
    def name(last):
        labels = [f"label {number}" for number in range(40)] + [last]
        return variant_name("x", {"corpus": {"labels": labels}}, FILES, PARAMETERS)

    assert len(name("a")) <= MAX_LENGTH
    assert name("a") != name("b")


def test_readers_default_is_no_variant():
    defaults = {"corpus.depth": 1}
    for depth, expected in ((1, "x"), (2, "x-depth=2")):
        changes = {"corpus": {"depth": depth}}
        assert variant_name("x", changes, FILES, PARAMETERS, defaults) == expected
