import pytest

from losslab.data import Corpus, check_rejected
from losslab.errors import CorpusError


def corpus(good, bad):
    documents = [(f"d{number}", "text", ["a"], None) for number in range(good)]
    rejected = [("file.csv", line, reason) for line, reason in enumerate(bad, start=2)]
    notes = {"source": "made up", "excluded": {"no label": 2}}
    return Corpus.of(documents, rejected, notes)


def test_summary_counts_documents_rejected_and_excluded_rows():
    assert corpus(3, ["torn", "no text", "torn"]).summary() == {
        "notes": {"source": "made up"},
        "documents": 3,
        "rejected": {"torn": 2, "no text": 1},
        "excluded": {"no label": 2},
    }


def test_reasons_that_differ_in_names_and_numbers_are_counted_together():
    reasons = ["duplicate id 'a', first at line 7", "duplicate id 'b', first at line 19"]
    assert list(corpus(1, reasons).summary()["rejected"].values()) == [2]


def test_as_many_rejected_rows_as_allowed_do_no_harm():
    check_rejected(corpus(99, ["torn"]).summary(), limit=0.01, details="rejected_rows")


def test_too_many_rejected_rows_are_told_with_their_reasons_and_where_they_are():
    summary = corpus(98, ["no text", "torn", "torn"]).summary()
    message = r"3 of 101 rows were rejected \(3.0%\).*\(1.0%\) allows: torn \(2\); no text \(1\).*"
    with pytest.raises(CorpusError, match=message) as raised:
        check_rejected(summary, limit=0.01, details="rejected_rows")
    assert raised.value.details == "rejected_rows"
