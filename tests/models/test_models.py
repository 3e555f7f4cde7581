"""What all models have in common, whatever they read."""

import os

import numpy as np
import pytest
import torch
from tiny_encoder import write_encoder
from torch.multiprocessing.reductions import StorageWeakRef
from transformers import DebertaV2Config, DistilBertConfig, MPNetConfig, RobertaConfig

from losslab.errors import EncoderError
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.inputs import inputs_of
from losslab.features.word_vectors import first_vectors
from losslab.models.build import build_model
from losslab.models.dropout import Dropout
from losslab.parameters import (
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    TextCNNSettings,
    TransformerSettings,
)

TEXTS = ["the lock is open", "a", "", "the memory of the part is read after it was freed", "lock"]
COMMON = {"max_length": 16, "truncation": "head", "dropout": 0.0}
WORDS = {**COMMON, "words": 50, "least_count": 1, "lowercase": True, "width": 6, "vectors": None}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


ENCODERS = {
    "roberta": RobertaConfig,
    "distilbert": DistilBertConfig,
    "mpnet": MPNetConfig,
    "deberta": DebertaV2Config,
}


@pytest.fixture(params=["probe", "cls", "mean", "textcnn", "lstm", *ENCODERS])
def settings(request, encoder, tmp_path) -> ModelSettings:
    pretrained = {**COMMON, "backbone": encoder}
    if request.param in ENCODERS:
        backbone = write_encoder(tmp_path, ENCODERS[request.param])
        return TransformerSettings(**{**pretrained, "backbone": backbone}, pooling="mean")
    return {
        "probe": ProbeSettings(**pretrained, pooling="mean", hidden=4),
        "cls": TransformerSettings(**pretrained, pooling="cls"),
        "mean": TransformerSettings(**pretrained, pooling="mean"),
        "textcnn": TextCNNSettings(**WORDS, windows=(3, 4, 5), filters=7),
        "lstm": LSTMSettings(**WORDS, hidden=5, layers=2),
    }[request.param]


@pytest.fixture
def features(settings):
    return compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))


def test_logits_of_a_text_do_not_depend_on_its_company(settings, features):
    model = build_model(settings, features, labels=3).eval()
    inputs = inputs_of(features, np.arange(len(TEXTS)))
    together = model(**inputs.batch(np.arange(len(TEXTS))))
    assert together.shape == (len(TEXTS), 3)
    for place in range(len(TEXTS)):
        alone = model(**inputs.batch(np.array([place])))
        torch.testing.assert_close(alone[0], together[place], atol=1e-5, rtol=1e-4)


def test_every_weight_that_asks_for_a_gradient_gets_one(settings, features):
    model = build_model(settings, features, labels=3)
    model(**inputs_of(features, np.arange(5)).batch(np.arange(5))).square().sum().backward()
    assert [
        name for name, p in model.named_parameters() if p.requires_grad and p.grad is None
    ] == []


def test_logits_are_classified_embeddings(settings, features):
    model = build_model(settings, features, labels=3).eval()
    batch = inputs_of(features, np.arange(5)).batch(np.arange(5))
    torch.testing.assert_close(model.classify(model.embed(**batch), **batch), model(**batch))


def test_saving_memory_changes_no_gradient(encoder):
    settings = TransformerSettings(**COMMON, backbone=encoder, pooling="cls")
    features = compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))
    batch = inputs_of(features, np.arange(5)).batch(np.arange(5))
    gradients, passes = [], []
    for save in (False, True):
        torch.manual_seed(0)
        model = build_model(settings, features, labels=3).train()
        if save:
            model.save_memory()
        seen: list[int] = []
        attention = model.backbone.encoder.layer[0].attention
        attention.register_forward_hook(lambda *call, seen=seen: seen.append(1))
        torch.manual_seed(1)
        model(**batch).square().sum().backward()
        gradients.append({name: part.grad for name, part in model.named_parameters()})
        passes.append(len(seen))
    torch.testing.assert_close(*gradients)
    assert passes == [1, 2]


def test_encoders_draw_dropout_quickly_and_keep_no_output_of_a_gelu(encoder):
    settings = TransformerSettings(**COMMON, backbone=encoder, pooling="mean")
    features = compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))
    model = build_model(settings, features, labels=3).train()
    kinds = {type(part) for part in model.modules() if isinstance(part, torch.nn.Dropout)}
    assert kinds == {Dropout}
    held = []
    wide = model.backbone.encoder.layer[0].intermediate
    wide.register_forward_hook(lambda *call: held.append(StorageWeakRef(call[2].untyped_storage())))
    logits = model(**inputs_of(features, np.arange(5)).batch(np.arange(5)))
    assert held[0].expired()
    logits.sum().backward()


@pytest.mark.parametrize(("before", "after"), [(None, "0"), ("7", "7")])
def test_no_code_is_kept_for_each_length_unless_asked_for(encoder, before, after, monkeypatch):
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setenv(name, before or "")
    if before is None:
        monkeypatch.delenv(name)
    settings = TransformerSettings(**COMMON, backbone=encoder, pooling="mean")
    build_model(settings, {}, labels=3)
    assert os.environ[name] == after


def test_features_of_a_text_are_the_same_later(settings, features):
    tokenizer = learn_tokenizer(settings, TEXTS)
    again = compute_features(settings, [TEXTS[3]], type(tokenizer).from_str(tokenizer.to_str()))
    first = inputs_of(features, np.array([3])).batch(np.array([0]))
    for name, value in inputs_of(again, np.array([0])).batch(np.array([0])).items():
        torch.testing.assert_close(value, first[name], atol=1e-6, rtol=1e-4)


def test_unknown_encoder_is_named():
    settings = TransformerSettings(**COMMON, backbone="nowhere/none", pooling="cls")
    with pytest.raises(EncoderError, match="no encoder 'nowhere/none'"):
        learn_tokenizer(settings, TEXTS)


@pytest.mark.parametrize("first", ["2 3\n", ""])
def test_given_vectors_are_where_words_start(tmp_path, first):
    file = tmp_path / "vectors.txt"
    file.write_text(f"{first}lock 1 2 3\nlock up 7 7 7\nopen 4 5 6\n")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "lock": 2, "open": 3, "rare": 4}
    vectors = first_vectors(vocabulary, width=9, file=str(file))
    assert vectors[[0, 2, 3]].tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert np.abs(vectors[4]).max() < 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lock 1 2\nopen 1\n", "line 2: expected 2 numbers, found 1"),
        ("lock 1 x\n", "line 1: expected a word and numbers"),
        (None, "no word vectors in .*vectors.txt"),
        ("lock\t1\t2\nopen\t1\t2\n", "vectors.txt has a vector of none of the corpus's 3 words"),
    ],
)
def test_broken_vectors_are_named(tmp_path, content, message):
    file = tmp_path / "vectors.txt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(EncoderError, match=message):
        first_vectors({"[PAD]": 0, "lock": 1, "open": 2}, width=2, file=str(file))
