"""Splits by article, and the rows of a split."""

import pandas as pd
import pytest
from question_corpus import THINGS, articles, write_corpus

from losslab.data.readers import READERS
from losslab.errors import CorpusError
from losslab.retrieval import article_splits, count_by_split, question_rows

SHARES = {"validation": 0.15, "test": 0.25, "validation_of_train": 0.25, "seed": 0}


def split(folder, **changes):
    corpus = READERS["squad"](folder)
    of_questions, of_candidates = article_splits(
        corpus.questions, corpus.documents, **{**SHARES, **changes}
    )
    return (
        corpus.questions.assign(split=of_questions),
        corpus.documents.assign(split=of_candidates),
    )


def test_no_article_is_in_two_splits_and_questions_follow_their_positive(tmp_path):
    questions, candidates = split(write_corpus(tmp_path / "squad"))
    assert (candidates.groupby(candidates["labels"].str[0])["split"].nunique() == 1).all()
    where = candidates.set_index("id")["split"]
    assert (questions["split"] == questions["candidate"].map(where)).all()


def test_shares_are_those_of_the_questions_to_an_article(tmp_path):
    questions, candidates = split(write_corpus(tmp_path / "squad"))
    counts = count_by_split(questions, candidates)
    assert sum(part["questions"] for part in counts.values()) == len(questions) == 72
    for name, share in {"train": 0.6, "validation": 0.15, "test": 0.25}.items():
        assert abs(counts[name]["questions"] - share * 72) <= 6  # the questions of an article
        assert counts[name]["candidates"] == 9 * counts[name]["articles"]


def test_split_does_not_depend_on_the_order_of_articles(tmp_path):
    questions, _ = split(write_corpus(tmp_path / "a"))
    reversed_questions, _ = split(write_corpus(tmp_path / "b", all=articles()[::-1]))
    expected = questions.set_index("id")["split"]
    assert reversed_questions.set_index("id")["split"].sort_index().equals(expected.sort_index())


def test_seed_draws_another_split(tmp_path):
    folder = write_corpus(tmp_path / "squad")
    drawn = {tuple(split(folder, seed=seed)[0]["split"]) for seed in range(4)}
    assert len(drawn) > 1


def test_given_files_are_kept_and_validation_is_a_quarter_of_train(tmp_path):
    files = {"train": articles()[:8], "dev": articles()[8:]}
    questions, candidates = split(write_corpus(tmp_path / "squad", **files))
    article = candidates["labels"].str[0]
    assert set(article[candidates["split"] == "test"]) == set(THINGS[8:])
    counts = questions["split"].value_counts()
    assert counts.to_dict() == {"train": 36, "test": 24, "validation": 12}


def test_dev_file_alone_is_split_anew(tmp_path):
    questions, _ = split(write_corpus(tmp_path / "squad", dev=articles()))
    assert set(questions["split"]) == {"train", "validation", "test"}


def test_too_few_articles_are_named(tmp_path):
    folder = write_corpus(tmp_path / "squad", all=articles()[:1])
    with pytest.raises(CorpusError, match=r"no question in the split .*: 6 questions in too few"):
        split(folder)


def test_positives_are_found_among_the_candidates_of_the_split(tmp_path):
    questions, candidates = split(write_corpus(tmp_path / "squad"))
    texts = pd.concat([candidates["text"], questions["text"]], ignore_index=True)
    for name in ("train", "validation", "test"):
        rows = question_rows(questions, candidates, name)
        own = questions[questions["split"] == name]
        assert texts[rows.questions].tolist() == own["text"].tolist()
        found = candidates["id"].iloc[rows.candidates].iloc[rows.positives]
        assert found.tolist() == own["candidate"].tolist()
