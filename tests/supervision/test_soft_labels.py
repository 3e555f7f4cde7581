import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax as scipy_softmax

from losslab.errors import SupervisionError
from losslab.supervision import (
    SoftLabels,
    classic_soft_labels,
    distilled_soft_labels,
    document_label_relevance,
    keyword_soft_labels,
    smooth_targets,
    soft_labels,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/kwls.json").read_text())


@pytest.fixture
def factors():
    """Documents x words, words x labels: some words speak for many labels, most for few."""
    random = np.random.default_rng(3)
    shares = np.geomspace(0.9, 0.01, 60)[:, None]
    words = random.random((60, 40)) * (random.random((60, 40)) < shares)
    documents = random.random((30, 60)) * (random.random((30, 60)) < 0.2)
    return sparse.csr_array(documents), sparse.csr_array(words)


@pytest.mark.parametrize("room", [0, 5 * 40 * 8, 2**30])
def test_blocks_agree_with_the_dense_product_however_words_are_split(factors, room, monkeypatch):
    monkeypatch.setattr(soft_labels, "DENSE_BYTES", room)
    documents, words = factors
    soft = SoftLabels(documents, words)
    rows = np.array([7, 0, 7, 29])
    product = documents.toarray() @ words.toarray()
    assert np.allclose(soft.relevance(rows), product[rows], atol=1e-12)
    assert np.allclose(soft(rows), scipy_softmax(product[rows], axis=1), atol=1e-12)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("size", [1, 7, 30, 64])
def test_stream_holds_every_document_once_and_in_order(factors, size, workers):
    soft = SoftLabels(*factors)
    blocks = list(soft.blocks(size, workers=workers))
    assert max(map(len, blocks)) <= size
    assert np.allclose(np.vstack(blocks), soft(np.arange(len(soft))), atol=1e-12)


def test_functions_stream_on_request():
    counts = sparse.csr_array(np.random.default_rng(0).integers(1, 3, (9, 5)))
    targets = sparse.csr_array(np.eye(3, dtype=int)[[0, 1, 2] * 3])
    options = {"k1": 2, "b": 0.75, "k2": 2}
    for function in (keyword_soft_labels, document_label_relevance):
        blocks = list(function(counts, targets, **options, block_size=4))
        assert [len(block) for block in blocks] == [4, 4, 1]
        assert np.allclose(np.vstack(blocks), function(counts, targets, **options))


def test_classic_smoothing_has_the_golden_figures_where_documents_have_one_label():
    targets = sparse.csr_array(np.array(GOLDEN["labels_multi"]))
    ours = classic_soft_labels(targets, eps=GOLDEN["ls_classic"]["eps"])
    single = np.asarray(targets.sum(axis=1)).ravel() == 1
    assert single.any()
    expected = np.array(GOLDEN["ls_classic"]["soft_label"])[single]
    assert np.abs(ours[single] - expected).max() <= 1e-9


@pytest.mark.parametrize("eps", [0, 0.1, 1])
def test_classic_smoothing_shares_the_rest_among_the_labels_carried(eps):
    targets = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    ours = classic_soft_labels(targets, eps=eps)
    share = (1 - eps) / 2 + eps / 4
    assert np.allclose(ours[0], [share, share, eps / 4, eps / 4])
    assert np.allclose(ours[1:], 1 / 4)
    assert np.allclose(smooth_targets(targets, eps=eps)(np.array([0, 2])), ours[[0, 2]])


def test_classic_smoothing_refuses_more_than_everything():
    with pytest.raises(SupervisionError, match=r"eps must lie in \[0, 1\], got 1.5"):
        classic_soft_labels(np.eye(2), eps=1.5)


def test_distilled_labels_are_the_softmax_of_the_baseline():
    logits = np.random.default_rng(1).normal(0, 50, (5, 4))
    assert np.allclose(distilled_soft_labels(logits), scipy_softmax(logits, axis=1), atol=1e-12)


def test_distilled_labels_refuse_a_broken_baseline():
    with pytest.raises(SupervisionError, match="not finite"):
        distilled_soft_labels(np.array([[0.0, np.nan]]))


def test_large_relevance_does_not_overflow():
    soft = SoftLabels(np.array([[1e4, -1e4, 1e4]], dtype=np.float32))
    assert np.allclose(soft(np.array([0])), [[0.5, 0, 0.5]])


def test_documents_are_asked_for_by_their_rows_in_the_corpus(factors):
    plain = SoftLabels(*factors)
    named = SoftLabels(*factors, rows=np.arange(100, 160, 2))
    assert np.allclose(named(np.array([158, 100])), plain(np.array([29, 0])))
    assert np.allclose(np.vstack(list(named.blocks(11))), plain(np.arange(30)))


@pytest.mark.parametrize("row", [99, 101, 160])
def test_rows_outside_training_are_named(factors, row):
    named = SoftLabels(*factors, rows=np.arange(100, 160, 2))
    with pytest.raises(SupervisionError, match=f"no soft labels for row {row}: .* 30 training"):
        named(np.array([100, row]))
