"""A small data set, and a loss taken through its nodes on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from conftest import ROOT
from recipe_conf import read_recipe
from scipy import sparse

from losslab.evaluation import Predictions
from losslab.losses import LOSSES
from losslab.parameters import BootstrapSettings, LossSettings, ReportSettings, ThresholdGrid
from losslab.pipelines.evaluation import nodes as evaluation
from losslab.pipelines.training import nodes as training
from losslab.supervision import describe_labels, frequency_groups

SPLIT = np.array(["train"] * 60 + ["validation"] * 30 + ["test"] * 30)
GRID = ThresholdGrid(
    **yaml.safe_load((ROOT / "conf/datasets/reuters.yml").read_text())["threshold_grid"]
)
REPORT = ReportSettings(
    reference="bce", resamples=100, confidence=0.95, seed=0, on_mismatch="refuse"
)


@dataclass(frozen=True)
class Evaluated:
    """What the nodes of a loss give."""

    model: dict[str, np.ndarray]
    history: pd.DataFrame
    scores: dict[str, np.ndarray]
    decision_rules: dict[str, Any]
    predictions: Predictions
    metrics: dict[str, Any]
    label_matrix: sparse.csr_array
    results: dict[str, Any]
    """What a report needs of a loss."""
    shared: dict[str, Any]
    """What both training and scoring are given."""


def make_data() -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of 120 documents, and four labels that follow from them with some noise."""
    random = np.random.default_rng(0)
    features = random.normal(size=(120, 6)).astype(np.float32)
    targets = (features[:, :4] + 0.5 * random.normal(size=(120, 4)) > 0.3).astype(np.int8)
    return features, targets


def make_splits() -> pd.DataFrame:
    ids = np.arange(120).astype(str)
    return pd.DataFrame({"id": ids, "text": [f"text {name}" for name in ids], "split": SPLIT})


def loss_settings(loss: str, learning_rate: float | None = None) -> LossSettings:
    options = LOSSES[loss].defaults()
    return LossSettings(name=loss, options=options, learning_rate=learning_rate)


def run_nodes(
    data: tuple[np.ndarray, np.ndarray],
    loss: str = "db",
    *,
    task: str = "multi",
    permute: str | None = None,
    primary_rule: str = "tuned",
    learning_rate: float | None = None,
    recipe_rate: float = 0.1,
) -> Evaluated:
    """Train, score, decide and evaluate; ``permute``: the split whose targets are permuted.

    ``learning_rate``: the loss's own, in place of ``recipe_rate``.
    """
    features, targets = data
    targets = targets.copy()
    if permute is not None:
        rows = np.flatnonzero(permute == SPLIT)
        targets[rows] = targets[np.random.default_rng(1).permutation(rows)]
    matrix = sparse.csr_array(targets)
    splits = make_splits()
    statistics = describe_labels(sparse.csr_array(targets[SPLIT == "train"]))
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    shared = {
        "loss": loss_settings(loss, learning_rate),
        "recipe": read_recipe("probe", {"hidden_dim": 0}, epochs=6, learning_rate=recipe_rate),
        "features": {"embeddings": features},
        "splits": splits,
        "label_statistics": statistics,
        "task": task,
    }
    model, history = training.train(
        **shared,
        label_matrix=matrix,
        label_space=list("abcd")[: targets.shape[1]],
        grid=GRID,
        select_by="macro_f1",
        validation_rule="tuned",
        seed=1,
        num_seeds=2,
        failures=Path("nowhere"),
    )
    scores, origin = training.score(**shared, model=model)
    settings, labels = shared["loss"], list("abcd")[: targets.shape[1]]
    chosen = (GRID, task, primary_rule, ["own", "per_label", "top_k"], statistics)
    rules = evaluation.fit_rules(settings, scores, matrix, splits, *chosen)
    predictions = evaluation.predict_labels(scores, rules)
    metrics, resamples = evaluation.evaluate(
        settings,
        scores,
        origin,
        predictions,
        rules,
        history,
        matrix,
        splits,
        statistics,
        labels,
        {"task": task},
        BootstrapSettings(resamples=100, confidence=0.95, seed=0),
    )
    groups = sparse.csr_array(np.eye(len(labels), dtype=np.int8))
    results = evaluation.collect_results(
        metrics,
        resamples,
        history,
        evaluation.draw_score_curves(settings, scores, predictions, matrix, splits),
        evaluation.find_errors(predictions, matrix, splits, labels, statistics, groups, [1]),
        predictions,
    )
    shown = history.filter(regex="loss|validation|epoch")
    return Evaluated(model, shown, scores, rules, predictions, metrics, matrix, results, shared)
