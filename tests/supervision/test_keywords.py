import json
from math import log
from pathlib import Path

import kwls_loop
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.supervision import (
    count_words,
    document_label_relevance,
    from_relevance,
    keyword_soft_labels,
    mean_length,
    tabulate_keywords,
    tfidf_document_relevance,
    tfidf_label_relevance,
    tfidf_soft_labels,
    word_contributions,
    word_document_relevance,
    word_label_relevance,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/kwls.json").read_text())
SPACED = r"[^ ]+"
COUNTS, VOCABULARY = count_words(GOLDEN["documents"], token_pattern=SPACED)
SINGLE = sparse.csr_array(np.eye(3, dtype=np.int8)[GOLDEN["labels_single"]])
MULTI = sparse.csr_array(np.array(GOLDEN["labels_multi"], dtype=np.int8))
CASES = {
    "single_label": (SINGLE, GOLDEN["params"]),
    "multi_label": (MULTI, GOLDEN["params"]),
    "multi_label_other_params": (MULTI, GOLDEN["multi_label_other_params"]["params"]),
}
LOG = {"log": lambda f: log(1 + f), "raw": lambda f: f}


def close(ours, expected):
    assert np.abs(np.asarray(ours) - np.asarray(expected)).max() <= 1e-9


def by_word(table):
    """Words x labels in the order of the vocabulary."""
    return [table[word] for word in VOCABULARY]


def by_document(tables, words):
    return [[table.get(word, 0) for word in words] for table in tables]


@pytest.mark.parametrize("case", CASES)
def test_golden_figures_of_every_stage(case):
    (targets, options), golden = CASES[case], GOLDEN[case]
    words = word_label_relevance(COUNTS, targets, k1=options["k1"], b=options["b"])
    documents = word_document_relevance(COUNTS, k2=options["k2"])
    assert mean_length(COUNTS) == pytest.approx(golden["X_avg"], abs=1e-9)
    close(words.toarray(), by_word(golden["WLR"]))
    close(documents.toarray(), by_document(golden["WIR"], VOCABULARY))
    close(document_label_relevance(COUNTS, targets, **options), golden["ILR"])
    close(keyword_soft_labels(COUNTS, targets, **options), golden["soft_label"])


def test_golden_figures_of_tfidf():
    golden = GOLDEN["ls_tfidf_raw_multi"]
    close(tfidf_label_relevance(COUNTS, MULTI, tf="raw").toarray(), by_word(golden["WLR"]))
    close(
        tfidf_document_relevance(COUNTS, tf="raw").toarray(),
        by_document(golden["WIR"], VOCABULARY),
    )
    close(tfidf_soft_labels(COUNTS, MULTI, tf="raw"), golden["soft_label"])


@st.composite
def corpora(draw):
    """Texts of a few words and their labels; each label has a text with a word in it."""
    labels = draw(st.integers(1, 4))
    text = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=7)
    texts = [[*draw(text)] for _ in range(labels)]
    rows = np.eye(labels, dtype=int).tolist()
    more = st.tuples(text, st.lists(st.integers(0, 1), min_size=labels, max_size=labels))
    for words, row in draw(st.lists(more, max_size=5)):
        texts.append(words)
        rows.append(row)
    return texts, rows


@settings(deadline=None, derandomize=True, max_examples=60)
@given(corpora(), st.floats(0.1, 5), st.floats(0, 1), st.floats(0.1, 5))
def test_keywords_agree_with_a_slow_loop(corpus, k1, b, k2):
    texts, rows = corpus
    counts, _ = count_words([" ".join(words) for words in texts])
    targets = sparse.csr_array(np.array(rows, dtype=np.int8))
    words, documents = kwls_loop.wlr(texts, rows, k1=k1, b=b), kwls_loop.wir(texts, k2=k2)
    expected = kwls_loop.ilr(texts, words, documents)
    close(word_label_relevance(counts, targets, k1=k1, b=b).toarray(), list(words.values()))
    close(word_document_relevance(counts, k2=k2).toarray(), by_document(documents, words))
    close(document_label_relevance(counts, targets, k1=k1, b=b, k2=k2), expected)
    close(keyword_soft_labels(counts, targets, k1=k1, b=b, k2=k2), kwls_loop.soft(expected))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(corpora(), st.sampled_from(["log", "raw"]))
def test_tfidf_agrees_with_a_slow_loop(corpus, tf):
    texts, rows = corpus
    counts, _ = count_words([" ".join(words) for words in texts])
    targets = sparse.csr_array(np.array(rows, dtype=np.int8))
    words = kwls_loop.tfidf_wlr(texts, rows, tf=LOG[tf])
    documents = kwls_loop.tfidf_wir(texts, tf=LOG[tf])
    expected = kwls_loop.soft(kwls_loop.ilr(texts, words, documents))
    close(tfidf_soft_labels(counts, targets, tf=tf), expected)


def test_word_seen_with_no_label_speaks_for_none():
    counts, words = count_words(["seen", "lost"])
    relevance = word_label_relevance(counts, sparse.csr_array([[1, 1], [0, 0]]), k1=2, b=0.75)
    assert relevance.toarray()[words.index("lost")].tolist() == [0, 0]


def test_inputs_are_left_as_they_were():
    counts, targets = COUNTS.copy(), MULTI.copy()
    keyword_soft_labels(counts, targets, **GOLDEN["params"])
    tfidf_soft_labels(counts, targets)
    assert np.array_equal(counts.toarray(), COUNTS.toarray())
    assert np.array_equal(targets.toarray(), MULTI.toarray())


def test_zeros_that_are_stored_do_not_count():
    stored = sparse.csr_array(COUNTS.copy())
    stored.data = stored.data.copy()
    stored.data[0] = 0
    clean = stored.copy()
    clean.eliminate_zeros()
    options = GOLDEN["params"]
    close(
        keyword_soft_labels(stored, MULTI, **options), keyword_soft_labels(clean, MULTI, **options)
    )


def test_single_precision_is_close_and_half_the_size():
    exact = word_label_relevance(COUNTS, MULTI, k1=2, b=0.75)
    short = word_label_relevance(COUNTS, MULTI, k1=2, b=0.75, dtype=np.float32)
    assert short.dtype == np.float32
    assert np.allclose(short.toarray(), exact.toarray(), rtol=1e-6)


def test_nothing_widens_on_the_way_to_soft_labels():
    # A factor in double precision, or long indices, would be copied and doubled at each product.
    wide = COUNTS.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    words = word_label_relevance(wide, MULTI, k1=2, b=0.75, dtype=np.float32)
    documents = word_document_relevance(wide, k2=2, dtype=np.float32)
    soft = from_relevance(documents, words, mean_length(wide))
    for matrix in (soft.documents, soft.words):
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert soft(np.arange(6)).dtype == np.float32


RELEVANCES = {
    "kwls": lambda targets: word_label_relevance(COUNTS, targets, k1=2, b=0.75),
    "tfidf": lambda targets: tfidf_label_relevance(COUNTS, targets),
}


@pytest.mark.parametrize("method", RELEVANCES)
def test_labels_without_documents_have_relevance_0_and_leave_the_others_as_they_are(method, caplog):
    absent = sparse.csr_array((MULTI.shape[0], 2), dtype=np.int8)
    relevance = RELEVANCES[method](sparse.hstack([absent, MULTI], format="csr")).toarray()
    assert not relevance[:, :2].any()
    assert np.array_equal(relevance[:, 2:], RELEVANCES[method](MULTI).toarray())
    assert caplog.messages == ["2 labels without words in training documents: relevance 0"]


@pytest.mark.parametrize("method", RELEVANCES)
def test_no_label_with_documents_gives_relevance_0_everywhere(method):
    relevance = RELEVANCES[method](sparse.csr_array(MULTI.shape, dtype=np.int8))
    assert relevance.shape == (len(VOCABULARY), MULTI.shape[1])
    assert relevance.nnz == 0


def test_soft_labels_with_a_label_without_documents_are_distributions():
    targets = sparse.csr_array(MULTI.toarray() * np.array([1, 0, 1], dtype=np.int8))
    for soft in (
        keyword_soft_labels(COUNTS, targets, **GOLDEN["params"]),
        tfidf_soft_labels(COUNTS, targets),
    ):
        assert (soft > 0).all()
        assert np.allclose(soft.sum(axis=1), 1)


def test_counts_and_targets_of_different_documents_are_refused():
    with pytest.raises(SupervisionError, match="6 documents, targets 5"):
        keyword_soft_labels(COUNTS, MULTI[:5], **GOLDEN["params"])


def test_unknown_term_frequency_is_named():
    with pytest.raises(SupervisionError, match="'relative'; choose from log, raw"):
        tfidf_soft_labels(COUNTS, MULTI, tf="relative")


TABLE_WORDS = ["apple", "cat", "dog", "the"]
TABLE = sparse.csr_array([[3.0, 0, 0], [0, 2, 0], [0, 4, 0], [0.5, 2, 0]])


def test_table_lists_the_strongest_words_of_frequent_labels_first():
    table = tabulate_keywords(TABLE, TABLE_WORDS, ["fruit", "pet", "none"], [3, 8, 0], top=2)
    assert table.to_dict("records") == [
        {"label": "pet", "documents": 8, "keywords": "dog, cat", "strongest": 4.0, "words": 3},
        {"label": "fruit", "documents": 3, "keywords": "apple, the", "strongest": 3.0, "words": 2},
        {"label": "none", "documents": 0, "keywords": "", "strongest": 0.0, "words": 0},
    ]


def test_contributions_add_up_to_the_relevance():
    random = np.random.default_rng(0)
    documents = sparse.csr_array(random.random((5, 4)) * (random.random((5, 4)) < 0.7))
    product = (documents @ TABLE).toarray()
    for row in range(5):
        for label in range(3):
            shares = word_contributions(documents[[row]], TABLE, label)
            assert np.isclose(sum(shares.values()), product[row, label])
