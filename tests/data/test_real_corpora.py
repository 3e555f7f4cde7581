"""The published counts, on the publishers' files. Needs LOSSLAB_MIRROR."""

import json
import os
from pathlib import Path

import pytest

from losslab.data.download.archives import unpack
from losslab.data.readers import READERS

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """The raw files of a dataset of the mirror, unpacked once."""
    mirror = Path(os.environ["LOSSLAB_MIRROR"])
    unpacked = {}

    def folder(dataset):
        if dataset not in unpacked:
            archives = [mirror / f"{dataset}.tar.xz", mirror / "samples" / f"{dataset}.tar.xz"]
            archive = next(path for path in archives if path.exists())
            unpacked[dataset] = unpack(archive, tmp_path_factory.mktemp(dataset) / "new")
        return unpacked[dataset]

    return folder


@pytest.mark.parametrize(
    ("dataset", "options", "train", "validation", "test", "labels"),
    [
        ("reuters", {}, 7769, 0, 3019, 90),
        ("trec", {}, 5452, 0, 500, 50),
        ("trec", {"labels": "coarse"}, 5452, 0, 500, 6),
        ("trec", {"labels": "suffix"}, 5452, 0, 500, 47),
        ("sst5", {}, 8544, 1101, 2210, 5),
        ("goemotions", {}, 43410, 5426, 5427, 28),
        pytest.param("imdb", {}, 25000, 0, 25000, 2, marks=pytest.mark.long),
    ],
)
def test_published_splits(dataset, options, train, validation, test, labels, raw):
    corpus = READERS[dataset](raw(dataset), **options)
    sizes = corpus.documents["split"].value_counts()
    assert [sizes.get(name, 0) for name in ("train", "validation", "test")] == [
        train,
        validation,
        test,
    ]
    assert corpus.documents["labels"].explode().nunique() == labels
    assert corpus.rejected.empty


def test_reuters_is_the_modapte_split(raw):
    listed = Path(os.environ["LOSSLAB_MIRROR"], "reuters_modapte_split.json")
    expected = json.loads(listed.read_text())
    documents = READERS["reuters"](raw("reuters")).documents
    ids = documents["id"].astype(int).groupby(documents["split"]).apply(sorted)
    assert ids["train"] == sorted(expected["train_ids"])
    assert ids["test"] == sorted(expected["test_ids"])
    assert sorted(set(documents["labels"].explode())) == sorted(expected["labels"])


@pytest.mark.parametrize(
    ("dataset", "reader", "options", "documents", "labels"),
    [
        ("hoc", "hoc", {}, 1852, 36),
        ("hoc", "hoc", {"labels": "top"}, 1852, 10),
        ("hoc", "hoc", {"unit": "sentence"}, 17464, 36),
        ("aapd", "aapd", {}, 2000, 54),
        ("ag_news", "ag_news", {}, 7600, 4),
        ("arxiv", "arxiv", {}, 200, 72),
        ("cmu_movie", "cmu_movie", {}, 73, 72),
        ("movie_posters", "movie_posters", {"image": False}, 10_012, 27),
        ("patents", "uspto", {}, 384, 1133),
        ("patents", "cnipa", {"part": "title"}, 384, 1133),
        ("squad", "squad", {}, 1222, 49),
        ("toutiao", "toutiao", {}, 100, 21),
        ("toxic", "toxic", {}, 1000, 6),
        ("toxic", "toxic", {"files": "data/*.csv"}, 2000, 6),
        ("toxic", "toxic", {"files": "*_train_sample.csv"}, 300, 6),
        ("wos", "wos", {}, 1000, 131),
        ("wos", "wos", {"labels": "domain"}, 1000, 7),
    ],
)
def test_files_without_a_split_or_of_a_sample_are_read_whole(
    dataset, reader, options, documents, labels, raw
):
    corpus = READERS[reader](raw(dataset), **options)
    assert len(corpus.documents) == documents
    assert corpus.documents["labels"].explode().nunique() == labels
    assert corpus.rejected.empty


def test_posters_are_read_and_empty_files_counted(raw):
    corpus = READERS["movie_posters"](raw("movie_posters"))
    assert len(corpus.documents) == 10_000
    assert corpus.documents["labels"].explode().nunique() == 27
    assert corpus.documents["labels"].explode().value_counts().max() == 5010  # and 4 empty files
    assert corpus.summary()["rejected"] == {"image file is empty": 12}
