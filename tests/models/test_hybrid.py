"""The hybrid against a dense layer over embedding and TF-IDF side by side."""

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from losslab.features.inputs import inputs_of
from losslab.models.hybrid import Hybrid

DIM, WORDS, HIDDEN, LABELS = 6, 9, 4, 3


@pytest.fixture
def tfidf() -> sparse.csr_array:
    """Seven documents; the last has no words."""
    random = np.random.default_rng(0)
    dense = random.random((7, WORDS)) * (random.random((7, WORDS)) < 0.4)
    dense[-1] = 0
    return sparse.csr_array(dense.astype(np.float32))


@pytest.fixture
def features(tfidf) -> dict[str, np.ndarray]:
    embeddings = np.random.default_rng(1).normal(size=(7, DIM)).astype(np.float32)
    words = {"weights": tfidf.data, "ids": tfidf.indices, "offsets": tfidf.indptr}
    arrays = {f"word_{name}": array for name, array in words.items()}
    return {"embeddings": embeddings, **arrays, "num_words": np.array([WORDS])}


@pytest.fixture
def hybrid() -> Hybrid:
    torch.manual_seed(0)
    model = Hybrid(
        embedding_dim=DIM, num_words=WORDS, num_labels=LABELS, hidden_dim=HIDDEN, dropout=0.0
    )
    nn.init.normal_(model.words.weight)
    return model


def dense_oracle(hybrid: Hybrid) -> nn.Sequential:
    """A linear layer over embedding and TF-IDF, GELU, a linear layer, of the hybrid's weights."""
    oracle = nn.Sequential(nn.Linear(DIM + WORDS, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, LABELS))
    columns = torch.cat([hybrid.projection.weight, hybrid.words.weight.T], dim=1)
    with torch.no_grad():
        oracle[0].weight.copy_(columns)
        oracle[0].bias.copy_(hybrid.projection.bias)
        oracle[2].load_state_dict(hybrid.head.state_dict())
    return oracle


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5, 6], [6], [5, 6, 2, 2]], ids=str)
def test_logits_and_gradients_are_those_of_a_dense_layer(hybrid, features, tfidf, rows):
    documents = np.arange(7)[::-1].copy()  # rows of the corpus, in the order of a split
    batch = inputs_of(features, documents).batch(np.array(rows))
    dense = np.hstack([features["embeddings"], tfidf.toarray()])[documents][rows]
    oracle = dense_oracle(hybrid)
    logits, expected = hybrid(**batch), oracle(torch.from_numpy(dense))
    torch.testing.assert_close(logits, expected)
    for values in (logits, expected):
        values.square().sum().backward()
    columns = [hybrid.projection.weight.grad, hybrid.words.weight.grad.T]
    torch.testing.assert_close(torch.cat(columns, dim=1), oracle[0].weight.grad)


def test_word_that_no_training_document_has_changes_no_score(features):
    torch.manual_seed(0)
    model = Hybrid(
        embedding_dim=DIM, num_words=WORDS, num_labels=LABELS, hidden_dim=HIDDEN, dropout=0.0
    )
    batch = inputs_of(features, np.arange(7)).batch(np.arange(7))
    other = {**batch, "word_ids": (batch["word_ids"] + 1) % WORDS}
    assert torch.equal(model(**batch), model(**other))
    model(**batch).square().sum().backward()
    assert model.words.weight.grad.abs().sum() > 0


def test_words_are_dropped_in_training_only(features):
    model = Hybrid(
        embedding_dim=DIM, num_words=WORDS, num_labels=LABELS, hidden_dim=HIDDEN, dropout=0.5
    )
    nn.init.normal_(model.words.weight)
    batch = inputs_of(features, np.arange(7)).batch(np.arange(7))
    assert not torch.equal(model.embed(**batch), model.embed(**batch))
    model.eval()
    assert torch.equal(model.embed(**batch), model.embed(**batch))
