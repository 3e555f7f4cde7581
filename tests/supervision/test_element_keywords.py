import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.supervision import count_words, element_groups, find_element_keywords
from losslab.supervision import deletions as module

LABELS = ["fruit", "pet"]
SPEAKS = {"apple": [0.9, 0.0], "cat": [0.0, 0.8], "dog": [0.0, 0.4], "both": [0.6, 0.6]}
TEXTS = [
    "an apple, please",
    "the cat and the apple",
    "dog dog",
    "nothing here",
    "a dog",
    "both of them",
]
WORDS = st.sampled_from([*SPEAKS, "the", "and", "of"])


def score(texts):
    """A baseline that adds up what each word says, at most 1."""
    rows = [
        np.sum([SPEAKS.get(word.strip(",."), [0, 0]) for word in text.split()] + [[0, 0]], axis=0)
        for text in texts
    ]
    return np.minimum(np.array(rows, dtype=float).reshape(-1, 2), 1)


def search(texts, targets, **options):
    counts, vocabulary = count_words(texts)
    found = find_element_keywords(
        texts,
        sparse.csr_array(targets),
        score(texts),
        score,
        vocabulary,
        **{"min_probability_drop": 0.5, **options},
    )
    return found, vocabulary, counts


def as_map(found, vocabulary):
    rows = found.words.toarray()
    return {
        word: [LABELS[label] for label in np.flatnonzero(row)]
        for word, row in zip(vocabulary, rows, strict=True)
        if row.any()
    }


def slow_search(texts, targets, t, select):
    """Straight from the appendix: one document, one word, one label at a time."""
    found = {}
    for text, gold in zip(texts, targets, strict=True):
        before = score([text])[0]
        right = all((p > 0.5) == bool(y) for p, y in zip(before, gold, strict=True))
        if right != (select == "right"):
            continue
        words = text.split()
        for place, word in enumerate(words):
            after = score([" ".join(words[:place] + words[place + 1 :])])[0]
            for label in range(2):
                if before[label] - after[label] > t:
                    found.setdefault(word, set()).add(LABELS[label])
    return {word: sorted(labels) for word, labels in sorted(found.items())}


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=6),
    st.data(),
    st.sampled_from([0.3, 0.5, 0.7]),
    st.sampled_from(["right", "wrong"]),
)
def test_search_agrees_with_a_slow_loop(word_lists, data, t, select):
    texts = [" ".join(words) for words in word_lists]
    row = st.lists(st.integers(0, 1), min_size=2, max_size=2)
    targets = [
        data.draw(row) if data.draw(st.booleans()) else (score([text])[0] > 0.5).astype(int)
        for text in texts
    ]
    found, vocabulary, _ = search(texts, np.array(targets), min_probability_drop=t, select=select)
    assert as_map(found, vocabulary) == slow_search(texts, targets, t, select)


def test_words_that_labels_depend_on_are_found_whatever_stands_around_them():
    found, vocabulary, _ = search(TEXTS, score(TEXTS) > 0.5)
    assert as_map(found, vocabulary) == {
        "apple": ["fruit"],
        "both": ["fruit", "pet"],
        "cat": ["pet"],
    }


def test_group_of_a_document_is_the_union_over_its_words():
    found, _, counts = search(TEXTS, score(TEXTS) > 0.5)
    groups = element_groups(counts, found.words)
    assert groups.toarray().tolist() == [[1, 0], [1, 1], [0, 0], [0, 0], [0, 0], [1, 1]]
    assert set(groups.data.tolist()) == {1}


def test_keyword_of_one_document_reaches_documents_that_were_not_searched():
    targets = score(TEXTS) > 0.5
    targets[1] = False  # wrong, so never searched
    found, _, counts = search(TEXTS, targets)
    assert element_groups(counts, found.words).toarray()[1].tolist() == [1, 0]


def test_texts_are_scored_shortest_first_in_parts(monkeypatch):
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 3)
    seen = []

    def watched(texts):
        seen.append([len(text) for text in texts])
        return score(texts)

    _, vocabulary = count_words(TEXTS)
    right = sparse.csr_array(score(TEXTS) > 0.5)
    found = find_element_keywords(
        TEXTS, right, score(TEXTS), watched, vocabulary, min_probability_drop=0.5
    )
    lengths = [length for part in seen for length in part]
    assert lengths == sorted(lengths)
    assert {len(part) for part in seen[:-1]} == {3}
    assert found.record["texts_scored"] == len(lengths) == sum(len(t.split()) for t in TEXTS)


def test_caps_are_kept_and_recorded():
    found, _, _ = search(TEXTS, score(TEXTS) > 0.5, max_documents=2, max_words=1, seed=4)
    assert found.record["texts_scored"] == 2
    assert found.record | {"keywords": 0, "pairs": 0} == {
        "select": "right",
        "min_probability_drop": 0.5,
        "max_documents": 2,
        "max_words": 1,
        "seed": 4,
        "documents": 6,
        "documents_selected": 6,
        "documents_searched": 2,
        "texts_scored": 2,
        "keywords": 0,
        "pairs": 0,
    }


def test_baseline_that_is_never_right_finds_nothing():
    found, _, counts = search(TEXTS, score(TEXTS) <= 0.5)
    assert found.record["documents_selected"] == 0
    assert found.words.nnz == 0
    assert element_groups(counts, found.words).nnz == 0


def test_no_word_drops_a_probability_by_one():
    found, _, _ = search(TEXTS, score(TEXTS) > 0.5, min_probability_drop=1)
    assert found.words.nnz == 0


@pytest.mark.parametrize("t", [0, -0.2, 1.5])
def test_drop_outside_its_bounds_is_refused(t):
    with pytest.raises(SupervisionError, match=rf"drop must be between 0 and 1, got {t:g}"):
        search(TEXTS, score(TEXTS) > 0.5, min_probability_drop=t)


def test_unknown_selection_is_named():
    with pytest.raises(SupervisionError, match="must be right or wrong, got 'both'"):
        search(TEXTS, score(TEXTS) > 0.5, select="both")
