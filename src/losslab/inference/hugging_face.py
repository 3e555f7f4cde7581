"""A fine-tuned model as a folder of transformers: ``pipeline("text-classification", model=folder)``."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from losslab.errors import ModelError
from losslab.inference import hugging_face_model
from losslab.inference.card import write_card
from losslab.inference.folder import CARD, LABELS, RULES, refuse_occupied, replacing, write_manifest
from losslab.inference.hugging_face_model import LosslabConfig, LosslabForSequenceClassification
from losslab.inference.model import TrainedModel
from losslab.inference.scorers import build_network, require_recipe
from losslab.losses import Loss
from losslab.models.text_model import ThresholdModel
from losslab.parameters import TransformerSettings

STANDARD = ("bert", "roberta")
"""Backbones with a classifier of transformers' own that reads the first token."""
SCALE = 2.0**-17
"""In transformers' classifiers a tanh comes before the last layer: of values so small it is none."""
CODE = "modeling_losslab.py"


def save_hugging_face(model: TrainedModel, folder: Path, *, replace: bool = False) -> bool:
    """Write the folder, atomically; whether it needs ``trust_remote_code=True``.

    Probabilities are those of the loss: what it does to logits is part of the last layer. A backbone
    whose tokens are averaged has no classifier in transformers; a file of code goes along.
    """
    recipe = require_recipe(model)
    settings = recipe.model
    if not isinstance(settings, TransformerSettings):
        raise ModelError(
            f"transformers has no model like that of the recipe {recipe.name}: it classifies by a "
            "fine-tuned encoder, as minilm and bert are; or use --format=onnx"
        )
    refuse_occupied(folder, replace=replace)
    network = build_network(model)
    encoder: Any = network.model  # a Transformer
    if isinstance(encoder, ThresholdModel):
        encoder = encoder.model
    head = margins(encoder.head) if network.loss.threshold_logit else encoder.head
    head = fold_scores(network.loss, head, single=model.facts.task == "single")
    kind = encoder.backbone.config.model_type
    own = settings.pooling != "cls" or kind not in STANDARD
    make = _own_classifier if own else _standard_classifier
    classifier = make(encoder.backbone, head, settings.pooling)
    _describe(classifier.config, model)
    with replacing(folder) as part:
        classifier.save_pretrained(part)
        if own:
            shutil.copyfile(hugging_face_model.__file__, part / CODE)
        _save_tokenizer(model, part, settings.max_length)
        _save_notes(model, part, own=own)
        write_manifest(part)
    return own


def margins(head: nn.Linear) -> nn.Linear:
    """The layer of ``z - t``, where the last output of ``head`` is t."""
    layer = nn.Linear(head.in_features, head.out_features - 1)
    with torch.no_grad():
        layer.weight.copy_(head.weight[:-1] - head.weight[-1:])
        layer.bias.copy_(head.bias[:-1] - head.bias[-1:])
    return layer


def fold_scores(loss: Loss, head: nn.Linear, *, single: bool) -> nn.Linear:
    """The last layer with what the loss does to logits before the sigmoid, or softmax, in it.

    Raise ModelError where scores are no sigmoid of a linear function of logits, and no softmax.
    """
    points = torch.linspace(-3, 3, 7, dtype=torch.float64)
    logits = points.unsqueeze(1).expand(-1, head.out_features)
    with torch.no_grad():
        if single:
            slope, offset = torch.ones(()), torch.zeros(())
            uneven = logits * torch.linspace(1, 2, head.out_features, dtype=torch.float64)
            fits = torch.allclose(loss.scores(uneven), torch.softmax(uneven, dim=1))
        else:
            steep = torch.logit(loss.scores(logits))
            slope, offset = (steep[-1] - steep[0]) / (points[-1] - points[0]), steep[3]
            fits = torch.allclose(steep, slope * logits + offset, atol=1e-6)
        if not fits:
            raise ModelError(
                f"scores of {loss.name} are no probabilities that transformers' pipeline could give: "
                "export a model folder (--format=losslab) or an ONNX graph"
            )
        folded = nn.Linear(head.in_features, head.out_features)
        folded.weight.copy_(head.weight * slope.reshape(-1, 1))
        folded.bias.copy_(head.bias * slope + offset)
    return folded


def _own_classifier(backbone: Any, head: nn.Linear, pooling: str) -> Any:
    config = LosslabConfig(encoder=backbone.config.to_dict(), pooling=pooling)
    config.num_labels = head.out_features
    classifier = LosslabForSequenceClassification(config)
    classifier.encoder.load_state_dict(backbone.state_dict())
    classifier.classifier.load_state_dict(head.state_dict())
    modules = {"AutoConfig": "LosslabConfig"}
    modules["AutoModelForSequenceClassification"] = "LosslabForSequenceClassification"
    name = Path(CODE).stem
    config.auto_map = {auto: f"{name}.{own}" for auto, own in modules.items()}
    return classifier


def _standard_classifier(backbone: Any, head: nn.Linear, pooling: str) -> Any:
    """transformers' own classifier with the identity in the place of its hidden layer."""
    from transformers import AutoModelForSequenceClassification

    config = backbone.config
    config.num_labels = head.out_features
    from_config: Callable[[Any], Any] = AutoModelForSequenceClassification.from_config
    classifier = from_config(config)
    encoder = getattr(classifier, config.model_type)
    encoder.load_state_dict(backbone.state_dict(), strict=False)
    if config.model_type == "bert":
        hidden, last = encoder.pooler.dense, classifier.classifier
    else:
        hidden, last = classifier.classifier.dense, classifier.classifier.out_proj
    with torch.no_grad():
        hidden.weight.copy_(SCALE * torch.eye(hidden.out_features))
        hidden.bias.zero_()
        last.weight.copy_(head.weight / SCALE)
        last.bias.copy_(head.bias)
    return classifier


def _describe(config: Any, model: TrainedModel) -> None:
    kind = "single" if model.facts.task == "single" else "multi"
    config.problem_type = f"{kind}_label_classification"
    config.id2label = dict(enumerate(model.labels))
    config.label2id = {label: index for index, label in enumerate(model.labels)}


def _save_tokenizer(model: TrainedModel, folder: Path, max_length: int) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer.from_str(json.dumps(model.vocabulary))
    padding = (tokenizer.padding or {})["pad_token"]
    tokenizer.no_padding()
    tokenizer.no_truncation()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=padding,
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)


def _save_notes(model: TrainedModel, folder: Path, *, own: bool) -> None:
    """Labels, thresholds, and a card that says how to load it here."""
    for name, content in ((LABELS, list(model.labels)), (RULES, dict(model.rules))):
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
    trust = ", trust_remote_code=True" if own else ""
    call = f'pipeline("text-classification", "this folder", top_k=None, truncation=True{trust})'
    lines = [
        "from transformers import pipeline",
        "",
        f"classifier = {call}",
        'classifier("a text")',
    ]
    (folder / CARD).write_text(write_card(model, use=lines), encoding="utf-8")


def scores_of(answer: list[dict[str, Any]], labels: tuple[str, ...]) -> Tensor:
    """What ``pipeline(top_k=None)`` gives of a text, in the order of ``labels``."""
    by_label = {each["label"]: each["score"] for each in answer}
    return torch.tensor([by_label[label] for label in labels], dtype=torch.float64)
