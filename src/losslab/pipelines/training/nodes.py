"""Train a loss, and score the documents it was not trained on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import split_rows
from losslab.evaluation import threshold_grid
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, Recipe, ThresholdGrid

Arrays = dict[str, np.ndarray]


def train(
    loss: LossSettings,
    recipe: Recipe,
    features: Arrays,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    grid: ThresholdGrid,
    select_by: str,
    task: str,
    seed: int,
    num_seeds: int,
    failures: Path,
    groups: Any = None,
    **context: Any,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit the recipe's model once per seed: weights of the best epoch, metrics of each.

    ``groups`` and ``context`` (masks, soft targets) are for losses that need them.
    """
    from losslab.training.job import TrainingData, describe_job, run_seeds

    job = describe_job(
        loss,
        recipe,
        label_statistics,
        task,
        labels=tuple(label_space),
        grid=grid_values(loss, grid),
        select_by=select_by,
    )
    rows = {name: split_rows(splits, name) for name in ("train", "validation")}
    ids = splits["id"].to_numpy()
    data = TrainingData(features, label_matrix, **rows, ids=ids, groups=groups, context=context)
    return run_seeds(job, data, range(seed, seed + num_seeds), failures / loss.name)


def grid_values(loss: LossSettings, grid: ThresholdGrid) -> tuple[float, ...] | None:
    """The thresholds to try: a grid for probabilities, all there are for other scores."""
    if LOSSES[loss.name].decision != "probability":
        return None
    return tuple(threshold_grid(**grid.model_dump()).tolist())


def score(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    features: Arrays,
    splits: pd.DataFrame,
    label_statistics: dict[str, Any],
    task: str,
    groups: Any = None,
) -> Arrays:
    """Scores of validation and test: seeds x documents x labels."""
    from losslab.features.inputs import inputs_of
    from losslab.training.job import build_network, describe_job, seeds_of, weights_of
    from losslab.training.network import load_weights, predict_scores

    job = describe_job(loss, recipe, label_statistics, task)
    network = build_network(job, features, groups)
    seeds = seeds_of(model)
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        inputs = inputs_of(features, split_rows(splits, split))
        scores[split] = np.stack(
            [
                predict_scores(load_weights(network, weights_of(model, seed)), inputs)
                for seed in seeds
            ]
        )
    return scores
