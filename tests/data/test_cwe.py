import csv
from collections import Counter

import pytest

from losslab.data.readers import PACKAGED, READERS
from losslab.data.readers.cwe import consequence_labels, read_cwe
from losslab.errors import CorpusError

HEADER = ["CWE-ID", "Name", "Status", "Description", "Extended Description", "Common Consequences"]
LEAK = "::SCOPE:Confidentiality:IMPACT:Read Memory::"


def write_view(folder, *rows, header=HEADER):
    """Write rows as the packaged view has them: every row but the header ends in a comma."""
    with (folder / "2000.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([*row, ""] for row in rows)
    return folder


@pytest.fixture(scope="module")
def packaged():
    return read_cwe(PACKAGED["cwe"]())


def test_document_is_name_description_and_extended_description(tmp_path):
    row = ["7", "Kettle left on", "Draft", " It boils dry. ", "Nobody\nlistens.", LEAK]
    documents = read_cwe(write_view(tmp_path, row)).documents
    assert documents.to_dict("records") == [
        {
            "id": "CWE-7",
            "text": "Kettle left on\nIt boils dry.\nNobody\nlistens.",
            "labels": ["Impact: Read Memory", "Scope: Confidentiality"],
            "split": None,
        }
    ]


def test_empty_parts_leave_no_blank_line_in_the_text(tmp_path):
    row = ["7", "Kettle left on", "Draft", " ", "", LEAK]
    assert read_cwe(write_view(tmp_path, row)).documents["text"].tolist() == ["Kettle left on"]


def test_rows_without_text_are_set_aside_with_their_line_those_without_consequences_counted(
    tmp_path,
):
    corpus = read_cwe(
        write_view(
            tmp_path,
            ["1", "Door ajar", "Draft", "A draught comes in.", "", ""],
            ["2", "Window open", "Draft", "So does\na cat.", "", LEAK],
            ["3", "", "Draft", " ", "", LEAK],
        )
    )
    assert corpus.documents["id"].tolist() == ["CWE-2"]
    assert corpus.notes["excluded"] == {"no consequences": 1}
    assert corpus.rejected.to_dict("records") == [
        {"file": "2000.csv", "line": 5, "reason": "empty text"},
    ]


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("", []),
        ("::SCOPE:Integrity::", ["Scope: Integrity"]),
        (
            "::SCOPE:Integrity:SCOPE:Availability:IMPACT:Hide Activities:IMPACT:Other::",
            ["Impact: Hide Activities", "Impact: Other", "Scope: Availability", "Scope: Integrity"],
        ),
        (
            "::SCOPE:Integrity:IMPACT:Other::SCOPE:Integrity:IMPACT:Read Memory::",
            ["Impact: Other", "Impact: Read Memory", "Scope: Integrity"],
        ),
        (
            "::SCOPE:Availability:IMPACT:DoS: Crash, Exit, or Restart::",
            ["Impact: DoS: Crash, Exit, or Restart", "Scope: Availability"],
        ),
        (
            "::SCOPE:Other:IMPACT:Other:LIKELIHOOD:High:NOTE:Rain is likely.::",
            ["Impact: Other", "Scope: Other"],
        ),
        (
            "::SCOPE:Other:IMPACT:Other:NOTE:In SCOPE: all of it:SCOPE:Integrity:IMPACT:None::",
            ["Impact: Other", "Scope: Other"],
        ),
        (
            "::SCOPE:Other:NOTE:IMPACT:Small.::SCOPE:Integrity::",
            ["Scope: Integrity", "Scope: Other"],
        ),
    ],
)
def test_labels_are_the_scopes_and_impacts_of_all_consequences(cell, labels):
    assert consequence_labels(cell) == labels


def test_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"2000\.csv is missing"):
        read_cwe(tmp_path)


def test_missing_column_is_named(tmp_path):
    folder = write_view(tmp_path, header=["CWE-ID", "Name", "Description", "Extended Description"])
    with pytest.raises(
        CorpusError, match=r"2000\.csv, line 1: expected one column 'Common Consequences', found 0"
    ):
        read_cwe(folder)


def test_view_without_rows_gives_empty_tables(tmp_path):
    corpus = read_cwe(write_view(tmp_path))
    assert corpus.documents.columns.tolist() == ["id", "text", "labels", "split"]
    assert corpus.rejected.columns.tolist() == ["file", "line", "reason"]
    assert corpus.documents.empty
    assert corpus.rejected.empty


def test_packaged_corpus_has_the_known_size(packaged):
    assert len(packaged.documents) == 916
    assert packaged.rejected.empty
    assert packaged.notes == {
        "source": "cwe2",
        "file": "2000.csv",
        "excluded": {"no consequences": 47},
    }


def test_packaged_corpus_has_the_known_labels(packaged):
    frequencies = Counter(packaged.documents["labels"].explode())
    assert len(frequencies) == 33
    assert max(frequencies.values()) == 452
    assert min(frequencies.values()) == 7
    assert frequencies.total() / 916 == pytest.approx(4.02, abs=0.005)


def test_packaged_documents_are_distinct_and_wholly_filled(packaged):
    documents = packaged.documents
    assert documents["id"].is_unique
    assert documents["text"].str.strip().str.len().min() > 0
    assert documents["labels"].map(len).min() > 0
    assert documents["split"].isna().all()


def test_reader_is_found_by_name():
    assert READERS["cwe"] is read_cwe


def test_row_that_is_cut_short_is_set_aside(tmp_path):
    header = "CWE-ID,Name,Description,Extended Description,Common Consequences"
    rows = [header, "1,A fault,It fails.,,::SCOPE:Integrity::", "2,Torn"]
    (tmp_path / "2000.csv").write_text("\n".join(rows), encoding="utf-8")
    corpus = read_cwe(tmp_path)
    assert corpus.documents["id"].tolist() == ["CWE-1"]
    assert corpus.rejected.to_dict("records") == [
        {"file": "2000.csv", "line": 3, "reason": "expected 5 fields, found 2"}
    ]


def test_entry_that_is_only_a_note_gives_no_label():
    assert consequence_labels("::NOTE:SCOPE:Integrity::") == []
