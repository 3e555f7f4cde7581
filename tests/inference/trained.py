"""Trained models for tests: untrained weights will do, decided by rules."""

import json
from typing import Any

import numpy as np
import torch
from recipe_conf import read_recipe

from losslab.baselines import BASELINES
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.tfidf import learn_vocabulary, weigh_words
from losslab.inference.model import TrainedModel, assemble_model
from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.models.text_model import ThresholdModel, build_model
from losslab.parameters import LossSettings, Recipe, TfidfSettings
from losslab.training.network import ModelWithLoss

WORD = r"(?u)\b\w+\b"
LABELS = ["lock", "memory, open", "<b>"]
TEXTS = [f"the {word} is open {'a' * (n % 3)}" for n in range(7) for word in ("lock", "memory")]
RULES = {
    "own": {"threshold": 0.5},
    "tuned": {"threshold": 0.45},
    "per_label": {"thresholds": [0.4, 0.5, 0.6]},
    "top_k": {"k": 2},
}
SMALL = {
    "probe": {"hidden_dim": 4},
    "hybrid": {"hidden_dim": 4},
    "textcnn": {"filters": 4, "embedding_dim": 8},
    "lstm": {"hidden_dim": 4, "embedding_dim": 8},
    "minilm": {},
    "bert": {},
}


def metrics_of(*seeds: int) -> dict[str, Any]:
    facts = {"select_by": "macro_f1", "validation": {"macro_f1": 0.5}, "mark": None}
    values = {"macro_f1": 0.5, "micro_f1": 0.625}
    return {
        "rule": "tuned",
        "seeds": {str(seed): values for seed in seeds},
        "mean": values,
        "intervals": {"macro_f1": {"low": 0.25, "high": 0.75}},
        "training": {"seeds": {str(seed): facts for seed in seeds}, "mark": None},
        "conditions": {"dataset": "cwe"},
    }


def small_recipe(name: str, backbone: str | None = None) -> Recipe:
    model: dict[str, Any] = {**SMALL[name], "max_length": 16}
    return read_recipe(name, model | ({"backbone": backbone} if backbone else {}))


def make_network(recipe: Recipe, loss: str, task: str = "multi") -> ModelWithLoss:
    """A network with weights large enough to tell texts apart."""
    torch.manual_seed(0)
    features = compute_features(recipe.model, TEXTS, learn_tokenizer(recipe.model, TEXTS))
    statistics = LabelStatistics([5, 3, 2], 10, 0.5)
    made = build_loss(loss, statistics, groups=[0, 0, 1], task=task, **LOSSES[loss].defaults())
    num_labels = len(LABELS) + made.threshold_logit
    model = build_model(recipe.model, features, num_labels=num_labels)
    network = ModelWithLoss(
        ThresholdModel(model) if made.threshold_logit else model,
        made,
        regularizers=recipe.training.regularizers,
    )
    with torch.no_grad():
        for parameter in network.model.parameters():
            parameter.mul_(1.5)
    return network.eval()


def make_model(
    recipe: Recipe, loss: str = "bce", *, task: str = "multi", rules: Any = None
) -> TrainedModel:
    weights = make_network(recipe, loss, task).state_dict()
    arrays = {
        f"seed_{seed}/{name}": np.array(value) for seed in (3, 4) for name, value in weights.items()
    }
    decisions = rules or ({"argmax": {"k": 1}} if task == "single" else RULES)
    tokenizer = learn_tokenizer(recipe.model, TEXTS)
    return _assemble(loss, arrays, json.loads(tokenizer.to_str()), decisions, task, recipe)


def make_baseline(name: str = "svm") -> TrainedModel:
    settings = TfidfSettings(
        lowercase=True,
        token_pattern=WORD,
        segmenter=None,
        stop_words=None,
        sublinear_tf=True,
        min_df=1,
        max_features=None,
    )
    vocabulary = learn_vocabulary(TEXTS, settings)
    words = weigh_words(TEXTS, vocabulary)
    truth = np.array([["lock" in text, "memory" in text, "aa" in text] for text in TEXTS])
    from scipy import sparse

    arrays = BASELINES[name]().fit(words, sparse.csr_array(truth.astype(np.int8)), c=1.0)
    return _assemble(
        name, arrays, vocabulary, {"tuned": {"threshold": 0.0}}, "multi", None, seeds=(0,)
    )


def assemble_seed(seed: int) -> TrainedModel:
    """A model of which two seeds were trained."""
    recipe = small_recipe("textcnn")
    model = make_model(recipe)
    arrays = {f"seed_{each}/{name}": a for each in (3, 4) for name, a in model.weights.items()}
    return _assemble("bce", arrays, model.vocabulary, RULES, "multi", recipe, seed=seed)


def _assemble(
    name: str,
    arrays: dict[str, np.ndarray],
    vocabulary: Any,
    decisions: Any,
    task: str,
    recipe: Recipe | None,
    seeds: tuple[int, ...] = (3, 4),
    seed: int | None = None,
) -> TrainedModel:
    options = LOSSES[name].defaults() if name in LOSSES else BASELINES[name].defaults()
    return assemble_model(
        LossSettings(name=name, options=options),
        arrays,
        vocabulary,
        LABELS,
        {"primary": next(iter(decisions)), "seeds": {str(seed): decisions for seed in seeds}},
        metrics_of(*seeds),
        label_statistics={"frequencies": [5, 3, 2], "documents": 10, "mu": 0.5},
        corpus={"summary": {}, "splits": []},
        task=task,
        recipe=recipe,
        seed=seed,
        words={"lowercase": True, "token_pattern": WORD, "segmenter": None},
    )
