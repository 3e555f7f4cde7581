import pytest

from losslab.data.readers.reuters import read_reuters
from losslab.errors import CorpusError


def article(newid, split, topics, text="<TITLE>Tin</TITLE><BODY>It rose.</BODY>", has_topics="YES"):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{has_topics}" LEWISSPLIT="{split}" OLDID="9" NEWID="{newid}">\n'
        f"<TOPICS>{listed}</TOPICS>\n<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"
    )


def read_articles(folder, *articles):
    header = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
    (folder / "reut2-000.sgm").write_bytes((header + "".join(articles)).encode("latin-1"))
    return read_reuters(folder)


def test_only_topics_of_both_splits_count(tmp_path):
    corpus = read_articles(
        tmp_path,
        article(1, "TRAIN", ["tin", "zinc"]),
        article(2, "TRAIN", ["zinc"]),
        article(3, "TEST", ["gold", "tin"]),
        article(4, "TEST", []),
        article(5, "NOT-USED", ["tin"]),
        article(6, "TRAIN", ["tin"], has_topics="BYPASS"),
        article(1199, "TRAIN", ["tin"]),
    )
    assert corpus.documents.to_dict("records") == [
        {"id": "1", "text": "Tin\nIt rose.", "labels": ["tin"], "split": "train"},
        {"id": "3", "text": "Tin\nIt rose.", "labels": ["tin"], "split": "test"},
    ]
    assert corpus.rejected.empty
    assert corpus.notes["excluded"] == {
        "no topic that occurs in train and test": 2,
        "outside the ModApte split": 2,
        "NEWID 1199": 1,
    }


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<TITLE>A &lt;B> &amp; C&#3;</TITLE>", "A <B> & C"),
        ("\nAll there is\n&#3;", "All there is"),
        ("<TITLE>Ça</TITLE>\n<DATELINE>  ROME, </DATELINE><BODY>x\ny</BODY>", "Ça\nx\ny"),
    ],
)
def test_text_is_title_and_body_or_whatever_there_is(tmp_path, raw, text):
    corpus = read_articles(tmp_path, article(1, "TRAIN", ["t"]), article(2, "TEST", ["t"], raw))
    assert corpus.documents["text"].tolist()[1] == text


def test_torn_articles_are_set_aside_with_their_line(tmp_path):
    torn = article(2, "TRAIN", ["tin"])
    corpus = read_articles(
        tmp_path,
        article(1, "TRAIN", ["tin"]),
        torn[:-20] + "\n",
        article(3, "TEST", ["tin"], text=" "),
        article(1, "TEST", ["tin"]),
        torn.replace("NEWID", "NOID"),
    )
    assert corpus.documents["id"].tolist() == ["1"]
    assert corpus.rejected[["line", "reason"]].values.tolist() == [
        [7, "article is truncated"],
        [11, "empty text"],
        [16, "duplicate id '1', first at reut2-000.sgm, line 2"],
        [21, "expected the attributes NEWID, TOPICS and LEWISSPLIT"],
    ]


def test_file_without_articles_is_told(tmp_path):
    with pytest.raises(CorpusError, match=r"reut2-000\.sgm, line 1: expected <REUTERS"):
        read_articles(tmp_path)


def test_folder_without_files_is_told(tmp_path):
    with pytest.raises(CorpusError, match=r"no file reut2-\*\.sgm"):
        read_reuters(tmp_path)
