import csv
import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from image_files import encoded, noise

from losslab.data.readers.own import read_own
from losslab.data.readers.sniffing import DELIMITERS, SEPARATORS
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
    corpus = read_own(folder, file="own.csv")
    assert labels_of(corpus) == [["a", "b"], [], ["b"]]
    assert corpus.documents["id"].tolist() == ["row-2", "row-3", "row-4"]
    assert corpus.documents["split"].isna().all()


def test_separator_lets_labels_hold_a_comma(tmp_path):
    folder = write_csv(tmp_path, 'text,labels\nOne,"dogs, big;""cats"""\n')
    assert labels_of(read_own(folder, file="own.csv", separator=";")) == [["dogs, big", '"cats"']]


def test_json_list_of_labels(tmp_path):
    folder = write_csv(tmp_path, 'text,labels\nOne,"[""a, b"", ""c d"", 3]"\nTwo,"[""a"\n')
    corpus = read_own(folder, file="own.csv")
    assert labels_of(corpus) == [["a, b", "c d", "3"]]
    assert corpus.rejected["reason"].tolist() == ["labels: expected a JSON or Python list"]


def test_one_hot_labels(tmp_path):
    folder = write_csv(tmp_path, "text,a,b,c\nOne,1,0,1.0\nTwo,False,,TRUE\nThree,2,0,0\n")
    corpus = read_own(folder, file="own.csv", labels=["a", "b", "c"])
    assert labels_of(corpus) == [["a", "c"], ["c"]]
    assert corpus.rejected.to_dict("records") == [
        {"file": "own.csv", "line": 4, "reason": "column 'a': expected 0 or 1, found '2'"}
    ]


def test_several_text_columns_ids_and_splits(tmp_path):
    rows = ["name,title,body,tags,part", "x,T,B,a,train", "y,,B,b,Dev", "z,T,,a,", "w,T,B,a,half"]
    folder = write_csv(tmp_path, b"\xef\xbb\xbf" + "\n".join(rows).encode())
    corpus = read_own(
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
    absolute = read_own(tmp_path / "none", file=str(elsewhere / "own.csv"))
    monkeypatch.chdir(elsewhere)
    relative = read_own(tmp_path / "none", file="own.csv")
    assert labels_of(absolute) == labels_of(relative) == [["a"]]


def test_missing_file_is_told_where_it_was_expected(tmp_path):
    with pytest.raises(CorpusError, match=r"own\.csv is neither in .* nor in "):
        read_own(tmp_path, file="own.csv")


def test_json_lines_with_lists_strings_and_splits(tmp_path):
    folder = write_jsonl(
        tmp_path,
        {"id": 7, "text": "Größe", "labels": ["a, b", "c"], "split": "test"},
        {"id": "8", "text": "Two", "labels": "a;c", "split": None},
    )
    corpus = read_own(folder, file="own.jsonl", separator=";", split="split", id="id")
    assert corpus.documents.to_dict("records") == [
        {"id": "7", "text": "Größe", "labels": ["a, b", "c"], "split": "test"},
        {"id": "8", "text": "Two", "labels": ["a", "c"], "split": None},
    ]


def test_json_lines_with_one_hot_fields(tmp_path):
    folder = write_jsonl(tmp_path, {"text": "One", "a": 1, "b": False, "c": True})
    assert labels_of(read_own(folder, file="own.jsonl", labels=["a", "b", "c"])) == [["a", "c"]]


def test_unsound_json_lines_are_set_aside(tmp_path):
    folder = write_jsonl(
        tmp_path,
        {"text": "One"},
        {"text": ["One"], "labels": []},
        {"text": "One", "labels": {"a": 1}},
        {"text": "One", "labels": [{"a": 1}]},
        {"text": " ", "labels": ["a"]},
    )
    corpus = read_own(folder, file="own.jsonl")
    assert corpus.documents.empty
    assert corpus.rejected["reason"].tolist() == [
        "no field 'labels'",
        "field 'text': expected a string, found \"['One']\"",
        "labels: expected a list or a string, found \"{'a': 1}\"",
        "field 'labels': expected a string, found \"{'a': 1}\"",
        "empty text",
    ]


def test_file_without_rows_is_refused(tmp_path):
    (tmp_path / "mine.csv").write_text("text,labels\n")
    with pytest.raises(CorpusError, match=r"mine\.csv has no rows"):
        read_own(tmp_path, file="mine.csv")


def test_separator_is_read_off_the_labels_and_told(tmp_path, caplog):
    caplog.set_level("INFO", "losslab")
    write_csv(tmp_path, "text,labels\none,a|b\ntwo,b|c\nthree,c\n")
    assert labels_of(read_own(tmp_path, file="own.csv")) == [["a", "b"], ["b", "c"], ["c"]]
    assert caplog.messages == [
        "own.csv: CSV, delimiter comma, text: text, labels: labels, separated by bar"
    ]


def test_labels_that_hold_another_separator_are_warned_of(tmp_path, caplog):
    write_csv(tmp_path, "text,labels\none,a|b\ntwo,b|c\nthree,c\n")
    read_own(tmp_path, file="own.csv", separator="comma")
    assert "2 of 3 labels contain '|', such as 'a|b': corpus.separator=bar?" in caplog.messages


def test_labels_of_words_that_are_joined_by_spaces_are_warned_of(tmp_path, caplog):
    areas = ["cs.AI", "cs.CL", "cs.LG", "math.ST"]
    pairs = [f"{one} {two}" for one in areas for two in areas if one != two]
    write_csv(tmp_path, "text,labels\n" + "".join(f"t,{pair}\n" for pair in pairs))
    read_own(tmp_path, file="own.csv")
    assert "12 of 12 labels contain ' ', such as 'cs.AI cs.CL': corpus.separator=space?" in (
        caplog.messages
    )
    caplog.clear()
    assert labels_of(read_own(tmp_path, file="own.csv", separator="space"))[0] == areas[:2]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_labels_that_are_texts_of_their_own_are_warned_of(tmp_path, caplog):
    write_csv(tmp_path, "text,labels\n" + "".join(f"t,note {n}\n" for n in range(30)))
    read_own(tmp_path, file="own.csv")
    assert "30 of 30 labels have a single document, such as 'note 0'" in caplog.text


def test_cells_may_be_kept_whole(tmp_path):
    write_csv(tmp_path, 'text,labels\nOne,"Arts, Crafts"\nTwo,\n')
    assert labels_of(read_own(tmp_path, file="own.csv", separator="none")) == [["Arts, Crafts"], []]


def test_python_lists_are_read_and_numpy_ones_are_not_joined(tmp_path):
    cells = ["['a, b', 'c']", "['a' 'c']", "[__import__('os')]", "['it''s']"]
    write_csv(tmp_path, "text,labels\n" + "".join(f'One,"{cell}"\n' for cell in cells))
    corpus = read_own(tmp_path, file="own.csv")
    assert labels_of(corpus) == [["a, b", "c"]]
    assert corpus.rejected["reason"].tolist() == [
        "labels: expected commas between the items of a list",
        "labels: expected a JSON or Python list",
        "labels: expected commas between the items of a list",
    ]


def test_numbers_are_labels(tmp_path):
    write_jsonl(tmp_path, *({"text": "t", "labels": each} for each in (3, 4.0, None, True, 0.5)))
    corpus = read_own(tmp_path, file="own.jsonl")
    assert labels_of(corpus) == [["3"], ["4"], []]
    assert len(corpus.rejected) == 2


def test_columns_are_named_on_one_line(tmp_path):
    write_csv(tmp_path, "title,body,x,y\nT,B,1,0\nT2,B,0,1\n")
    corpus = read_own(tmp_path, file="own.csv", text="title|body", labels="x|y")
    assert corpus.documents["text"].tolist() == ["T\nB", "T2\nB"]
    assert labels_of(corpus) == [["x"], ["y"]]


def test_all_columns_of_zeros_and_ones_are_labels(tmp_path, caplog):
    caplog.set_level("INFO", "losslab")
    write_csv(tmp_path, "id,body,x,note,y,z\n7,T,1,n,0.0,\n8,U,,,True,0\n")
    corpus = read_own(tmp_path, file="own.csv", text="body", labels="*", id="id")
    assert labels_of(corpus) == [["x"], ["y"]]
    assert "labels: 3 one-hot columns (x, y, z)" in caplog.text


def test_no_column_of_zeros_and_ones_is_told(tmp_path):
    write_csv(tmp_path, "text,x,y\nOne,a,2\n")
    with pytest.raises(CorpusError, match=r"finds no column of 0 and 1 among x, y: name them"):
        read_own(tmp_path, file="own.csv", labels="*")


def test_missing_field_of_json_lines_lists_those_there_are(tmp_path):
    write_jsonl(tmp_path, {"body": "One", "tags": []}, {"tags": [], "more": 1})
    with pytest.raises(CorpusError, match=r"column 'text', found 0: the columns are body, tags"):
        read_own(tmp_path, file="own.jsonl")


def test_parquet_with_lists_and_nulls(tmp_path):
    table = pd.DataFrame({"text": ["One", "Two", None], "labels": [["a", "b"], None, ["a"]]})
    table.to_parquet(tmp_path / "own.parquet")
    corpus = read_own(tmp_path, file="own.parquet")
    assert labels_of(corpus) == [["a", "b"], []]
    assert corpus.rejected.to_dict("records") == [
        {
            "file": "own.parquet",
            "line": 3,
            "reason": "field 'text': expected a string, found 'None'",
        }
    ]


def test_broken_parquet_is_told(tmp_path):
    pd.DataFrame({"text": ["One"], "labels": ["a"]}).to_parquet(tmp_path / "own.parquet")
    content = (tmp_path / "own.parquet").read_bytes()
    (tmp_path / "own.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(CorpusError, match=r"own\.parquet: expected Parquet, found "):
        read_own(tmp_path, file="own.parquet")


def write_texts(folder, **texts):
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("cp1252"))


def test_folder_of_texts_has_labels_by_folder(tmp_path, caplog):
    caplog.set_level("INFO", "losslab")
    write_texts(tmp_path / "notes", bug__1="Größe", bug__ui__2="Two", idea__3="Three", root="Four")
    corpus = read_own(tmp_path, file="notes")
    assert corpus.documents.to_dict("records") == [
        {"id": "bug/1.txt", "text": "Größe", "labels": ["bug"], "split": None},
        {"id": "bug/ui/2.txt", "text": "Two", "labels": ["bug/ui"], "split": None},
        {"id": "idea/3.txt", "text": "Three", "labels": ["idea"], "split": None},
        {"id": "root.txt", "text": "Four", "labels": [], "split": None},
    ]
    assert caplog.messages == [
        "notes: 4 texts, labelled by their folders, encoding cp1252 (such as 'Größe')"
    ]


def test_folder_of_texts_may_be_split_by_folder(tmp_path):
    write_texts(tmp_path / "notes", train__bug__1="One", dev__bug__1="Two", test__idea__1="Three")
    documents = read_own(tmp_path, file="notes").documents
    assert documents["split"].tolist() == ["validation", "test", "train"]
    assert documents["labels"].tolist() == [["bug"], ["idea"], ["bug"]]


def test_folder_with_a_table_is_no_folder_of_texts(tmp_path):
    pd.DataFrame({"text": ["One"]}).to_parquet(tmp_path / "part.parquet")
    with pytest.raises(CorpusError, match=r"found part\.parquet: give its path"):
        read_own(tmp_path.parent, file=tmp_path.name)


def test_workbook_is_told_what_to_do_with(tmp_path):
    (tmp_path / "own.xlsx").write_bytes(b"PK\3\4")
    with pytest.raises(CorpusError, match="is a workbook: save its sheet as CSV or Parquet"):
        read_own(tmp_path, file="own.xlsx")


def test_excel_names_its_delimiter_on_the_first_line(tmp_path):
    write_csv(tmp_path, "sep=;\r\ntext;labels\r\nOne, two;a\r\n")
    corpus = read_own(tmp_path, file="own.csv")
    assert corpus.documents.to_dict("records") == [
        {"id": "row-3", "text": "One, two", "labels": ["a"], "split": None}
    ]


@pytest.mark.parametrize(
    ("option", "value", "content"),
    [
        ("encoding", "cp1251", "text,labels\nжизнь,a\n".encode("cp1251")),
        ("delimiter", "tab", b"text\tlabels\n,,,;;;\ta\n"),
        ("separator", "/", b"text,labels\nOne,a/b\n"),
        ("format", "jsonl", b'{"text": "One", "labels": ["a"]}\n'),
    ],
)
def test_what_is_said_of_a_file_counts(tmp_path, option, value, content):
    write_csv(tmp_path, content)
    corpus = read_own(tmp_path, file="own.csv", **{option: value})
    assert corpus.rejected.empty
    assert corpus.documents["labels"][0][0] == "a"


def test_unknown_encoding_is_told(tmp_path):
    write_csv(tmp_path, "text,labels\nOne,a\n")
    with pytest.raises(CorpusError, match=r"corpus\.encoding: 'base64' is no encoding of text"):
        read_own(tmp_path, file="own.csv", encoding="base64")


TEXTS = st.text(
    st.characters(codec="cp1252", exclude_categories=["Cc", "Cf", "Zs"]), min_size=1, max_size=9
).map(lambda text: f"x {text} y")
NAMES = st.text(st.sampled_from("abcdefgü '\""), min_size=1, max_size=6).map(
    lambda name: f"n{name}".strip()
)


@given(
    rows=st.lists(st.tuples(TEXTS, st.lists(NAMES, max_size=4, unique=True)), min_size=1),
    delimiter=st.sampled_from(DELIMITERS),
    separator=st.sampled_from(SEPARATORS),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_way_of_writing_a_csv_gives_its_rows(
    tmp_path, rows, delimiter, separator, encoding, quoting, line_end
):
    with (tmp_path / "own.csv").open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
        writer.writerow(["number", "text", "labels"])
        writer.writerows([n, text, separator.join(names)] for n, (text, names) in enumerate(rows))
    corpus = read_own(tmp_path, file="own.csv", id="number")
    assert corpus.rejected.empty
    assert corpus.documents["text"].tolist() == [text for text, _ in rows]
    assert labels_of(corpus) == [names for _, names in rows]


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
    corpus = read_own(pictures, file=f"own.{kind}", image="picture")
    assert corpus.documents["image"].tolist() == corpus.documents["text"].tolist() == paths[::3]
    assert labels_of(corpus) == [["x", "y"]] * 2
    assert corpus.rejected["reason"].tolist() == [
        "image '../outside.png' is outside the folder of the corpus",
        "image file is missing",
    ]


def test_images_elsewhere_have_an_absolute_path(pictures, tmp_path):
    write_csv(pictures, "picture,labels\na.png,x\n")
    corpus = read_own(tmp_path / "raw", file=str(pictures / "own.csv"), image="picture")
    assert corpus.documents["image"].tolist() == [str(pictures / "a.png")]
