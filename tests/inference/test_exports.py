"""Models in other formats give the scores they have here."""

import numpy as np
import pytest
import torch
from tiny_encoder import write_encoder
from trained import LABELS, TEXTS, make_baseline, make_model, small_recipe
from transformers import RobertaConfig, pipeline

from losslab.errors import ModelError
from losslab.inference.classifier import Classifier
from losslab.inference.folder import load
from losslab.inference.formats import export_model
from losslab.inference.hugging_face import fold_scores, save_hugging_face, scores_of
from losslab.inference.onnx import load_onnx
from losslab.losses import build_loss

LONG = ["the lock is open " * 9, *TEXTS]
"""The first is cut off at ``max_length``."""


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp(name) for name in ("bert", "roberta")}
    bert = write_encoder(folders["bert"])
    roberta = write_encoder(folders["roberta"], RobertaConfig, max_position_embeddings=40)
    return {"bert": bert, "roberta": roberta}


@pytest.mark.parametrize(
    ("recipe", "encoder", "loss", "task"),
    [
        ("bert", "bert", "bce", "multi"),
        ("bert", "roberta", "zlpr", "multi"),
        ("bert", "bert", "ce", "single"),
        ("minilm", "bert", "tlpr", "multi"),
        ("bert", "bert", "atl", "multi"),
    ],
)
def test_transformers_gives_the_same_probabilities(encoders, tmp_path, recipe, encoder, loss, task):
    model = make_model(small_recipe(recipe, encoders[encoder]), loss, task=task)
    folder = tmp_path / "model"
    trust = save_hugging_face(model, folder)
    assert trust == (recipe == "minilm")  # whose tokens are averaged
    options = {"trust_remote_code": True} if trust else {}
    theirs = pipeline(
        "text-classification", str(folder), top_k=None, truncation=True, batch_size=4, **options
    )
    found = torch.stack([scores_of(each, model.labels) for each in theirs(LONG)]).numpy()
    expected = Classifier(model).scores(LONG)
    assert found == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected, axis=0).max() > 1e-4  # texts differ by more


def test_what_is_no_probability_is_not_told_as_one(encoders, tmp_path):
    model = make_model(small_recipe("bert", encoders["bert"]), "ranking", rules={"top_k": {"k": 1}})
    with pytest.raises(ModelError, match="scores of ranking are no probabilities"):
        export_model(model, tmp_path / "model", "huggingface")
    assert not (tmp_path / "model").exists()


def test_models_that_transformers_has_not_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no model like that of the recipe textcnn"):
        export_model(make_model(small_recipe("textcnn")), tmp_path / "m", "huggingface")
    with pytest.raises(ModelError, match="svm is a baseline"):
        export_model(make_baseline(), tmp_path / "m", "huggingface")


def test_the_last_layer_folds_what_the_loss_does_to_logits():
    head = torch.nn.Linear(4, 3)
    inputs = torch.randn(5, 4)
    for name in ("bce", "zlpr", "sigmoid_f1"):
        loss = build_loss(name)
        folded = torch.sigmoid(fold_scores(loss, head, single=False)(inputs))
        assert torch.allclose(folded, loss.scores(head(inputs)), atol=1e-6)


@pytest.mark.parametrize(
    ("recipe", "encoder"), [("textcnn", None), ("probe", "bert"), ("minilm", "bert")]
)
def test_an_onnx_graph_gives_the_same_labels_and_probabilities(encoders, tmp_path, recipe, encoder):
    pytest.importorskip("onnxruntime")
    backbone = encoder and encoders[encoder]
    model = make_model(small_recipe(recipe, backbone), "zlpr")
    export_model(model, tmp_path / "model", "onnx")
    ours, theirs = load(tmp_path / "model"), load_onnx(tmp_path / "model")
    assert theirs.scores(LONG) == pytest.approx(ours.scores(LONG), abs=1e-4)
    for rule in ours.rules:
        labels = [each.labels for each in ours.predict(LONG, rule=rule)]
        assert [each.labels for each in theirs.predict(LONG, rule=rule)] == labels


def test_models_that_are_no_graph_are_refused(tmp_path):
    with pytest.raises(ModelError, match="a lstm is not exported to ONNX"):
        export_model(make_model(small_recipe("lstm")), tmp_path / "m", "onnx")
    folder = tmp_path / "plain"
    export_model(make_model(small_recipe("textcnn")), folder, "losslab")
    with pytest.raises(ModelError, match=r"has no model\.onnx: kedro export --format=onnx"):
        load_onnx(folder)
    assert list(load(folder).labels) == LABELS
