from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslab.errors import SupervisionError
from losslab.supervision import count_words, find_words

TEXTS = st.lists(st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), max_size=6), min_size=1)
SPACED = r"[^ ]+"


@settings(deadline=None, derandomize=True)
@given(TEXTS.filter(any))
def test_counts_agree_with_a_counter(word_lists):
    texts = [" ".join(words) for words in word_lists]
    counts, vocabulary = count_words(texts)
    assert vocabulary == sorted({word for words in word_lists for word in words})
    for words, row in zip(word_lists, counts.toarray(), strict=True):
        found = {word: n for word, n in zip(vocabulary, row.tolist(), strict=True) if n}
        assert found == dict(Counter(words))


def test_case_and_pattern_are_options():
    _, vocabulary = count_words(["A-b a"], lowercase=False, token_pattern=SPACED)
    assert vocabulary == ["A-b", "a"]
    _, vocabulary = count_words(["A-b a"])
    assert vocabulary == ["a", "b"]


def test_words_of_one_letter_count():
    counts, vocabulary = count_words(["C and C"])
    assert vocabulary == ["and", "c"]
    assert counts.toarray().tolist() == [[1, 2]]


@pytest.mark.parametrize("texts", [[], ["", "  "], ["...", "!"]])
def test_texts_without_words_are_an_error_with_the_pattern(texts):
    with pytest.raises(SupervisionError, match=r"no words.*\\b\\w\+\\b"):
        count_words(texts)


def test_chinese_is_cut_into_words():
    pytest.importorskip("rjieba")
    _, whole = count_words(["我们喜欢苹果"])
    assert whole == ["我们喜欢苹果"]
    counts, cut = count_words(["我们喜欢苹果", "苹果"], segmenter="jieba")
    assert set(cut) == {"我们", "喜欢", "苹果"}
    assert np.asarray(counts.sum(axis=0)).ravel()[cut.index("苹果")] == 2


def test_unknown_segmenter_is_named():
    with pytest.raises(SupervisionError, match=r"'mecab'; choose from jieba"):
        count_words(["a"], segmenter="mecab")


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet="aB ,.-é1\n", max_size=30), st.booleans())
def test_words_found_in_a_text_are_those_that_are_counted(text, lowercase):
    found = find_words(text, lowercase=lowercase)
    for word, start, end in found:
        assert word == (text[start:end].lower() if lowercase else text[start:end])
    if found:
        counts, vocabulary = count_words([text], lowercase=lowercase)
        assert Counter(word for word, _, _ in found) == dict(
            zip(vocabulary, counts.toarray()[0].tolist(), strict=True)
        )


def test_chinese_words_are_found_where_they_stand():
    pytest.importorskip("rjieba")
    text = "我们 喜欢苹果。"
    places = {word: text[start:end] for word, start, end in find_words(text, segmenter="jieba")}
    assert places == {"我们": "我们", "喜欢": "喜欢", "苹果": "苹果"}
