import csv
import gzip

import pytest

from losslab.data.readers.collector import RowFault
from losslab.data.readers.raw_text import (
    csv_records,
    csv_rows,
    glob_first,
    json_document,
    json_lines,
    lines,
    require_file,
)
from losslab.errors import CorpusError


def told(rows):
    """Line and content of each row, faults by their reason."""
    return [
        (location.line, str(row) if isinstance(row, RowFault) else row) for location, row in rows
    ]


def write(tmp_path, content, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_lines_are_numbered_and_blank_ones_passed_over(tmp_path):
    assert told(lines(write(tmp_path, b"a b\r\n\n \nc"))) == [(1, "a b"), (4, "c")]


def test_byte_order_mark_is_no_text(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfa\nb\n")
    assert told(lines(path)) == told(lines(path, "latin-1")) == [(1, "a"), (2, "b")]


def test_bad_bytes_cost_only_their_line(tmp_path):
    path = write(tmp_path, b"gut\n" + b"caf\xe9\nno\0thing\n" + "schön\n".encode())
    assert told(lines(path)) == [
        (1, "gut"),
        (2, "wrong encoding: byte 0xE9 at character 4"),
        (3, "NUL byte"),
        (4, "schön"),
    ]


def test_utf16_is_told(tmp_path):
    with pytest.raises(CorpusError, match="expected UTF-8, found UTF-16"):
        list(lines(write(tmp_path, "a\n".encode("utf-16"))))


def test_line_of_ten_megabytes_is_read(tmp_path):
    row = "x" * 10_000_000
    assert told(lines(write(tmp_path, row.encode()))) == [(1, row)]
    assert told(csv_rows(write(tmp_path, f'"{row}",1\n'.encode()))) == [(1, [row, "1"])]


def test_csv_field_limit_is_left_as_it_was(tmp_path):
    before = csv.field_size_limit()
    list(csv_rows(write(tmp_path, b"a,b\n")))
    assert csv.field_size_limit() == before


def test_torn_gzip_file_is_told(tmp_path):
    packed = gzip.compress(b"a\n" * 1000)
    with pytest.raises(CorpusError, match=r"file\.gz: expected a readable file"):
        list(lines(write(tmp_path, packed[:-9], "file.gz")))


def test_csv_row_over_several_lines_stands_at_its_first(tmp_path):
    path = write(tmp_path, b'a,"b\n\nc"\n\n"d, ""e""",f\n')
    assert told(csv_rows(path)) == [(1, ["a", "b\n\nc"]), (5, ['d, "e"', "f"])]


def test_stray_quote_costs_the_lines_it_swallows_and_no_more(tmp_path):
    path = write(tmp_path, b'"1","a"\n"2","torn\n"3","c"\n"4","d"\n')
    first, *torn, last = told(csv_rows(path))
    assert first == (1, ["1", "a"])
    assert [line for line, _ in torn] == [2, 3]
    assert all(reason.startswith("bad quoting") for _, reason in torn)
    assert last == (4, ["4", "d"])


def test_quote_that_never_closes_costs_every_line_after_it(tmp_path):
    rows = told(csv_rows(write(tmp_path, b'1,a\n2,"b\n3,c\n4,d\n')))
    assert [line for line, _ in rows] == [1, 2, 3, 4]
    assert rows[0] == (1, ["1", "a"])
    assert all(reason.startswith("bad quoting") for _, reason in rows[1:])


def test_records_go_by_the_header_whatever_its_order(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfb,a\n1,2\n3\n4,5,\n6,7,8\n")
    assert told(csv_records(path, ["a"])) == [
        (2, {"b": "1", "a": "2"}),
        (3, "expected 2 fields, found 1"),
        (4, {"b": "4", "a": "5"}),
        (5, "expected 2 fields, found 3"),
    ]


@pytest.mark.parametrize(("header", "count"), [("x,y", 0), ("a,a", 2)])
def test_column_must_be_there_once(tmp_path, header, count):
    path = write(tmp_path, f"{header}\n1,2\n".encode())
    with pytest.raises(CorpusError, match=rf"line 1: expected one column 'a', found {count}"):
        list(csv_records(path, ["a"]))


def test_json_lines_that_are_torn_or_no_objects_are_told(tmp_path):
    deep = "[" * 100_000
    path = write(tmp_path, f'{{"a": 1}}\n{{"a": \n[1]\n{deep}\n{{"b": 2}}\n'.encode())
    rows = told(json_lines(path))
    assert [line for line, _ in rows] == [1, 2, 3, 4, 5]
    assert (rows[0][1], rows[4][1]) == ({"a": 1}, {"b": 2})
    assert rows[1][1].startswith("not JSON: ")
    assert rows[2][1] == "expected a JSON object"
    assert rows[3][1].startswith("not JSON: ")


@pytest.mark.parametrize("content", [b'{"a": ', b"\xe9", b"[" * 100_000, b"\0"])
def test_json_file_that_is_none_is_told(tmp_path, content):
    with pytest.raises(CorpusError, match=r"file\.txt: expected JSON, found "):
        json_document(write(tmp_path, content))


def test_missing_and_empty_files_are_told(tmp_path):
    with pytest.raises(CorpusError, match=r"file\.txt is missing"):
        require_file(tmp_path / "file.txt")
    with pytest.raises(CorpusError, match=r"file\.txt, line 1: expected rows, found an empty file"):
        require_file(write(tmp_path, b""))


def test_first_pattern_that_matches_counts(tmp_path):
    for name in ("b.csv", "a.csv", "c.txt"):
        write(tmp_path, b"x", name)
    assert [path.name for path in glob_first(tmp_path, "*.tsv", "*.csv", "*.txt")] == [
        "a.csv",
        "b.csv",
    ]
    with pytest.raises(CorpusError, match=r"no file \*\.tsv or \*\.gz"):
        glob_first(tmp_path, "*.tsv", "*.gz")
