"""A made-up corpus of a few rows in the format of every reader, and what it should be read as."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple


class Tiny(NamedTuple):
    """Raw files by name, the options to read them with, and the documents that come of it."""

    files: dict[str, bytes]
    documents: list[tuple[str, str, list[str], str | None]]
    options: Mapping[str, Any] = MappingProxyType({})

    def write(self, folder: Path) -> Path:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder


def utf8(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def json_rows(*records: Any) -> bytes:
    return utf8(*(json.dumps(record, ensure_ascii=False) for record in records))


def reuters_article(newid: int, split: str, topics: str, text: str) -> str:
    return (
        f'<REUTERS TOPICS="YES" LEWISSPLIT="{split}" OLDID="9" NEWID="{newid}">\n'
        f"<TOPICS>{topics}</TOPICS>\n<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>"
    )


PATENTS = [
    {"id": "CN1", "title": "水壶", "abstract": "会唱歌。", "ipc": ["A47J 27/21", "A47J 36/00"]},
    {
        "id": 2,
        "title": ["bait", "box"],
        "abstract": ["it", "floats"],
        "ipc": ["A01K 97/04", "B65D"],
    },
]
MESH = {"journal": "J", "year": "2020"}
METADATA = [
    '7\t/m/1\tRain\t2001\t\t98.0\t{}\t{}\t{"/m/a": "Drama", "/m/b": "Noir, late"}',
    "8\t/m/2\tSnow\t2002\t\t90.0\t{}\t{}\t{}",
    '9\t/m/3\tHail\t2003\t\t90.0\t{}\t{}\t{"/m/a": "Drama"}',
]

TINY: dict[str, Tiny] = {
    "cwe": Tiny(
        {
            "2000.csv": utf8(
                "CWE-ID,Name,Description,Extended Description,Common Consequences",
                "1,Leak,It drips.,,::SCOPE:Integrity:IMPACT:Loss::,",
                '2,Crack,"It, too, drips.",More.,::SCOPE:Integrity::,',
            )
        },
        [
            ("CWE-1", "Leak\nIt drips.", ["Impact: Loss", "Scope: Integrity"], None),
            ("CWE-2", "Crack\nIt, too, drips.\nMore.", ["Scope: Integrity"], None),
        ],
    ),
    "reuters": Tiny(
        {
            "reut2-000.sgm": utf8(
                '<!DOCTYPE lewis SYSTEM "lewis.dtd">',
                reuters_article(1, "TRAIN", "<D>tin</D>", "<TITLE>Tin</TITLE><BODY>Up.</BODY>"),
            ),
            "reut2-001.sgm": utf8(reuters_article(2, "TEST", "<D>tin</D><D>zinc</D>", "Tin falls")),
        },
        [("1", "Tin\nUp.", ["tin"], "train"), ("2", "Tin falls", ["tin"], "test")],
    ),
    "pubmed": Tiny(
        {
            "allMeSH.json": utf8(
                '{"articles":[',
                json.dumps(
                    {
                        **MESH,
                        "pmid": "1",
                        "title": "Tea",
                        "abstractText": "Hot.",
                        "meshMajor": ["A"],
                    }
                )
                + ",",
                json.dumps(
                    {
                        **MESH,
                        "pmid": 2,
                        "title": "Ice",
                        "abstractText": "",
                        "meshMajor": ["A, b", "C"],
                    }
                ),
                "]}",
            )
        },
        [("1", "Tea\nHot.", ["A"], None), ("2", "Ice", ["A, b", "C"], None)],
    ),
    "sst5": Tiny(
        {
            "trees/train.txt": utf8("(3 (2 A) (4 (4 gem) (2 .)))", r"(0 (1 either\/or) (2 -LRB-))"),
            "trees/dev.txt": utf8("(2 (2 Fine) (2 é))"),
            "trees/test.txt": utf8("(1 (1 Meh) (2 .))"),
        },
        [
            ("train-1", "A gem .", ["positive"], "train"),
            ("train-2", "either/or (", ["very negative"], "train"),
            ("validation-1", "Fine é", ["neutral"], "validation"),
            ("test-1", "Meh .", ["negative"], "test"),
        ],
    ),
    "trec": Tiny(
        {
            "train_5500.label": utf8("NUM:dist How far is it ?", "HUM:ind Who is it ?"),
            "TREC_10.label": utf8("LOC:city Where is it ?"),
        },
        [
            ("train-1", "How far is it ?", ["NUM:dist"], "train"),
            ("train-2", "Who is it ?", ["HUM:ind"], "train"),
            ("test-1", "Where is it ?", ["LOC:city"], "test"),
        ],
    ),
    "wos": Tiny(
        {
            "Data.txt": utf8(
                "Y1\tY2\tY\tDomain\tarea\tkeywords\tAbstract",
                '0\t1\t2\tMedical \t Skin Care  \t a; b\t"We ""looked"", hard."',
                "1\t1\t5\tCS \t Alzheimer's Disease \t c\tWe forgot. ",
            )
        },
        [
            ("row-2", 'We "looked", hard.', ["Skin Care"], None),
            ("row-3", "We forgot.", ["Alzheimer's Disease"], None),
        ],
    ),
    "aapd": Tiny(
        {
            "text_train": utf8("we prove it", "we doubt it"),
            "label_train": utf8("cs.it math.it", "cs.lg"),
            "text_val": utf8("we try it"),
            "label_val": utf8("cs.lg"),
            "text_test": utf8("we test it"),
            "label_test": utf8("cs.it"),
        },
        [
            ("train-1", "we prove it", ["cs.it", "math.it"], "train"),
            ("train-2", "we doubt it", ["cs.lg"], "train"),
            ("validation-1", "we try it", ["cs.lg"], "validation"),
            ("test-1", "we test it", ["cs.it"], "test"),
        ],
    ),
    "cnipa": Tiny(
        {"cnipa.jsonl": json_rows(*PATENTS)},
        [
            ("CN1", "水壶\n会唱歌。", ["A47J"], None),
            ("2", "bait box\nit floats", ["A01K", "B65D"], None),
        ],
    ),
    "toutiao": Tiny(
        {
            "mlc_data.txt": utf8(
                "10|,|news,digital/camera|,|下雨了|,|雨|,|", "11|,|news|,|晴|,||,|"
            ),
            "all_cat.txt": utf8("news", "digital/camera"),
        },
        [("10", "下雨了", ["news", "digital/camera"], None), ("11", "晴", ["news"], None)],
    ),
    "uspto": Tiny(
        {"train.json": json_rows(PATENTS[0]), "test.json": json_rows(PATENTS[1])},
        [("2", "bait box", ["A", "B"], "test"), ("CN1", "水壶", ["A"], "train")],
        {"part": "title", "depth": 1},
    ),
    "archive": Tiny(
        {
            "train.csv": utf8(
                "ID,TITLE,ABSTRACT,Computer Science,Physics,Mathematics,Statistics,"
                "Quantitative Biology,Quantitative Finance",
                '1,Sums,"  We add,\n and add.",1,0,1,0,0,0',
                "2,Prices,We count.,0,0,0,0,0,1",
            )
        },
        [
            ("1", "We add,\n and add.", ["Computer Science", "Mathematics"], None),
            ("2", "We count.", ["Quantitative Finance"], None),
        ],
        {"part": "abstract"},
    ),
    "cmu_movie": Tiny(
        {
            "movie.metadata.tsv.gz": gzip.compress(utf8(*METADATA), mtime=0),
            "plot_summaries.txt": utf8("7\tIt rains.", "8\tIt snows.", "99\tNobody knows."),
        },
        [
            ("7", "Rain\nIt rains.", ["Drama", "Noir, late"], None),
            ("8", "Snow\nIt snows.", [], None),
        ],
        {"part": "both"},
    ),
    "goemotions": Tiny(
        {
            "emotions.txt": utf8("joy", "grief", "neutral"),
            "train.tsv": utf8('"Oh, good\t0,1\ta1', "Well.\t2\ta2"),
            "dev.tsv": utf8("So?\t2\tb1"),
            "test.tsv": utf8("Alas ☹\t1\tc1"),
        },
        [
            ("a1", '"Oh, good', ["joy", "grief"], "train"),
            ("a2", "Well.", ["neutral"], "train"),
            ("b1", "So?", ["neutral"], "validation"),
            ("c1", "Alas ☹", ["grief"], "test"),
        ],
    ),
    "toxic": Tiny(
        {
            "train.csv": utf8(
                "id,toxic,severe_toxic,obscene,threat,insult,identity_hate,comment_text",
                '0a,1,0,0,0,1,0,"You\n""there"""',
                "0b,0,0,0,0,0,0,Thanks.",
            )
        },
        [("0a", 'You\n"there"', ["toxic", "insult"], None), ("0b", "Thanks.", [], None)],
    ),
    "ag_news": Tiny(
        {
            "classes.txt": utf8("World", "Sci/Tech"),
            "train.csv": utf8('"2","A kettle","It sings\\it whistles."'),
            "test.csv": utf8('"1","A ""town""","It rains."'),
        },
        [
            ("train-1", "A kettle\nIt sings\nit whistles.", ["Sci/Tech"], "train"),
            ("test-1", 'A "town"\nIt rains.', ["World"], "test"),
        ],
    ),
    "dbpedia": Tiny(
        {
            "classes.txt": utf8("Company", "Plant"),
            "train.csv": utf8('2,"Fern"," It is green."'),
            "test.csv": utf8('1,"Acme"," It sells."'),
        },
        [
            ("train-1", "Fern\nIt is green.", ["Plant"], "train"),
            ("test-1", "Acme\nIt sells.", ["Company"], "test"),
        ],
    ),
    "imdb": Tiny(
        {
            "train/pos/0_9.txt": b"Good.<br /><br />Very.",
            "train/neg/0_2.txt": "Fade, passé.".encode(),
            "test/pos/1_10.txt": b"Great.",
            "test/neg/1_1.txt": b"Awful.",
            "train/unsup/5_0.txt": b"Who knows.",
        },
        [
            ("train-pos-0_9", "Good.\n\nVery.", ["pos"], "train"),
            ("train-neg-0_2", "Fade, passé.", ["neg"], "train"),
            ("test-pos-1_10", "Great.", ["pos"], "test"),
            ("test-neg-1_1", "Awful.", ["neg"], "test"),
        ],
    ),
    "yelp": Tiny(
        {
            "train.csv": utf8('"5","Good soup.\\nGood \\""bread\\""."', '"1","No."'),
            "test.csv": utf8('"3","Fair."'),
        },
        [
            ("train-1", 'Good soup.\nGood "bread".', ["5"], "train"),
            ("train-2", "No.", ["1"], "train"),
            ("test-1", "Fair.", ["3"], "test"),
        ],
    ),
    "arxiv": Tiny(
        {
            "arxiv-metadata-oai-snapshot.json": json_rows(
                {
                    "id": "07.1",
                    "title": "On\n  tea",
                    "abstract": " It\nis.",
                    "categories": "cs.LG hep-ph",
                },
                {"id": "07.2", "title": "On ice", "abstract": "It was.", "categories": "cs.AI"},
            )
        },
        [
            ("07.1", "On tea\nIt is.", ["cs.LG", "hep-ph"], None),
            ("07.2", "On ice\nIt was.", ["cs.AI"], None),
        ],
    ),
    "hoc": Tiny(
        {
            "text/11.txt": utf8("Cells grow .", "They die .", "We look ."),
            "labels/11.txt": b"<Growing--Fast-- AND Dying--<Dying--Slowly ANDGrowing--Fast--< ",
            "text/12.txt": utf8("Nothing ."),
            "labels/12.txt": b"< NULL",
        },
        [
            (
                "11",
                "Cells grow .\nThey die .\nWe look .",
                ["Dying", "Dying--Slowly", "Growing--Fast"],
                None,
            ),
            ("12", "Nothing .", [], None),
        ],
    ),
    "chemical_exposure": Tiny(
        {
            "text/11.txt": utf8("It is in the blood .", "And in the air ."),
            "labels/11.txt": b"<Biomonitoring--Blood-- < Exposure--Air",
        },
        [
            ("11-1", "It is in the blood .", ["Biomonitoring"], None),
            ("11-2", "And in the air .", ["Exposure"], None),
        ],
        {"unit": "sentence", "labels": "top"},
    ),
    "movie_posters": Tiny(
        {
            "MovieGenre.csv": b"\xef\xbb\xbf"
            + utf8(
                "imdbId,Imdb Link,Title,IMDB Score,Genre,Poster",
                '4711,http://x,"Tea, again (1901)",8.3,Animation|Comedy,http://x/1.jpg',
                "4712,http://x,Dice (1902),6.9,,http://x/2.jpg",
            )
        },
        [
            ("4711", "Tea, again (1901)", ["Animation", "Comedy"], None),
            ("4712", "Dice (1902)", [], None),
        ],
        {"image": False},
    ),
    "squad": Tiny(
        {
            "train-v1.1.json": json_rows(
                {
                    "data": [
                        {
                            "title": "Tea",
                            "paragraphs": [
                                {
                                    "context": "Tea is hot. It cools slowly.",
                                    "qas": [
                                        {
                                            "id": "q1",
                                            "question": "How does it cool?",
                                            "answers": [{"answer_start": 21, "text": "slowly"}],
                                        }
                                    ],
                                }
                            ],
                        }
                    ]
                }
            )
        },
        [
            ("Tea-1-1", "Tea is hot.", ["Tea"], "train"),
            ("Tea-1-2", "It cools slowly.", ["Tea"], "train"),
        ],
    ),
    "own": Tiny(
        {"own.json": b'[{"text": "One", "labels": "a;b"},\n{"text": "Two", "labels": ["b"]}]'},
        [("row-1", "One", ["a", "b"], None), ("row-2", "Two", ["b"], None)],
        {"file": "own.json"},
    ),
    "csv": Tiny(
        {"own.csv": utf8("text,labels", 'One,"a, b"', "Two,b")},
        [("row-2", "One", ["a", "b"], None), ("row-3", "Two", ["b"], None)],
        {"file": "own.csv"},
    ),
    "jsonl": Tiny(
        {
            "own.jsonl": json_rows(
                {"text": "One", "labels": ["a, b"]}, {"text": "Two", "labels": []}
            )
        },
        [("row-1", "One", ["a, b"], None), ("row-2", "Two", [], None)],
        {"file": "own.jsonl"},
    ),
}
