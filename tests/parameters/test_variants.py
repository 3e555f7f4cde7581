"""Folder names of variants."""

import pytest

from losslab.parameters.variants import MAX_LENGTH, cross_validation_name, variant_name

FILES = {"corpus": {"part": "abstract"}, "split": {"seed": 0, "fold": 1}}
PARAMETERS = ("corpus", "split")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "x"),
        ({"corpus": {"part": "abstract"}}, "x"),
        ({"corpus": {"part": "title"}}, "x-part=title"),
        ({"corpus": {"part": "title"}, "split": {"seed": 3}}, "x-part=title-split.seed=3"),
        ({"split": {"folds": 4, "fold": 3}}, "x"),
        ({"recipe": "lstm"}, "x"),
        ({"corpus": {"part": "a/b: c"}}, "x-part=a_b_c+212e4b"),
        ({"corpus": {"part": "../.."}}, "x-part=.._..+0cfd1c"),
        ({"corpus": {"file": "tickets.2024.csv"}}, "x-tickets.2024"),
        ({"corpus": {"file": "tickets.jsonl"}}, "x-file=tickets.jsonl"),
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


def test_part_that_is_switched_off_is_a_variant():
    declared = {"undersample": {"ratio": 10}}
    name = variant_name("x", {"undersample": None}, declared, ("undersample",))
    assert name == "x-undersample=None"


def test_folds_are_named_after_a_variant_that_was_shortened():
    labels = [f"label {number}" for number in range(40)]
    changes = {"corpus": {"labels": labels}, "split": {"folds": 4}}
    name = variant_name("x", changes, FILES, PARAMETERS)
    assert cross_validation_name(name, 4) == f"{name}-folds=4"
    assert cross_validation_name(name, None) == name


def test_different_files_have_different_folders():
    files = [
        "a_b.csv",
        "a/b.csv",
        "a b.csv",
        "/a/b.csv",
        "../a/b.csv",
        "a_b.tsv",
        "a_b",
        "a_b.csv.csv",
    ]
    files += ["日本.csv", "日本/.csv", "ä.csv", "a\u0308.csv", "..", "", "\udcff.csv"]
    names = [variant_name("own", {"corpus": {"file": f}}, FILES, PARAMETERS) for f in files]
    assert len(set(names)) == len(files)
    for name in names:
        assert name.startswith("own-")
        assert "/" not in name
