"""Train, score, decide, evaluate: the four nodes each loss has in its own namespace."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.parameters import LossOptions, Recipes, ThresholdOptions
from losslab.targets import GROUPS

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
    from losslab.evaluation import judge_epoch
    from losslab.training.fit import fit
    from losslab.training.trainer import rows_of

    chosen, grid = getattr(recipes, recipe), _grid(loss, threshold)
    embeddings, split = features["embeddings"], documents["split"].to_numpy()
    weights, histories = {}, []
    for current in range(seed, seed + seeds):
        fitted = fit(
            lambda: _network(loss, options, chosen, label_statistics, embeddings.shape[1]),
            rows_of(embeddings, targets, split == "train"),
            rows_of(embeddings, targets, split == "validation"),
            budget=chosen.training,
            judge=lambda truth, scores: judge_epoch(truth, scores, grid=grid),
            name=loss,
            seed=current,
        )
        weights |= {f"seed_{current}/{name}": w.numpy() for name, w in fitted.weights.items()}
        histories.append(fitted.history.assign(seed=current, best=fitted.best_epoch))
    return weights, pd.concat(histories, ignore_index=True)


def _network(
    loss: str, options: LossOptions, recipe: Any, label_statistics: dict[str, Any], width: int
) -> Any:
    from losslab.models.build import build_model
    from losslab.training.network import ModelWithLoss

    known = LabelStatistics(*(label_statistics[key] for key in ("frequencies", "documents", "mu")))
    return ModelWithLoss(
        build_model(recipe, width=width, labels=len(known.frequencies)),
        build_loss(loss, known, **options.model_dump()),
        needs_second_pass="second_logits" in LOSSES[loss].needs,
        regularisers=recipe.training.regularisers,
    )


def _grid(loss: str, threshold: ThresholdOptions) -> np.ndarray | None:
    """The thresholds to try: a grid for probabilities, all there are for other scores."""
    from losslab.evaluation import threshold_grid

    probable = LOSSES[loss].decision == "probability"
    return threshold_grid(**threshold.model_dump()) if probable else None


def score(
    loss: str,
    model: Arrays,
    features: Arrays,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
) -> Arrays:
    """What decisions are made by, of validation and test: seeds x documents x labels."""
    from losslab.training.network import predict_scores

    embeddings = features["embeddings"]
    network = _network(
        loss, options, getattr(recipes, recipe), label_statistics, embeddings.shape[1]
    )
    seeds = sorted({int(name.split("/")[0].removeprefix("seed_")) for name in model})
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        rows = (documents["split"] == split).to_numpy()
        scores[split] = np.stack(
            [predict_scores(network, _weights_of(model, seed), embeddings[rows]) for seed in seeds]
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
    """One threshold for all labels per seed: the best validation micro-F1."""
    from losslab.evaluation import tune_threshold

    truth = targets[(documents["split"] == "validation").to_numpy()].toarray()
    grid = _grid(loss, threshold)
    thresholds = {
        str(seed): tune_threshold(truth, values, grid)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    tried = "a grid of probabilities" if grid is not None else "every score"
    return {"tuned_on": "validation micro_f1", "tried": tried, "thresholds": thresholds}


def evaluate(
    scores: Arrays,
    thresholds: dict[str, Any],
    history: pd.DataFrame,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
) -> dict[str, Any]:
    """Metrics of the test split, by seed and over seeds; no other node judges by its targets."""
    from losslab.evaluation import compute_metrics, summarise_seeds

    truth = targets[(documents["split"] == "test").to_numpy()]
    members = np.array(label_statistics["groups"])
    groups = {name: np.flatnonzero(members == name) for name in GROUPS}
    epochs = history.groupby("seed").agg(epochs=("epoch", "max"), best_epoch=("best", "first"))
    seeds = {}
    for seed, values in zip(scores["seeds"], scores["test"], strict=True):
        cut = thresholds["thresholds"][str(seed)]
        metrics = compute_metrics(truth, values, values > cut, groups=groups)
        seeds[str(seed)] = {**metrics, "threshold": cut, **map_ints(epochs.loc[seed])}
    return {"split": "test", "seeds": seeds, **summarise_seeds(list(seeds.values()))}


def map_ints(figures: pd.Series) -> dict[str, int]:
    """A row of whole numbers as JSON knows them."""
    return {str(name): int(value) for name, value in figures.items()}
