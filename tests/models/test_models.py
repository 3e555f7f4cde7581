"""What all models have in common, whatever they read."""

import numpy as np
import pytest
import torch
from tiny_encoder import write_encoder
from transformers import DebertaV2Config, DistilBertConfig, MPNetConfig, RobertaConfig

from losslab.errors import EncoderError
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.inputs import inputs_of
from losslab.models.text_model import build_model
from losslab.parameters import (
    HybridSettings,
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    TextCNNSettings,
    TransformerSettings,
)

TEXTS = ["the lock is open", "a", "", "the memory of the part is read after it was freed", "lock"]
COMMON = {"max_length": 16, "truncation": "head", "dropout": 0.0}
WORDS = {
    **COMMON,
    "vocab_size": 50,
    "min_count": 1,
    "lowercase": True,
    "embedding_dim": 6,
    "vectors": None,
}

TFIDF = {
    "lowercase": True,
    "token_pattern": r"\w+",
    "segmenter": None,
    "stop_words": None,
    "sublinear_tf": True,
    "min_df": 1,
    "max_features": None,
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


def lstm(*, bidirectional: bool) -> LSTMSettings:
    return LSTMSettings(**WORDS, kind="lstm", bidirectional=bidirectional, hidden_dim=5, layers=2)


ENCODERS = {
    "roberta": RobertaConfig,
    "distilbert": DistilBertConfig,
    "mpnet": MPNetConfig,
    "deberta": DebertaV2Config,
}


@pytest.fixture(params=["probe", "hybrid", "cls", "mean", "textcnn", "bilstm", "lstm", *ENCODERS])
def settings(request, encoder, tmp_path) -> ModelSettings:
    tuned = {**COMMON, "backbone": encoder, "kind": "transformer"}
    frozen = {**COMMON, "backbone": encoder, "pooling": "mean", "hidden_dim": 4}
    if request.param in ENCODERS:
        backbone = write_encoder(tmp_path, ENCODERS[request.param])
        return TransformerSettings(**{**tuned, "backbone": backbone}, pooling="mean")
    return {
        "probe": ProbeSettings(**frozen, kind="probe"),
        "hybrid": HybridSettings(**frozen, kind="hybrid", tfidf=TFIDF),
        "cls": TransformerSettings(**tuned, pooling="cls"),
        "mean": TransformerSettings(**tuned, pooling="mean"),
        "textcnn": TextCNNSettings(**WORDS, kind="textcnn", kernel_sizes=(3, 4, 5), filters=7),
        "bilstm": lstm(bidirectional=True),
        "lstm": lstm(bidirectional=False),
    }[request.param]


@pytest.fixture
def features(settings):
    return compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))


def test_logits_of_a_text_do_not_depend_on_its_batch(settings, features):
    model = build_model(settings, features, num_labels=3).eval()
    inputs = inputs_of(features, np.arange(len(TEXTS)))
    batched = model(**inputs.batch(np.arange(len(TEXTS))))
    assert batched.shape == (len(TEXTS), 3)
    for index in range(len(TEXTS)):
        alone = model(**inputs.batch(np.array([index])))
        torch.testing.assert_close(alone[0], batched[index], atol=1e-5, rtol=1e-4)


def test_every_trainable_parameter_gets_a_gradient(settings, features):
    model = build_model(settings, features, num_labels=3)
    model(**inputs_of(features, np.arange(5)).batch(np.arange(5))).square().sum().backward()
    assert [
        name for name, p in model.named_parameters() if p.requires_grad and p.grad is None
    ] == []


def test_logits_are_classified_embeddings(settings, features):
    model = build_model(settings, features, num_labels=3).eval()
    batch = inputs_of(features, np.arange(5)).batch(np.arange(5))
    torch.testing.assert_close(model.classify(model.embed(**batch), **batch), model(**batch))


def test_gradient_checkpointing_changes_no_gradient(encoder):
    settings = TransformerSettings(**COMMON, kind="transformer", backbone=encoder, pooling="cls")
    features = compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))
    batch = inputs_of(features, np.arange(5)).batch(np.arange(5))
    gradients, passes = [], []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        model = build_model(settings, features, num_labels=3).train()
        if checkpointing:
            model.enable_gradient_checkpointing()
        seen: list[int] = []
        attention = model.backbone.encoder.layer[0].attention
        attention.register_forward_hook(lambda *call, seen=seen: seen.append(1))
        torch.manual_seed(1)
        model(**batch).square().sum().backward()
        gradients.append({name: part.grad for name, part in model.named_parameters()})
        passes.append(len(seen))
    torch.testing.assert_close(*gradients)
    assert passes == [1, 2]


def test_features_of_a_text_are_the_same_later(settings, features):
    tokenizer = learn_tokenizer(settings, TEXTS)
    again = compute_features(settings, [TEXTS[3]], type(tokenizer).from_str(tokenizer.to_str()))
    first = inputs_of(features, np.array([3])).batch(np.array([0]))
    for name, value in inputs_of(again, np.array([0])).batch(np.array([0])).items():
        torch.testing.assert_close(value, first[name], atol=1e-6, rtol=1e-4)


def test_lstm_of_one_direction_is_the_forward_half_of_a_bilstm():
    """Their weights copied, the pooled states of one are the first half of the other's."""
    settings = lstm(bidirectional=True)
    features = compute_features(settings, TEXTS, learn_tokenizer(settings, TEXTS))
    both, forward = (
        build_model(settings.model_copy(update={"layers": 1}), features, num_labels=3).eval()
        for settings in (lstm(bidirectional=True), lstm(bidirectional=False))
    )
    forward.load_state_dict(
        {
            name: both.state_dict()[name][..., : weight.shape[-1]]
            for name, weight in forward.state_dict().items()
        }
    )
    with torch.no_grad():
        both.head.weight[:, 5:] = 0
    batch = inputs_of(features, np.arange(5)).batch(np.arange(5))
    torch.testing.assert_close(forward(**batch), both(**batch))


def test_unknown_encoder_is_named():
    settings = TransformerSettings(
        **COMMON, kind="transformer", backbone="nowhere/none", pooling="cls"
    )
    with pytest.raises(EncoderError, match="no encoder 'nowhere/none'"):
        learn_tokenizer(settings, TEXTS)
