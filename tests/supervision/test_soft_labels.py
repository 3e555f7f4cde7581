import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax as scipy_softmax

from losslab.errors import SupervisionError
from losslab.supervision import SoftLabels, soft_labels


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
