"""Train, score, decide, evaluate: the four nodes each loss has in its own namespace."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.parameters import LossOptions, Recipes, ThresholdOptions

Arrays = dict[str, np.ndarray]


def train(
    loss: str,
    features: Arrays,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    threshold: ThresholdOptions,
    seed: int,
    seeds: int,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit the recipe's model once per seed: weights of the best epoch, figures of each."""
    from losslab.evaluation import judge_epoch, threshold_grid
    from losslab.models.build import build_model
    from losslab.training.fit import fit
    from losslab.training.trainer import rows_of

    known = LabelStatistics(*(label_statistics[key] for key in ("frequencies", "documents", "mu")))
    chosen = getattr(recipes, recipe)
    judging = {
        "decision": LOSSES[loss].decision,
        "grid": threshold_grid(**threshold.model_dump()),
    }
    embeddings, split = features["embeddings"], documents["split"].to_numpy()
    shape = {"width": embeddings.shape[1], "labels": targets.shape[1]}
    weights, histories = {}, []
    for current in range(seed, seed + seeds):
        fitted = fit(
            lambda: build_model(chosen, **shape),
            lambda: build_loss(loss, known, **options.model_dump()),
            rows_of(embeddings, targets, split == "train"),
            rows_of(embeddings, targets, split == "validation"),
            budget=chosen.training,
            judge=lambda truth, logits: judge_epoch(truth, logits, **judging),
            name=loss,
            seed=current,
        )
        weights |= {f"seed_{current}/{name}": w.numpy() for name, w in fitted.weights.items()}
        histories.append(fitted.history.assign(seed=current, best=fitted.best_epoch))
    return weights, pd.concat(histories, ignore_index=True)


def score(
    model: Arrays,
    features: Arrays,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    recipe: str,
    recipes: Recipes,
) -> Arrays:
    """Logits of the validation and test documents: seeds x documents x labels."""
    from losslab.models.build import build_model, predict_logits

    chosen = getattr(recipes, recipe)
    embeddings = features["embeddings"]
    network = build_model(chosen, width=embeddings.shape[1], labels=targets.shape[1])
    seeds = sorted({int(name.split("/")[0].removeprefix("seed_")) for name in model})
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        rows = (documents["split"] == split).to_numpy()
        scores[split] = np.stack(
            [predict_logits(network, _weights_of(model, seed), embeddings[rows]) for seed in seeds]
        )
    return scores


def _weights_of(model: Arrays, seed: int) -> Arrays:
    prefix = f"seed_{seed}/"
    return {
        name.removeprefix(prefix): array for name, array in model.items() if name.startswith(prefix)
    }


def decide(
    loss: str,
    scores: Arrays,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    threshold: ThresholdOptions,
) -> dict[str, Any]:
    """One threshold for all labels per seed: the best validation micro-F1 on a grid."""
    from losslab.evaluation import probabilities, threshold_grid, tune_threshold

    truth = targets[(documents["split"] == "validation").to_numpy()].toarray()
    grid = threshold_grid(**threshold.model_dump())
    decision = LOSSES[loss].decision
    thresholds = {
        str(seed): tune_threshold(truth, probabilities(logits, decision), grid)
        for seed, logits in zip(scores["seeds"], scores["validation"], strict=True)
    }
    return {"decision": decision, "tuned_on": "validation micro_f1", "thresholds": thresholds}


def evaluate(
    scores: Arrays,
    thresholds: dict[str, Any],
    history: pd.DataFrame,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
) -> dict[str, Any]:
    """Metrics of the test split, by seed and over seeds; the only place that reads its targets."""
    from losslab.evaluation import compute_metrics, probabilities, summarise_seeds

    truth = targets[(documents["split"] == "test").to_numpy()]
    members = np.array(label_statistics["groups"])
    groups = {name: np.flatnonzero(members == name) for name in dict.fromkeys(members)}
    epochs = history.groupby("seed").agg(epochs=("epoch", "max"), best_epoch=("best", "first"))
    seeds = {}
    for seed, logits in zip(scores["seeds"], scores["test"], strict=True):
        cut = thresholds["thresholds"][str(seed)]
        chances = probabilities(logits, thresholds["decision"])
        metrics = compute_metrics(truth, chances, chances > cut, groups=groups)
        seeds[str(seed)] = {**metrics, "threshold": cut, **map_ints(epochs.loc[seed])}
    return {"split": "test", "seeds": seeds, **summarise_seeds(list(seeds.values()))}


def map_ints(figures: pd.Series) -> dict[str, int]:
    """A row of whole numbers as JSON knows them."""
    return {str(name): int(value) for name, value in figures.items()}
