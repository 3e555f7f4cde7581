import json

import pytest
from image_files import encoded, noise

from losslab.data.readers.own import read_csv, read_jsonl
from losslab.errors import CorpusError


def write_csv(folder, content, name="own.csv"):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_jsonl(folder, *records):
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "own.jsonl").write_text(text, encoding="utf-8")
    return folder


def labels_of(corpus):
    return corpus.documents["labels"].tolist()


def test_separated_labels(tmp_path):
    folder = write_csv(tmp_path, 'text,labels\nOne,"a, b"\nTwo,\nThree,b\n')
    corpus = read_csv(folder, file="own.csv")
    assert labels_of(corpus) == [["a", "b"], [], ["b"]]
    assert corpus.documents["id"].tolist() == ["row-2", "row-3", "row-4"]
    assert corpus.documents["split"].isna().all()


def test_separator_lets_labels_hold_a_comma(tmp_path):
    folder = write_csv(tmp_path, 'text,labels\nOne,"dogs, big;""cats"""\n')
    assert labels_of(read_csv(folder, file="own.csv", separator=";")) == [["dogs, big", '"cats"']]


def test_json_list_of_labels(tmp_path):
    folder = write_csv(tmp_path, 'text,labels\nOne,"[""a, b"", ""c d"", 3]"\nTwo,"[""a"\n')
    corpus = read_csv(folder, file="own.csv")
    assert labels_of(corpus) == [["a, b", "c d", "3"]]
    assert corpus.rejected["reason"].tolist() == ["labels: expected a JSON list"]


def test_one_hot_labels(tmp_path):
    folder = write_csv(tmp_path, "text,a,b,c\nOne,1,0,1.0\nTwo,False,,TRUE\nThree,2,0,0\n")
    corpus = read_csv(folder, file="own.csv", labels=["a", "b", "c"])
    assert labels_of(corpus) == [["a", "c"], ["c"]]
    assert corpus.rejected.to_dict("records") == [
        {"file": "own.csv", "line": 4, "reason": "column 'a': expected 0 or 1, found '2'"}
    ]


def test_several_text_columns_ids_and_splits(tmp_path):
    rows = ["name,title,body,tags,part", "x,T,B,a,train", "y,,B,b,Dev", "z,T,,a,", "w,T,B,a,half"]
    folder = write_csv(tmp_path, b"\xef\xbb\xbf" + "\n".join(rows).encode())
    corpus = read_csv(
        folder, file="own.csv", text=["title", "body"], labels="tags", split="part", id="name"
    )
    assert corpus.documents.to_dict("records") == [
        {"id": "x", "text": "T\nB", "labels": ["a"], "split": "train"},
        {"id": "y", "text": "B", "labels": ["b"], "split": "validation"},
        {"id": "z", "text": "T", "labels": ["a"], "split": None},
    ]
    assert corpus.rejected["reason"].tolist() == [
        "unknown split 'half': expected train, validation or test"
    ]


def test_file_may_stand_anywhere(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_csv(elsewhere, "text,labels\nOne,a\n")
    absolute = read_csv(tmp_path / "none", file=str(elsewhere / "own.csv"))
    monkeypatch.chdir(elsewhere)
    relative = read_csv(tmp_path / "none", file="own.csv")
    assert labels_of(absolute) == labels_of(relative) == [["a"]]


def test_missing_file_is_told_where_it_was_expected(tmp_path):
    with pytest.raises(CorpusError, match=r"own\.csv is neither in .* nor in "):
        read_csv(tmp_path, file="own.csv")


def test_json_lines_with_lists_strings_and_splits(tmp_path):
    folder = write_jsonl(
        tmp_path,
        {"id": 7, "text": "Größe", "labels": ["a, b", "c"], "split": "test"},
        {"id": "8", "text": "Two", "labels": "a;c", "split": None},
    )
    corpus = read_jsonl(folder, file="own.jsonl", separator=";", split="split", id="id")
    assert corpus.documents.to_dict("records") == [
        {"id": "7", "text": "Größe", "labels": ["a, b", "c"], "split": "test"},
        {"id": "8", "text": "Two", "labels": ["a", "c"], "split": None},
    ]


def test_json_lines_with_one_hot_fields(tmp_path):
    folder = write_jsonl(tmp_path, {"text": "One", "a": 1, "b": False, "c": True})
    assert labels_of(read_jsonl(folder, file="own.jsonl", labels=["a", "b", "c"])) == [["a", "c"]]


def test_unsound_json_lines_are_set_aside(tmp_path):
    folder = write_jsonl(
        tmp_path,
        {"text": "One"},
        {"text": ["One"], "labels": []},
        {"text": "One", "labels": None},
        {"text": "One", "labels": [{"a": 1}]},
        {"text": " ", "labels": ["a"]},
    )
    corpus = read_jsonl(folder, file="own.jsonl")
    assert corpus.documents.empty
    assert corpus.rejected["reason"].tolist() == [
        "no field 'labels'",
        "field 'text': expected a string, found \"['One']\"",
        "labels: expected a list or a string, found 'None'",
        "field 'labels': expected a string, found \"{'a': 1}\"",
        "empty text",
    ]


def test_file_without_rows_is_refused(tmp_path):
    (tmp_path / "mine.csv").write_text("text,labels\n")
    with pytest.raises(CorpusError, match=r"mine\.csv has no rows"):
        read_csv(tmp_path, file="mine.csv")


def test_labels_that_hold_another_separator_are_warned_of(tmp_path, caplog):
    (tmp_path / "mine.csv").write_text("text,labels\none,a|b\ntwo,b|c\nthree,c\n")
    read_csv(tmp_path, file="mine.csv")
    assert "2 of 3 labels contain '|': corpus.separator='|'?" in caplog.text
    caplog.clear()
    read_csv(tmp_path, file="mine.csv", separator="|")
    assert not caplog.text


@pytest.fixture
def pictures(tmp_path):
    (tmp_path / "pictures").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"pictures/{name}.png").write_bytes(encoded(noise(seed=ord(name))))
    (tmp_path / "outside.png").write_bytes(encoded(noise()))
    return tmp_path / "pictures"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_images_by_path_from_the_file(kind, pictures):
    paths = ["a.png", "../outside.png", "missing.png", "b.png"]
    if kind == "csv":
        write_csv(pictures, "".join(["picture,labels\n", *(f'{path},"x, y"\n' for path in paths)]))
    else:
        write_jsonl(pictures, *({"picture": path, "labels": ["x", "y"]} for path in paths))
    read = {"csv": read_csv, "jsonl": read_jsonl}[kind]
    corpus = read(pictures, file=f"own.{kind}", image="picture")
    assert corpus.documents["image"].tolist() == corpus.documents["text"].tolist() == paths[::3]
    assert labels_of(corpus) == [["x", "y"]] * 2
    assert corpus.rejected["reason"].tolist() == [
        "image '../outside.png' is outside the folder of the corpus",
        "image file is missing",
    ]


def test_images_elsewhere_have_an_absolute_path(pictures, tmp_path):
    write_csv(pictures, "picture,labels\na.png,x\n")
    corpus = read_csv(tmp_path / "raw", file=str(pictures / "own.csv"), image="picture")
    assert corpus.documents["image"].tolist() == [str(pictures / "a.png")]
