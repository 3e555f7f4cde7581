"""The options and quirks of single readers."""

import json

import pytest
from tiny_corpora import TINY, json_rows, utf8

from losslab.data import assign_splits
from losslab.data.readers import READERS
from losslab.errors import CorpusError


def written(tmp_path, name, **files):
    """The tiny corpus of a reader with some files replaced, or added to (a value in a list)."""
    folder = TINY[name].write(tmp_path)
    for file, content in files.items():
        path = folder / file
        path.write_bytes(path.read_bytes() + content[0] if isinstance(content, list) else content)
    return folder


def documents(name, folder, **options):
    return READERS[name](folder, **{**TINY[name].options, **options}).documents


@pytest.mark.parametrize(
    ("name", "file", "row", "reason"),
    [
        ("cwe", "2000.csv", "1,Leak,Again.,,::SCOPE:Integrity::", "duplicate id 'CWE-1', first at"),
        ("sst5", "trees/dev.txt", "(2 (2 torn", "expected one tree, found unbalanced brackets"),
        (
            "sst5",
            "trees/dev.txt",
            "(2 (2 a)) (2 b)",
            "expected one tree, found unbalanced brackets",
        ),
        ("sst5", "trees/dev.txt", "(7 (2 a) (2 b))", "unknown label: expected a class of 0 to 4"),
        ("sst5", "trees/dev.txt", "(2)", "empty text"),
        ("trec", "TREC_10.label", "XYZ:city Where ?", "unknown label 'XYZ:city'"),
        ("wos", "Data.txt", "0\t1\t2\tCS\tX", "expected 7 fields, found 5"),
        ("wos", "Data.txt", "0\t1\t2\tCS\t \tk\tSome text.", "empty label"),
        ("cnipa", "cnipa.jsonl", '{"id": "3", "title": "x"', "not JSON"),
        ("cnipa", "cnipa.jsonl", '{"id": "3", "title": "x", "abstract": "y"}', "no field 'ipc'"),
        (
            "cnipa",
            "cnipa.jsonl",
            '{"id": "3", "title": "x", "abstract": "y", "ipc": "A01B"}',
            "field 'ipc': expected a list, found 'A01B'",
        ),
        (
            "cnipa",
            "cnipa.jsonl",
            '{"id": null, "title": "x", "abstract": "y", "ipc": []}',
            "field 'id': expected a string, found 'None'",
        ),
        ("toutiao", "mlc_data.txt", "12|,|weather|,|x|,||,|", "unknown label 'weather'"),
        ("toutiao", "mlc_data.txt", "12|,|news|,|x", "expected 5 fields, found 3"),
        ("toutiao", "mlc_data.txt", "10|,|news|,|x|,||,|", "duplicate id '10', first at mlc_data"),
        (
            "archive",
            "train.csv",
            "3,T,A,1,0,0,0,0,yes",
            "column 'Quantitative Finance': expected 0",
        ),
        ("cmu_movie", "plot_summaries.txt", "torn line", "expected 2 fields, found 1"),
        ("goemotions", "dev.tsv", "Hm.\t3\td1", "unknown label id '3': expected 0 to 2"),
        ("goemotions", "dev.tsv", "Hm.\t\td1", "unknown label id ''"),
        ("goemotions", "dev.tsv", "Hm.\t1", "expected 3 fields, found 2"),
        ("goemotions", "dev.tsv", " \t1\td1", "empty text"),
        ("toxic", "train.csv", "0c,-1,-1,-1,-1,-1,-1,Hm.", "column 'toxic': expected 0 or 1"),
        ("ag_news", "test.csv", '"9","T","D"', "unknown label id '9': expected 1 to 2"),
        ("ag_news", "test.csv", '"1","T"', "expected 3 fields, found 2"),
        ("dbpedia", "test.csv", '"0","T","D"', "unknown label id '0': expected 1 to 2"),
        ("yelp", "test.csv", '"good","T"', "unknown label id 'good'"),
        ("arxiv", "arxiv-metadata-oai-snapshot.json", '{"id": "07.3"}', "no field 'title'"),
        ("hoc", "text/12.txt", "One more .", "expected as many label sets as sentences, found 1"),
        ("movie_posters", "MovieGenre.csv", "4711,u,T,1,A,u", "duplicate id '4711'"),
        ("movie_posters", "MovieGenre.csv", "5,u, ,1,A,u", "empty text"),
        ("pubmed", "allMeSH.json", '{"pmid": "3", "title": "torn', "not JSON"),
        ("pubmed", "allMeSH.json", '{"pmid": "3", "title": "x"},', "no field 'abstractText'"),
    ],
)
def test_broken_row_is_set_aside_with_its_reason(name, file, row, reason, tmp_path):
    corpus = READERS[name](written(tmp_path, name, **{file: [utf8(row)]}), **TINY[name].options)
    assert corpus.rejected["file"].tolist() == [file]
    assert corpus.rejected["reason"][0].startswith(reason)
    if name != "hoc":
        assert len(corpus.documents) == len(TINY[name].documents)


def test_wos_labels_by_choice(tmp_path):
    folder = written(tmp_path, "wos")
    assert documents("wos", folder, labels="domain")["labels"].tolist() == [["Medical"], ["CS"]]
    assert documents("wos", folder, labels="both")["labels"][0] == ["Medical", "Skin Care"]
    assert documents("wos", folder, labels="path")["labels"][0] == ["Medical:Skin Care"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("area", [["area 7"], ["area 3"]]),
        ("domain", [["domain 0"], ["domain 1"]]),
        ("both", [["domain 0", "area 7"], ["domain 1", "area 3"]]),
        ("path", [["domain 0:area 7"], ["domain 1:area 3"]]),
    ],
)
def test_wos_line_files(labels, expected, tmp_path):
    (tmp_path / "WOS46985").mkdir()
    for name, rows in {"X.txt": ["One", "Two"], "Y.txt": "73", "YL1.txt": "01"}.items():
        (tmp_path / "WOS46985" / name).write_bytes(utf8(*rows))
    read = READERS["wos"](tmp_path, labels=labels).documents
    assert read["labels"].tolist() == expected
    assert read["text"].tolist() == ["One", "Two"]


def test_files_side_by_side_must_be_equally_long(tmp_path):
    folder = written(tmp_path, "aapd", label_train=utf8("cs.it"))
    with pytest.raises(CorpusError, match=r"label_train, line 2: expected a line beside 'we doubt"):
        READERS["aapd"](folder)


def test_blank_end_of_one_of_two_files_side_by_side_does_no_harm(tmp_path):
    folder = written(tmp_path, "aapd", label_train=[b"\n \n"])
    assert len(documents("aapd", folder)) == 4


def test_blank_line_keeps_its_place_beside_the_other_file(tmp_path):
    folder = written(tmp_path, "aapd", text_train=utf8("", "we doubt it"))
    corpus = READERS["aapd"](folder)
    assert corpus.rejected.values.tolist() == [["text_train", 1, "empty text"]]
    assert corpus.documents["labels"][0] == ["cs.lg"]


def test_aapd_as_json(tmp_path):
    for part in ("val", "test"):
        entries = [{"text": f"we {part} it", "label": ["cs.it"]}, {"text": "x", "label": ["cs.?"]}]
        (tmp_path / f"a_{part}.json").write_text(json.dumps(entries))
    (tmp_path / "b_test.json").write_text('{"content": []}')
    (tmp_path / "a_labels.json").write_text('{"cs.it": 0}')
    corpus = READERS["aapd"](tmp_path)
    assert corpus.documents["id"].tolist() == ["validation-1", "test-1"]
    assert corpus.documents["split"].tolist() == ["validation", "test"]
    assert corpus.rejected["reason"].tolist() == ["unknown label 'cs.?'"] * 2
    assert corpus.notes["files"] == ["a_val.json", "a_test.json"]


def test_aapd_json_of_another_shape_is_told(tmp_path):
    (tmp_path / "a_test.json").write_text('{"content": []}')
    with pytest.raises(CorpusError, match=r"a_test\.json: expected a list of objects"):
        READERS["aapd"](tmp_path)


@pytest.mark.parametrize(
    ("depth", "labels"),
    [(1, ["A"]), (3, ["A47"]), (4, ["A47J"]), (99, ["A47J 27/21", "A47J 36/00"])],
)
def test_patent_codes_are_cut(depth, labels, tmp_path):
    assert documents("cnipa", written(tmp_path, "cnipa"), depth=depth)["labels"][0] == labels


def test_label_ids_of_patents_are_not_cut(tmp_path):
    record = {"id": "1", "title": ["a", "b"], "abstract": ["c"], "labels": [5, 113, 71234]}
    (tmp_path / "Validation_sample.json").write_bytes(json_rows(record))
    read = READERS["uspto"](tmp_path).documents
    assert read.to_dict("records") == [
        {"id": "1", "text": "a b\nc", "labels": ["5", "113", "71234"], "split": "validation"}
    ]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("cnipa", ["水壶", "会唱歌。", "水壶\n会唱歌。"]),
        ("archive", ["Sums", "We add,\n and add.", "Sums\nWe add,\n and add."]),
        ("cmu_movie", ["Rain", "It rains.", "Rain\nIt rains."]),
        ("arxiv", ["On tea", "It is.", "On tea\nIt is."]),
        ("pubmed", ["Tea", "Hot.", "Tea\nHot."]),
    ],
)
def test_part_of_a_document(name, texts, tmp_path):
    folder = written(tmp_path, name)
    parts = ("title", "abstract", "both")
    assert [documents(name, folder, part=part)["text"][0] for part in parts] == texts


def test_toutiao_categories_are_cut(tmp_path):
    read = documents("toutiao", written(tmp_path, "toutiao"), depth=1)
    assert read["labels"].tolist() == [["news", "digital"], ["news"]]


def test_toutiao_without_a_list_takes_any_category(tmp_path):
    folder = written(tmp_path, "toutiao")
    (folder / "all_cat.txt").unlink()
    (folder / "mlc_data.txt").write_bytes(utf8("1|,|weather|,|x|,||,|"))
    assert documents("toutiao", folder)["labels"].tolist() == [["weather"]]


def test_arxiv_archives(tmp_path):
    read = documents("arxiv", written(tmp_path, "arxiv"), labels="archive")
    assert read["labels"].tolist() == [["cs", "hep-ph"], ["cs"]]


def test_cmu_movies_without_a_counterpart_are_counted(tmp_path):
    corpus = READERS["cmu_movie"](written(tmp_path, "cmu_movie"))
    assert corpus.notes["excluded"] == {"no metadata": 1, "no summary": 1}


def test_cmu_metadata_that_is_broken_is_told(tmp_path):
    folder = written(tmp_path, "cmu_movie")
    rows = ["7\ttoo\tfew", "8" + "\tx" * 8, '9\t/m/3\tHail\t\t\t\t{}\t{}\t{"/m/a": "Drama"}']
    (folder / "movie.metadata.tsv").write_bytes(utf8(*rows))
    corpus = READERS["cmu_movie"](folder)
    assert corpus.rejected["reason"].tolist() == [
        "expected 9 fields, found 3",
        "genres: expected a JSON object of names",
    ]
    assert corpus.notes["excluded"] == {"no metadata": 3, "no summary": 1}


def test_toxic_files_by_choice(tmp_path):
    folder = TINY["toxic"].write(tmp_path / "data")
    assert len(documents("toxic", tmp_path)) == 2
    (folder / "train.csv").rename(folder / "val.csv")
    assert len(documents("toxic", tmp_path, files="data/*.csv")) == 2
    with pytest.raises(CorpusError, match=r"no file \*\*/train\*\.csv"):
        READERS["toxic"](tmp_path)


@pytest.mark.parametrize("pattern", ["", "/x/*.csv", "a/**b"])
def test_pattern_that_is_none_is_told(pattern, tmp_path):
    with pytest.raises(CorpusError, match=r"cannot search for|no file"):
        READERS["toxic"](tmp_path, files=pattern)


def test_classes_without_train_or_test_file_are_told(tmp_path):
    (tmp_path / "data.csv").write_bytes(utf8("1,x,y"))
    with pytest.raises(CorpusError, match=r"no file train\.csv or test\.csv"):
        READERS["ag_news"](tmp_path)


def test_unlabelled_reviews_are_counted(tmp_path):
    corpus = READERS["imdb"](written(tmp_path, "imdb"))
    assert corpus.notes["excluded"] == {"no label": 1}


@pytest.mark.parametrize(
    ("options", "ids", "labels"),
    [
        (
            {"unit": "sentence"},
            ["11-1", "11-2", "11-3", "12-1"],
            [["Growing--Fast", "Dying"], ["Dying--Slowly", "Growing--Fast"], [], []],
        ),
        ({"labels": "top"}, ["11", "12"], [["Dying", "Growing"], []]),
    ],
)
def test_hallmarks_by_sentence_and_by_first_level(options, ids, labels, tmp_path):
    read = documents("hoc", written(tmp_path, "hoc"), **options)
    assert read["id"].tolist() == ids
    assert read["labels"].tolist() == labels


def test_posters_sheet_in_latin_1(tmp_path):
    folder = written(tmp_path, "movie_posters")
    sheet = folder / "MovieGenre.csv"
    sheet.write_bytes(
        sheet.read_text(encoding="utf-8-sig").replace("Dice", "Dés").encode("latin-1")
    )
    titles = {"image": False}
    read = documents("movie_posters", folder, encoding="latin-1", **titles)
    assert read["text"][1] == "Dés (1902)"
    assert len(documents("movie_posters", folder, **titles)) == 1


def test_sentences_of_a_paragraph_that_is_no_object_are_rejected(tmp_path):
    folder = written(tmp_path, "squad")
    file = folder / "train-v1.1.json"
    file.write_text(file.read_text().replace('"paragraphs": [', '"paragraphs": [7, '))
    corpus = READERS["squad"](folder)
    assert corpus.rejected["reason"].tolist() == ["expected a JSON object"]
    assert len(corpus.documents) == 2


ARTICLES = [
    {"pmid": "1", "title": "Tea", "abstractText": "a, ]} b", "meshMajor": ["X"], "year": "2019"},
    {"pmid": "2", "title": "Ice", "abstractText": "c", "meshMajor": ["Y", "X"], "year": 2020},
]
LAYOUTS = {
    "one line": json.dumps({"articles": ARTICLES}),
    "indented": json.dumps({"version": 3, "articles": ARTICLES}, indent=2),
    "an article a line": '{"articles":[\n' + ",\n".join(map(json.dumps, ARTICLES)) + "\n]}",
    "opening with an article": '{"articles":[' + ",\n".join(map(json.dumps, ARTICLES)) + "]}",
    "an assignment": "articles=[\n" + ",\n".join(map(json.dumps, ARTICLES)) + "\n]",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pubmed_in_any_layout(layout, tmp_path):
    (tmp_path / "allMeSH_2021.json").write_text(LAYOUTS[layout])
    corpus = READERS["pubmed"](tmp_path)
    assert corpus.rejected.empty
    assert corpus.documents["id"].tolist() == ["1", "2"]
    assert corpus.documents["text"].tolist() == ["Tea\na, ]} b", "Ice\nc"]
    assert corpus.documents["labels"].tolist() == [["X"], ["Y", "X"]]


def test_pubmed_years(tmp_path):
    (tmp_path / "allMeSH_2021.json").write_text(LAYOUTS["an article a line"])
    corpus = READERS["pubmed"](tmp_path, years=[2020, 2021])
    assert corpus.documents["id"].tolist() == ["2"]
    assert corpus.notes["excluded"] == {"published in another year": 1}


def test_pubmed_in_latin_1(tmp_path):
    content = LAYOUTS["an article a line"].replace("Tea", "Thé")
    (tmp_path / "allMeSH.json").write_bytes(content.encode("latin-1"))
    assert documents("pubmed", tmp_path, encoding="latin-1")["text"][0].startswith("Thé")
    assert documents("pubmed", tmp_path)["id"].tolist() == ["2"]


def test_pubmed_articles_longer_than_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("losslab.data.readers.pubmed.CHUNK", 64)
    (tmp_path / "allMeSH.json").write_text(
        LAYOUTS["indented"].replace('"c"', json.dumps("c" * 500))
    )
    assert documents("pubmed", tmp_path)["text"].tolist()[1] == "Ice\n" + "c" * 500


def test_torn_article_in_no_line_of_its_own_is_told_with_its_line(tmp_path):
    torn = LAYOUTS["indented"][:-60]
    (tmp_path / "allMeSH.json").write_text(torn)
    line = torn[: torn.rindex("{")].count("\n") + 1
    with pytest.raises(CorpusError, match=rf"allMeSH\.json, line {line}: expected an article"):
        READERS["pubmed"](tmp_path)


RAW_HEADER = (
    "text,id,author,subreddit,link_id,parent_id,created_utc,rater_id,example_very_unclear,joy,grief,"
    "neutral"
)


def rating(text, comment, rater, unclear, *votes):
    return f'"{text}",{comment},x,r,l,p,1.5e9,{rater},{unclear},{",".join(map(str, votes))}'


def raw_goemotions(tmp_path, **options):
    """Six comments, rated by up to three raters, over two files."""
    first = utf8(
        RAW_HEADER,
        rating('Oh, ""good""', "a", 1, False, 1, 0, 0),
        rating("Alas", "b", 1, False, 0, 1, 0),
        rating("What", "c", 1, True, 0, 0, 0),
        rating("Hm", "d", 2, False, 1, 0, 0),
    )
    second = utf8(
        RAW_HEADER,
        rating('Oh, ""good""', "a", 2, False, 1, 1, 0),
        rating('Oh, ""good""', "a", 3, False, 0, 1, 0),
        rating("Alas", "b", 2, False, 1, 0, 0),
        rating("What", "c", 2, False, 0, 0, 1),
        rating("What", "c", 3, False, 0, 0, 1),
        rating("Torn", "e", 1, False, 0, 2, 1),
        rating("Hm", "d", 2, False, 1, 0, 0),
    )
    (tmp_path / "goemotions_1.csv").write_bytes(first)
    (tmp_path / "goemotions_2.csv").write_bytes(second)
    return READERS["goemotions"](tmp_path, **options)


@pytest.mark.parametrize(
    ("min_raters", "expected"),
    [
        (1, {"a": ["grief", "joy"], "b": ["grief", "joy"], "c": ["neutral"], "d": ["joy"]}),
        (2, {"a": ["grief", "joy"], "c": ["neutral"]}),
        (3, {}),
    ],
)
def test_labels_of_a_comment_are_those_that_enough_raters_chose(tmp_path, min_raters, expected):
    corpus = raw_goemotions(tmp_path, annotations="raw", min_raters=min_raters)
    found = corpus.documents
    assert dict(zip(found["id"], found["labels"], strict=True)) == expected
    assert found["split"].isna().all()
    assert set(found.loc[found["id"] == "a", "text"]) <= {'Oh, "good"'}
    counts = {"rating marked as very unclear": 1}
    left_out = {f"comment without a label that {min_raters} raters chose": 4 - len(expected)}
    assert corpus.notes["excluded"] == counts | {k: n for k, n in left_out.items() if n}
    assert corpus.rejected["reason"].tolist() == ["column 'grief': expected 0 or 1, found '2'"]


def test_two_raters_are_asked_for_as_in_the_datasets_paper(tmp_path):
    by_default = raw_goemotions(tmp_path, annotations="raw").documents
    assert by_default.equals(raw_goemotions(tmp_path, annotations="raw", min_raters=2).documents)


def test_each_rating_may_be_a_document_of_its_own_and_one_comment_stays_in_one_split(tmp_path):
    corpus = raw_goemotions(tmp_path, annotations="ratings")
    found = {row.id: row.labels for row in corpus.documents.itertuples()}
    assert list(found) == ["a-1", "b-1", "c-1", "d-2", "a-2", "a-3", "b-2", "c-2", "c-3"]
    assert (found["a-2"], found["c-1"], found["c-2"]) == (["joy", "grief"], [], ["neutral"])
    assert len(corpus.rejected) == 2  # the torn row, and a rating that stands there twice
    settings = {"validation": 0.3, "test": 0.3, "by": "hash", "group_separator": "-", "seed": 0}
    split = assign_splits(corpus.documents, **settings)
    assert (split.groupby(split["id"].str[0])["split"].nunique() == 1).all()


def test_missing_raw_annotations_are_told_with_the_command_that_gets_them(tmp_path):
    folder = TINY["goemotions"].write(tmp_path)
    with pytest.raises(CorpusError, match=r"no file goemotions_\*.csv; `kedro fetch goemotions"):
        READERS["goemotions"](folder, annotations="raw")
