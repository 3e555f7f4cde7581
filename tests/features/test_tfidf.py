"""TF-IDF: that of scikit-learn, learned from training texts, applied to new ones."""

import json

import numpy as np
import pytest
import yaml
from conftest import ROOT
from sklearn.feature_extraction.text import TfidfVectorizer

from losslab.errors import SupervisionError
from losslab.features.tfidf import learn_vocabulary, weigh_words
from losslab.parameters import TfidfSettings

TRAIN = ["The lock of the old lock is open", "memory and lock", "memory is lost", "old memory"]
NEW = ["a lock, a lock and unheard words", "nothing known"]


def settings(**changes) -> TfidfSettings:
    conf = yaml.safe_load((ROOT / "conf/base/parameters_features.yml").read_text())["tfidf"]
    return TfidfSettings(**{**conf, **changes})


def test_matrix_is_scikit_learns_with_vocabulary_and_idf_of_training():
    oracle = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2).fit(TRAIN)
    vocabulary = learn_vocabulary(TRAIN, settings())
    assert vocabulary["words"] == list(oracle.get_feature_names_out())
    for texts in (TRAIN, NEW):
        found = weigh_words(texts, vocabulary)
        assert found.dtype == np.float32
        assert found.toarray() == pytest.approx(oracle.transform(texts).toarray(), abs=1e-6)


def test_vocabulary_survives_json():
    vocabulary = learn_vocabulary(TRAIN, settings(min_df=1))
    again = json.loads(json.dumps(vocabulary))
    assert np.array_equal(weigh_words(NEW, again).toarray(), weigh_words(NEW, vocabulary).toarray())


def test_most_frequent_words_are_kept_where_there_are_more():
    assert learn_vocabulary(TRAIN, settings(max_features=2))["words"] == ["lock", "memory"]


def test_texts_without_spaces_are_segmented():
    pytest.importorskip("rjieba")
    chinese = settings(segmenter="jieba", stop_words=None, min_df=1)
    assert "中国" in learn_vocabulary(["我爱中国", "中国人"], chinese)["words"]


def test_texts_without_a_word_are_named_with_what_to_change():
    with pytest.raises(SupervisionError, match=r"2 training texts: .*tfidf\.min_df"):
        learn_vocabulary(["one", "two"], settings())
