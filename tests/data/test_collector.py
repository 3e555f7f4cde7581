from pathlib import Path

import pytest

from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    RowFault,
    SourceLocation,
)

FOLDER = Path("corpus")


def collected(*documents, rows=()):
    """The corpus of documents that stand on lines 1, 2, ... of one file."""
    collector = Collector(FOLDER)
    places = [
        SourceLocation(FOLDER / "part" / "file.txt", line) for line in range(1, 1 + len(documents))
    ]
    collector.gather(zip(places, documents, strict=True), lambda _, document: document)
    return collector.corpus()


def test_sound_documents_are_kept_trimmed_with_distinct_labels():
    corpus = collected(Document(" 1 ", " a b\n", ["y", " x ", "y"], "train"))
    assert corpus.documents.to_dict("records") == [
        {"id": "1", "text": "a b", "labels": ["y", "x"], "split": "train"}
    ]
    assert corpus.rejected.empty
    assert corpus.notes == {"excluded": {}}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (Document("2", " \n", ["x"]), "empty text"),
        (Document(" ", "a", ["x"]), "empty id"),
        (Document("2", "a", ["x", " "]), "empty label"),
        (Document("1", "a", ["x"]), "duplicate id '1', first at part/file.txt, line 1"),
        (Document("2", "a\0", ["x"]), "NUL byte"),
        (Document("2", "a", ["\ud800"]), "wrong encoding: U+D800 at character 3"),
        (RowFault("torn"), "torn"),
    ],
)
def test_unsound_rows_are_set_aside_with_place_and_reason(document, reason):
    corpus = collected(Document("1", "one", []), document)
    assert corpus.documents["id"].tolist() == ["1"]
    assert corpus.rejected.to_dict("records") == [
        {"file": "part/file.txt", "line": 2, "reason": reason}
    ]


def test_rows_that_a_rule_leaves_out_are_counted():
    corpus = collected(
        ExcludedByRule("too old"), Document("1", "one", []), ExcludedByRule("too old")
    )
    assert corpus.notes["excluded"] == {"too old": 2}
    assert corpus.rejected.empty
