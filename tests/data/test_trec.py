import pytest

from losslab.data.readers.trec import read_trec
from losslab.errors import CorpusError


def write_questions(folder, train, test="LOC:other Where is it ?\n"):
    (folder / "train_5500.label").write_bytes(train.encode("latin-1"))
    (folder / "TREC_10.label").write_bytes(test.encode("latin-1"))
    return folder


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("fine", [["NUM:dist"], ["DESC:desc"], ["LOC:other"]]),
        ("coarse", [["NUM"], ["DESC"], ["LOC"]]),
        ("suffix", [["dist"], ["desc"], ["other"]]),
    ],
)
def test_questions_and_their_labels(tmp_path, labels, expected):
    write_questions(tmp_path, "NUM:dist How far is Málaga ?\nDESC:desc What : is it ?\n")
    documents = read_trec(tmp_path, labels=labels).documents
    assert documents["id"].tolist() == ["train-1", "train-2", "test-1"]
    assert documents["text"].tolist() == ["How far is Málaga ?", "What : is it ?", "Where is it ?"]
    assert documents["labels"].tolist() == expected
    assert documents["split"].tolist() == ["train", "train", "test"]


def test_torn_and_unknown_rows_are_set_aside(tmp_path):
    write_questions(tmp_path, "NUM:dist\nnothing here\nXYZ:dist How far ?\nHUM:ind Who ?\n")
    corpus = read_trec(tmp_path)
    assert corpus.documents["id"].tolist() == ["train-4", "test-1"]
    assert corpus.rejected["line"].tolist() == [1, 2, 3]
    assert corpus.rejected["reason"].tolist() == [
        "expected 'COARSE:fine question'",
        "expected 'COARSE:fine question'",
        "unknown label 'XYZ:dist'",
    ]


def test_missing_file_is_told(tmp_path):
    write_questions(tmp_path, "NUM:dist How far ?\n")
    (tmp_path / "TREC_10.label").unlink()
    with pytest.raises(CorpusError, match=r"TREC_10\.label is missing"):
        read_trec(tmp_path)
