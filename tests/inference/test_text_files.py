import gzip
import io
import json

import pandas as pd
import pytest
from trained import TEXTS, make_model, small_recipe

from losslab.errors import CorpusError, ModelError
from losslab.inference.classifier import Classifier
from losslab.inference.explanation_page import render_explanations
from losslab.inference.text_files import LabelledRows, TextFile, spool, write_labels


@pytest.fixture(scope="module")
def classifier():
    return Classifier(make_model(small_recipe("textcnn")))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_every_format_gives_the_same_texts(tmp_path):
    rows = [{"text": text, "id": str(number)} for number, text in enumerate(["a, b", "c"])]
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    write(tmp_path / "t.txt", "a, b\n\nc\n")
    with gzip.open(tmp_path / "t.txt.gz", "wt") as file:
        file.write("a, b\nc\n")
    for name in ("t.csv", "t.jsonl", "t.txt", "t.txt.gz"):
        assert [row.text for row in TextFile(tmp_path / name)] == ["a, b", "c"]
    for name in ("t.csv", "t.jsonl"):
        assert [row.id for row in TextFile(tmp_path / name, id="id")] == ["0", "1"]
    assert [row.line for row in TextFile(tmp_path / "t.txt")] == [1, 3]


def test_several_columns_make_a_text(tmp_path):
    file = write(tmp_path / "t.csv", "title,body\nA,b\n")
    assert [row.text for row in TextFile(file, ["title", "body"])] == ["A\nb"]


def test_a_row_that_cannot_be_read_keeps_its_place(tmp_path, classifier):
    file = write(
        tmp_path / "t.jsonl", '{"text": "the lock"}\nbroken\n{"text": 1.5}\n{"text": ""}\n'
    )
    write_labels(tmp_path / "out.jsonl", LabelledRows(classifier, TextFile(file)))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [bool(row["error"]) for row in rows] == [False, True, True, True]
    assert rows[0]["labels"]
    assert rows[1]["labels"] == []


def test_a_missing_column_is_named(tmp_path, classifier):
    file = write(tmp_path / "t.csv", "words\nx\n")
    with pytest.raises(CorpusError, match="one column 'text', found 0: the columns are words"):
        write_labels(tmp_path / "out.csv", LabelledRows(classifier, TextFile(file)))
    assert not (tmp_path / "out.csv").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_labels_of_a_csv_are_those_of_the_classifier(tmp_path, classifier):
    pd.DataFrame({"text": TEXTS, "id": "=1+1"}).to_csv(tmp_path / "t.csv", index=False)
    rows = LabelledRows(classifier, TextFile(tmp_path / "t.csv", id="id"), rule="top_k", top=3)
    assert write_labels(tmp_path / "out.csv", rows) == len(TEXTS)
    table = pd.read_csv(tmp_path / "out.csv")
    expected = classifier.predict(TEXTS, rule="top_k", top=3)
    assert table["labels"].map(json.loads).tolist() == [list(each.labels) for each in expected]
    scores = table["probabilities"].map(json.loads)
    for found, prediction in zip(scores, expected, strict=True):
        assert found == pytest.approx(dict(prediction.scores), rel=1e-5)
    assert set(table["rule"]) == {"top_k"}
    assert set(table["id"]) == {"'=1+1"}  # no formula to a spreadsheet


def test_an_output_that_cannot_be_written_is_named(tmp_path, classifier):
    file = write(tmp_path / "t.txt", "a\n")
    with pytest.raises(ModelError, match="cannot be written: No such file"):
        write_labels(tmp_path / "no/out.csv", LabelledRows(classifier, TextFile(file)))


@pytest.mark.parametrize(
    ("content", "texts"), [(b'{"text": "a"}\n', ["a"]), (b"a\nb\n", ["a", "b"])]
)
def test_standard_input_is_json_lines_or_texts(tmp_path, content, texts):
    assert [row.text for row in TextFile(spool(io.BytesIO(content), tmp_path))] == texts


def test_explanations_name_words_and_the_page_shows_data_as_text(tmp_path, classifier):
    file = write(tmp_path / "t.txt", "the <script>lock</script> is open\n")
    rows = LabelledRows(classifier, TextFile(file), rule="top_k", explain=True)
    write_labels(tmp_path / "out.jsonl", rows, explained=True)
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert list(row["words"]) == row["labels"]
    assert any(row["words"].values())
    page = render_explanations(rows, title="<b>")
    assert "<script>" not in page
    assert page.count("<b>") == 0
    assert '<mark class="s5"' in page
