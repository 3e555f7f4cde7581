"""What every reader does with sound and with broken files."""

import inspect
import random

import pytest
from pydantic import ValidationError
from tiny_corpora import TINY

from losslab.data import SPLITS
from losslab.data.download.sources import SOURCES
from losslab.data.readers import PACKAGED, READERS, options_of, reader_options
from losslab.errors import CorpusError

FROM_FILES = sorted(TINY)
FILES = [(name, file) for name, tiny in TINY.items() for file in tiny.files]
DISPENSABLE = {
    ("reuters", "reut2-000.sgm"): "one of many",
    ("reuters", "reut2-001.sgm"): "one of many",
    ("toutiao", "all_cat.txt"): "then any category goes",
    ("uspto", "train.json"): "one of several",
    ("uspto", "test.json"): "one of several",
    ("ag_news", "classes.txt"): "then classes bear numbers",
    ("dbpedia", "classes.txt"): "then classes bear numbers",
    ("imdb", "train/unsup/5_0.txt"): "not read",
    ("hoc", "text/11.txt"): "one of many",
    ("hoc", "text/12.txt"): "one of many",
}


def read(name, folder):
    """Read a tiny corpus and check what holds for every corpus."""
    corpus = READERS[name](folder, **TINY[name].options)
    documents = corpus.documents
    assert documents.columns.tolist() == ["id", "text", "labels", "split"]
    assert documents["id"].is_unique
    for row in documents.itertuples():
        assert row.text == row.text.strip() != ""
        assert all(isinstance(label, str) and label.strip() for label in row.labels)
        assert row.split is None or row.split in SPLITS
        assert "\0" not in "".join((row.id, row.text, *row.labels))
        "".join((row.id, row.text, *row.labels)).encode()
    assert corpus.rejected.columns.tolist() == ["file", "line", "reason"]
    assert (corpus.rejected["line"] >= 1).all()
    assert all(corpus.rejected["reason"])
    return corpus


def rows_of(corpus):
    return [tuple(row) for row in corpus.documents.itertuples(index=False)]


WITHOUT_FILES = {name for name, source in SOURCES.items() if source.ready} - PACKAGED.keys()


def test_every_reader_of_files_has_a_tiny_corpus():
    missing = READERS.keys() - WITHOUT_FILES - TINY.keys()
    assert not missing, f"add a few rows in the format of {missing} to TINY in tiny_corpora.py"
    assert TINY.keys() <= READERS.keys(), "TINY has a corpus without a reader"


@pytest.mark.parametrize("name", FROM_FILES)
def test_sound_files_are_read_whole(name, tmp_path):
    corpus = read(name, TINY[name].write(tmp_path))
    assert rows_of(corpus) == TINY[name].documents
    assert corpus.rejected.empty


@pytest.mark.parametrize(("name", "file"), FILES)
def test_missing_file_is_told(name, file, tmp_path):
    (TINY[name].write(tmp_path) / file).unlink()
    if (name, file) in DISPENSABLE:
        read(name, tmp_path)
    elif file.startswith("labels/"):
        assert read(name, tmp_path).rejected["reason"].str.startswith("no labels").all()
    elif name in ("ag_news", "dbpedia", "yelp"):
        assert file not in read(name, tmp_path).notes["files"]
    else:
        with pytest.raises(CorpusError, match=r"missing|no file"):
            read(name, tmp_path)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_empty_file_is_told(name, file, tmp_path):
    (TINY[name].write(tmp_path) / file).write_bytes(b"")
    told = said(name, tmp_path)
    if file != "train/unsup/5_0.txt":
        assert told


def said(name, folder):
    """What is told about broken files: the error, or the reasons of the rejected rows."""
    try:
        return read(name, folder).rejected["reason"].tolist()
    except CorpusError as error:
        return [str(error)]


@pytest.mark.parametrize(("name", "file"), [pair for pair in FILES if not pair[1].endswith(".gz")])
def test_byte_order_mark_makes_no_difference(name, file, tmp_path):
    path = TINY[name].write(tmp_path) / file
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    assert rows_of(read(name, tmp_path)) == TINY[name].documents


@pytest.mark.parametrize("bad", [b"\0", b"\xff\xfe\xfa"], ids=["NUL", "bytes that do not decode"])
@pytest.mark.parametrize(
    ("name", "file"), [pair for pair in FILES if pair[0] not in ("reuters", "trec")]
)
def test_bad_bytes_in_the_last_row_are_told(name, file, bad, tmp_path):
    path = TINY[name].write(tmp_path) / file
    content = path.read_bytes().rstrip(b"\n]}")
    path.write_bytes(content + bad + b"\n")
    if file != "train/unsup/5_0.txt":
        assert said(name, tmp_path)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_line_of_ten_megabytes_breaks_nothing(name, file, tmp_path):
    with (TINY[name].write(tmp_path) / file).open("ab") as opened:
        opened.write(b"x" * 10_000_000 + b"\n")
    said(name, tmp_path)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_file_of_utf16_is_told(name, file, tmp_path):
    path = TINY[name].write(tmp_path) / file
    path.write_bytes("nothing\n".encode("utf-16"))
    if file != "train/unsup/5_0.txt":
        assert said(name, tmp_path)


def mutate(content, chance):
    """The bytes with one thing broken, as downloads, editors and exports break them."""
    at, to = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    lines = content.split(b"\n")
    line = chance.randrange(len(lines))
    junk = [
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b'"',
        b",",
        b"\t",
        b"\n",
        b"\r",
        b"{",
        b"[",
        b"]}",
        b"(",
        b"<",
    ]
    values = [b"null", b"-1", b"9" * 5000, b"[[]]", b"{}", b'""', b"true", b"1e999", b'"\\ud800"']
    return chance.choice(
        [
            lambda: content[:at],
            lambda: content[:at] + content[to:],
            lambda: content[:at] + chance.choice(junk) + content[at:],
            lambda: content[:at] + chance.choice(values) + content[to:],
            lambda: content[:at] + content[at:to] * 3 + content[to:],
            lambda: b"\n".join(lines[:line] + lines[line + 1 :]),
            lambda: b"\n".join([*lines, lines[line]]),
            lambda: b"\n".join(chance.sample(lines, len(lines))),
            lambda: content.replace(
                *chance.choices([b"1", b"0", b'"', b",", b" ", b"\t", b"-"], k=2)
            ),
            lambda: content.replace(b'"', b"").replace(b"[", b"{"),
            lambda: bytes(chance.randrange(256) for _ in range(chance.randrange(200))),
        ]
    )()


@pytest.mark.parametrize("name", FROM_FILES)
def test_mutated_files_end_in_documents_rejects_or_our_error(name, tmp_path):
    chance = random.Random(f"mutations of {name}")  # noqa: S311 - reproducible on purpose
    for _ in range(60):
        file = chance.choice(list(TINY[name].files))
        path = TINY[name].write(tmp_path) / file
        content = path.read_bytes()
        for _ in range(chance.choice([1, 1, 1, 3])):
            content = mutate(content, chance)
        path.write_bytes(content)
        said(name, tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_takes_a_folder_and_options_by_name(name):
    folder, *options = inspect.signature(READERS[name]).parameters.values()
    assert folder.name == "folder"
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert set(reader_options(name).model_fields) == {option.name for option in options}


def test_defaults_are_those_of_the_signature():
    assert reader_options("trec")().model_dump() == {"labels": "fine"}


@pytest.mark.parametrize("options", [{"labels": "finest"}, {"label": "fine"}])
def test_unknown_options_are_refused(options):
    with pytest.raises(ValidationError, match="read_trec"):
        reader_options("trec")(**options)


def test_bounds_of_an_option_are_kept():
    with pytest.raises(ValidationError, match="separator"):
        reader_options("csv")(file="own.csv", separator="")


def test_options_of_a_reader_are_those_of_its_signature():
    def read(folder, *, column: str, depth: int = 4):
        """Never called."""

    model = options_of(read)
    assert model(column="text").model_dump() == {"column": "text", "depth": 4}
    with pytest.raises(ValueError, match=r"column\n.*Field required"):
        model()
    with pytest.raises(ValueError, match=r"colour\n.*Extra inputs"):
        model(column="text", colour="red")
    with pytest.raises(ValueError, match=r"depth\n.*valid integer"):
        model(column="text", depth="deep")
