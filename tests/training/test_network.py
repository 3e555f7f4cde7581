"""A model with its loss: regularizers, contexts, inference."""

import json

import numpy as np
import pytest
import torch
from recipe_conf import read_recipe
from small_training import NONE, STATISTICS, Remembers, network, scores_of, separable, train
from tiny_encoder import write_encoder
from word_job import SHORT

from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.inputs import Embeddings, inputs_of
from losslab.losses import build_loss
from losslab.losses.base import Loss
from losslab.losses.contrast import supervised_contrast
from losslab.models.probe import Probe
from losslab.models.text_model import ThresholdModel, build_model
from losslab.parameters.losses import LossSettings
from losslab.training.job import build_network, describe_job
from losslab.training.network import (
    ModelWithLoss,
    predict_logits,
    predict_scores,
    text_scorer,
)

TEXTS = ["the lock is open", "a memory is open", "lock and memory", "the memory", "open lock"]


@pytest.mark.parametrize("weights", [{"rdrop": 1.0}, {"adversarial": 1.0}])
def test_regularizers_ask_for_agreement(weights):
    batch = separable(40, seed=0).batch(np.arange(40))
    plain = network(build_loss("bce"), dropout=0.5).train()
    strict = network(
        build_loss("bce"), dropout=0.5, regularizers=NONE.model_copy(update=weights)
    ).train()
    strict.load_state_dict(plain.state_dict())
    values = {}
    for name, module in {"plain": plain, "strict": strict}.items():
        torch.manual_seed(0)
        values[name] = torch.stack([module(**batch) for _ in range(20)]).mean()
    assert values["strict"] > values["plain"]
    (values["strict"] - values["plain"]).backward()
    assert strict.model.layers[1].weight.grad.isfinite().all()
    strict.eval()
    assert strict(**batch) == plain.eval()(**batch)


def textcnn(loss, **regularizers):
    """A network whose representation of texts is trained, and a batch."""
    recipe = read_recipe("textcnn", {"max_length": 16, "dropout": 0.0}, **SHORT)
    weights = NONE.model_copy(update=regularizers)
    features = compute_features(recipe.model, TEXTS, learn_tokenizer(recipe.model, TEXTS))
    torch.manual_seed(0)
    model = build_model(recipe.model, features, num_labels=3)
    network = ModelWithLoss(model, build_loss(loss, STATISTICS), regularizers=weights)
    inputs = inputs_of(features, np.arange(len(TEXTS))).batch(np.arange(len(TEXTS)))
    targets = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]]).float()
    return network, {"inputs": inputs, "targets": targets, "context": {}}


@pytest.mark.parametrize("loss", ["bce", "zlpr"])
def test_contrast_of_documents_is_added_to_any_loss_in_training(loss):
    plain, batch = textcnn(loss)
    strict, _ = textcnn(loss, mulsupcon=0.5)
    model = strict.model
    vectors = model.represent(model.embed(**batch["inputs"]), **batch["inputs"])
    contrast = supervised_contrast(vectors, batch["targets"], temperature=0.1)
    torch.testing.assert_close(strict(**batch), plain(**batch) + 0.5 * contrast)
    assert strict.eval()(**batch) == plain.eval()(**batch)


def test_contrast_moves_what_documents_are_represented_by_and_not_the_head():
    gradients = []
    for weight in (0.0, 0.5):
        network, batch = textcnn("bce", mulsupcon=weight)
        network(**batch).backward()
        gradients.append({n: p.grad for n, p in network.model.named_parameters()})
    same = {name for name in gradients[0] if gradients[0][name].equal(gradients[1][name])}
    assert same == {"head.weight", "head.bias"}


@pytest.mark.parametrize("loss", ["atl", "ncrl", "bce"])
def test_a_loss_may_have_the_model_learn_a_threshold_for_each_document(loss):
    recipe = read_recipe("probe", {"max_length": 16, "dropout": 0.0}, **SHORT)
    statistics = {"frequencies": [3, 2, 1], "documents": 9, "mu": 0.3, "groups": ["head"] * 3}
    job = describe_job(LossSettings(name=loss, options={}), recipe, statistics, "multi")
    features = {"embeddings": np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)}
    network = build_network(job, features)
    inputs = inputs_of(features, np.arange(7))
    margins = torch.from_numpy(predict_logits(network, inputs)).float()
    assert margins.shape == (7, 3)
    if loss == "bce":
        assert not isinstance(network.model, ThresholdModel)
        return
    inner = network.model.model(**inputs.batch(np.arange(7)))
    assert inner.shape == (7, 4)
    torch.testing.assert_close(margins, inner[:, :3] - inner[:, 3:])
    predicted = predict_scores(network, inputs) > 0.5
    assert np.array_equal(predicted, (inner[:, :3] > inner[:, 3:]).numpy())


def test_learned_parameters_and_random_state_of_a_loss_come_back_with_the_weights():
    fitted = train("tlpr", changed={"epochs": 3})
    fresh = network(build_loss("tlpr"))
    scores_of(fresh, fitted.weights, np.zeros((1, 4)))
    assert fresh.loss.move.item() == fitted.weights["loss.move"].item() != 0


def test_losses_are_told_the_epoch_and_given_a_second_pass_where_they_need_one():
    loss = Remembers()
    make = lambda: network(loss, dropout=0.5, needs_second_pass=True)  # noqa: E731
    train("remembers", make_network=make, changed={"epochs": 2})
    in_training = [context for context in loss.seen if context]
    assert sorted({context["epoch"] for context in in_training}) == [0, 1]
    assert all(context["second_logits"].shape[1] == 3 for context in in_training)


@pytest.mark.parametrize("name", ["probe", "hybrid", "textcnn"])
def test_new_texts_are_scored_as_those_of_the_corpus(name, tmp_path):
    backbone = {} if name == "textcnn" else {"backbone": write_encoder(tmp_path)}
    recipe = read_recipe(name, {"max_length": 16, **backbone}, **SHORT)
    texts = [*TEXTS, "unheard words", ""]
    tokenizer = learn_tokenizer(recipe.model, TEXTS)
    features = compute_features(recipe.model, texts, tokenizer)
    torch.manual_seed(0)
    model = build_model(recipe.model, features, num_labels=3)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.1)
    module = ModelWithLoss(model, build_loss("bce"), regularizers=NONE)
    scores = predict_scores(module, inputs_of(features, np.arange(len(texts))))
    saved = json.loads(tokenizer.to_str())
    again = text_scorer(module, recipe.model, saved)(texts[::-1])[::-1]
    np.testing.assert_allclose(again, scores, atol=1e-5)
    assert len(np.unique(scores[:, 0].round(6))) > 3


class Travels(Loss):
    """Scores logits of the device it was moved to, and no others."""

    device = "cpu"

    def _apply(self, move, recurse=True):
        self.device = move(torch.zeros(())).device.type
        return super()._apply(move, recurse)

    def scores(self, logits):
        assert logits.device.type == self.device
        return logits


class Elsewhere(Probe):
    """A model that answers from any device."""

    def forward(self, **inputs):
        return torch.ones(len(inputs["features"]), 3)


def test_scores_are_made_on_the_cpu_wherever_the_network_is(monkeypatch):
    monkeypatch.setattr("losslab.training.network.default_device", lambda: torch.device("meta"))
    model = Elsewhere(embedding_dim=4, num_labels=3, hidden_dim=0, dropout=0.0)
    module = ModelWithLoss(model, Travels(), regularizers=NONE)
    inputs = Embeddings(np.zeros((2, 4), dtype=np.float32), np.arange(2))
    assert predict_scores(module, inputs).tolist() == [[1.0] * 3] * 2
