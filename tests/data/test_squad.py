"""The reader of SQuAD: candidates, questions, and what it rejects by name."""

import json

import pytest

from losslab.data.readers import READERS

TEXT = "Tea is hot. It cools slowly. Nobody knows why."


def read(tmp_path, *paragraphs, name="all.json"):
    article = {"title": "Tea", "paragraphs": list(paragraphs)}
    (tmp_path / name).write_text(json.dumps({"data": [article]}))
    return READERS["squad"](tmp_path)


def passage(*questions, text=TEXT):
    return {"context": text, "qas": list(questions)}


SLOWLY = TEXT.index("slowly")


def question(name="q1", start=SLOWLY, text="slowly", **changes):
    answers = [{"answer_start": start, "text": text}]
    return {"id": name, "question": "How does it cool?", "answers": answers, **changes}


def test_positive_is_the_sentence_in_which_the_first_answer_begins(tmp_path):
    across = question("q2", TEXT.index("hot"), "hot. It cools")
    several = question("q3")
    several["answers"].append({"answer_start": 0, "text": "Tea"})
    corpus = read(tmp_path, passage(question(), across, several))
    assert corpus.rejected.empty
    assert corpus.documents["text"].tolist() == TEXT.replace(". ", ".|").split("|")
    assert corpus.questions["candidate"].tolist() == ["Tea-1-2", "Tea-1-1", "Tea-1-2"]
    assert list(corpus.questions.columns) == ["id", "text", "candidate", "split"]


def test_sentence_with_the_answer_is_found_at_every_offset(tmp_path):
    asked = [question(str(at), at, TEXT[at]) for at in range(len(TEXT)) if TEXT[at] != " "]
    corpus = read(tmp_path, passage(*asked))
    texts = corpus.documents.set_index("id")["text"]
    for row in corpus.questions.itertuples():
        sentence, at = texts[row.candidate], int(row.id)
        assert TEXT.index(sentence) <= at < TEXT.index(sentence) + len(sentence)


@pytest.mark.parametrize(
    ("name", "split"),
    [("train-v1.1.json", "train"), ("dev-v1.1.json", "test"), ("squad.json", None)],
)
def test_dev_file_is_the_test_split(tmp_path, name, split):
    corpus = read(tmp_path, passage(question()), name=name)
    assert set(corpus.questions["split"]) == set(corpus.documents["split"]) == {split}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (question(start=3), "question 'q1': its answer is not in the passage at answer_start"),
        (question(start=400), "question 'q1': its answer is not in the passage at answer_start"),
        (question(start=-6), "question 'q1': its answer is not in the passage at answer_start"),
        (question(start="28"), "question 'q1': its answer is not in the passage at answer_start"),
        (question(text=""), "question 'q1': its answer is not in the passage at answer_start"),
        (question(answers=None), "question 'q1': expected a list of answers"),
        (question(answers=[7]), "question 'q1': expected a list of answers"),
        (question(question=" "), "empty text"),
        (question(question=None), "field 'question': expected a string, found 'None'"),
        ({"id": "q1"}, "no field 'question'"),
        ("why?", "a question: expected a JSON object"),
    ],
)
def test_broken_question_is_rejected_by_name_and_the_others_are_kept(tmp_path, row, reason):
    corpus = read(tmp_path, passage(row, question("q2")))
    assert corpus.rejected["reason"].tolist() == [reason]
    assert corpus.rejected["line"].tolist() == [1]
    assert corpus.questions["id"].tolist() == ["q2"]
    assert len(corpus.documents) == 3
    assert corpus.summary()["questions"] == 1


def test_second_question_of_an_id_is_rejected(tmp_path):
    corpus = read(tmp_path, passage(question()), passage(question()))
    assert corpus.rejected["reason"].tolist() == ["duplicate id 'q1', first at all.json, line 1"]


def test_question_without_an_answer_is_left_out_by_rule(tmp_path):
    corpus = read(tmp_path, passage(question(answers=[]), question("q2")))
    assert corpus.rejected.empty
    assert corpus.notes["excluded"] == {"a question without an answer": 1}


@pytest.mark.parametrize(
    ("paragraph", "reason"),
    [
        (passage(question(), text="  "), "a passage without sentences"),
        ({"qas": []}, "no field 'context'"),
        ({"context": TEXT, "qas": 7}, "field 'qas': expected a list, found '7'"),
    ],
)
def test_broken_passage_is_rejected_with_its_questions(tmp_path, paragraph, reason):
    corpus = read(tmp_path, paragraph, passage(question("q2")))
    assert corpus.rejected[["line", "reason"]].to_numpy().tolist() == [[1, reason]]
    assert corpus.documents["id"].str.startswith("Tea-2-").all()


def test_passage_without_questions_is_candidates_alone(tmp_path):
    corpus = read(tmp_path, {"context": TEXT}, passage(question()))
    assert len(corpus.documents) == 6
    assert corpus.questions["candidate"].tolist() == ["Tea-2-2"]
