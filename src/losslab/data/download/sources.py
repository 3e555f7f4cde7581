"""The table of datasets: description, licence, and download addresses or manual steps.

Without a known sha256 it is None, and a fetch logs the actual one.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Download:
    """A file of a publisher; its addresses are tried in turn.

    Archives are extracted. ``folder``: the subfolder of an archive to keep (empty: all).
    """

    name: str
    addresses: tuple[str, ...]
    sha256: str | None = None
    folder: str = ""


@dataclass(frozen=True)
class Source:
    """A dataset with ``downloads``, manual ``steps``, or no need of either (``ready``).

    ``folder``: a folder of many files without which a dataset fetched by hand is not complete.
    """

    about: str
    licence: str
    downloads: tuple[Download, ...] = ()
    steps: tuple[str, ...] = ()
    ready: str = ""
    folder: str = ""

    @property
    def way(self) -> str:
        """``download``, ``by hand`` or ``ready``."""
        return "ready" if self.ready else "download" if self.downloads else "by hand"


def _files(base: str, **sha256: str | None) -> tuple[Download, ...]:
    return tuple(Download(name, (f"{base}/{name}",), digest) for name, digest in sha256.items())


def _github(repository: str) -> tuple[Download, ...]:
    address = f"https://github.com/{repository}/archive/refs/heads/master.zip"
    return (Download(f"{repository.rpartition('/')[2]}.zip", (address,)),)


SOURCES: dict[str, Source] = {
    "cwe": Source(
        "software weaknesses and their consequences; the built-in corpus",
        "CWE terms of use",
        ready="comes with the package cwe2",
    ),
    "reuters": Source(
        "Reuters-21578: newswire articles, 90 topics",
        "research use only (its README)",
        (
            Download(
                "reuters21578.tar.gz",
                (
                    "http://www.daviddlewis.com/resources/testcollections/reuters21578/reuters21578.tar.gz",
                    "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
                ),
            ),
        ),
    ),
    "pubmed": Source(
        "BioASQ: PubMed abstracts with MeSH headings",
        "NLM terms, after registration",
        steps=(
            "register at http://participants-area.bioasq.org and accept NLM's terms",
            "download the training data of task a (semantic indexing), a JSON file",
            "put the JSON file into {folder}",
        ),
    ),
    "sst5": Source(
        "Stanford Sentiment Treebank: film reviews, 5 grades",
        "none stated: read the publisher's page first",
        steps=(
            "read https://nlp.stanford.edu/sentiment/",
            "download https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
            "put train.txt, dev.txt and test.txt of its folder trees into {folder}",
        ),
    ),
    "trec": Source(
        "questions, 50 kinds of answer",
        "none stated",
        _files(
            "https://cogcomp.seas.upenn.edu/Data/QA/QC",
            **{
                "train_5500.label": (
                    "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3"
                ),
                "TREC_10.label": "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
            },
        ),
    ),
    "wos": Source(
        "Web of Science: abstracts, 134 areas in 7 domains",
        "stated at Mendeley Data (9rw3vkcfy4)",
        (
            Download(
                "WebOfScience.zip",
                (
                    "https://data.mendeley.com/public-files/datasets/9rw3vkcfy4/files/c9ea673d-5542-44c0-ab7b-f1311f7d61df/file_downloaded",
                ),
                folder="WOS46985",
            ),
        ),
    ),
    "aapd": Source(
        "abstracts of computer science from arXiv, 54 subjects",
        "none stated",
        steps=(
            "open the link to Google Drive at https://github.com/lancopku/SGM and download the archive",
            "put its files text_train, label_train, text_val, label_val, text_test and label_test "
            "into {folder}",
        ),
    ),
    "cnipa": Source(
        "Chinese patents with IPC codes",
        "CNIPA's terms, after registration",
        steps=(
            "register at http://patdata1.cnipa.gov.cn and download invention patents",
            'write a JSON object a line: {{"id", "title", "abstract", "ipc": [codes]}}',
            "put the .jsonl file into {folder}",
        ),
    ),
    "toutiao": Source(
        "Chinese headlines, 1,070 category paths",
        "none stated",
        steps=(
            "the full file is to be had from the author of "
            "https://github.com/aceimnorstuvwxz/toutiao-multilevel-text-classfication-dataset",
            "put it as mlc_dataset.txt, and all_cat.txt, into {folder}",
        ),
    ),
    "uspto": Source(
        "US patents with IPC codes",
        "USPTO terms of bulk data",
        steps=(
            "download patent grants (full text) from https://data.uspto.gov/bulkdata",
            'write a JSON object a line: {{"id", "title", "abstract", "ipc": [codes]}}',
            "put the .jsonl file into {folder}",
        ),
    ),
    "archive": Source(
        "research papers, six subjects",
        "stated at Kaggle, after log-in",
        steps=(
            "log in and download "
            "https://www.kaggle.com/datasets/shivanandmn/multilabel-classification-dataset",
            "put train.csv into {folder}",
        ),
    ),
    "cmu_movie": Source(
        "film plots from Wikipedia, genres from Freebase",
        "CC BY-SA",
        (
            Download(
                "MovieSummaries.tar.gz",
                ("https://www.cs.cmu.edu/~ark/personas/data/MovieSummaries.tar.gz",),
            ),
        ),
    ),
    "goemotions": Source(
        "comments from Reddit, 28 emotions",
        "CC BY 4.0",
        _files(
            "https://raw.githubusercontent.com/google-research/google-research/master/goemotions/data",
            **{
                "train.tsv": "1c254a142be5c00e80d819b9ae1bbd36d94b2eeb8f4b1271846508d57e57d9c5",
                "dev.tsv": "575489c079c9de1097062a01738f998590d6b7ead66dd1c9fd1d2ba01fd8bc62",
                "test.tsv": "0587b2dd8b27b97352adbfc3fb083d46005c8946657fdc2b1ca8b1cc7f1f8be4",
                "emotions.txt": "45c3ef86782d2a4d7fedcd6d8c111aa0d0e94720689bd164fac94fefb4495a89",
            },
        )
        + _files(
            "https://storage.googleapis.com/gresearch/goemotions/data/full_dataset",
            **{f"goemotions_{part}.csv": None for part in (1, 2, 3)},
        ),
    ),
    "toxic": Source(
        "comments from Wikipedia, six kinds of toxicity",
        "competition rules, after log-in",
        steps=(
            "log in, accept the rules and download "
            "https://www.kaggle.com/competitions/jigsaw-toxic-comment-classification-challenge/data",
            "unpack train.csv.zip and put train.csv into {folder} (test.csv has no labels)",
        ),
    ),
    "ag_news": Source(
        "news, 4 topics",
        "non-commercial use",
        (Download("ag_news_csv.tgz", ("https://s3.amazonaws.com/fast-ai-nlp/ag_news_csv.tgz",)),),
    ),
    "dbpedia": Source(
        "first paragraphs of Wikipedia, 14 classes",
        "CC BY-SA 3.0, GFDL",
        (Download("dbpedia_csv.tgz", ("https://s3.amazonaws.com/fast-ai-nlp/dbpedia_csv.tgz",)),),
    ),
    "imdb": Source(
        "film reviews, positive or negative",
        "none stated",
        (
            Download(
                "aclImdb_v1.tar.gz",
                ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
                "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            ),
        ),
    ),
    "yelp": Source(
        "reviews with one to five stars",
        "Yelp's dataset licence",
        steps=(
            "accept the licence at https://www.yelp.com/dataset",
            "write train.csv and test.csv without header: the class (from 1), the text, both quoted "
            "(as in Zhang et al.'s yelp_review_full_csv)",
            "put both files into {folder}",
        ),
    ),
    "arxiv": Source(
        "metadata of 1.7 million papers, 176 categories",
        "CC0 (metadata), after log-in",
        steps=(
            "log in and download https://www.kaggle.com/datasets/Cornell-University/arxiv",
            "put arxiv-metadata-oai-snapshot.json into {folder}",
        ),
    ),
    "hoc": Source(
        "Hallmarks of Cancer: sentences of abstracts",
        "GPL-3.0",
        _github("sb895/Hallmarks-of-Cancer"),
    ),
    "chemical_exposure": Source(
        "chemical exposure: sentences of abstracts",
        "GPL-3.0",
        _github("sb895/chemical-exposure-information-corpus"),
    ),
    "movie_posters": Source(
        "film posters and genres",
        "stated at Kaggle, after log-in",
        steps=(
            "log in and download "
            "https://www.kaggle.com/datasets/neha1703/movie-genre-from-its-poster",
            "for posters that are missing, download the addresses of the sheet's column Poster into "
            "SampleMoviePosters, named by imdbId, such as 114709.jpg",
            "put MovieGenre.csv and the folder SampleMoviePosters into {folder}",
        ),
        folder="SampleMoviePosters",
    ),
    "squad": Source(
        "SQuAD 1.1: questions on paragraphs of Wikipedia",
        "CC BY-SA 4.0",
        _files(
            "https://rajpurkar.github.io/SQuAD-explorer/dataset",
            **{
                "train-v1.1.json": (
                    "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"
                ),
                "dev-v1.1.json": "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
            },
        ),
    ),
    "simulated": Source(
        "long-tailed, co-occurring labels with a known truth",
        "none needed",
        ready="made by the program",
    ),
}
"""The datasets by name, in the order of the papers."""
