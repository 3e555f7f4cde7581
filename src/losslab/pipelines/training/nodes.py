"""Train a loss or fit a baseline, and score the documents it was not trained on."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.baselines import BASELINES, fit_best
from losslab.baselines.base import NO_SEED
from losslab.data.fingerprint import hash_arrays
from losslab.data.split import split_rows
from losslab.evaluation import grid_values, judge_epoch
from losslab.evaluation.decision_rules import NATURAL_THRESHOLD
from losslab.parameters import LossSettings, Recipe, ThresholdGrid

if TYPE_CHECKING:
    from losslab.training.job import TrainingData

Arrays = dict[str, np.ndarray]


def train(
    loss: LossSettings,
    recipe: Recipe,
    features: Arrays,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    grid: ThresholdGrid | None,
    select_by: str,
    validation_rule: str,
    task: str,
    seed: int,
    num_seeds: int,
    failures: Path,
    checkpoints: Any = None,
    groups: Any = None,
    **context: Any,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit the recipe's model once per seed: weights of the best epoch, metrics of each.

    ``checkpoints`` (``Checkpoints``, which Kedro must not import torch for): a killed training
    continues. ``groups`` and ``context`` (masks, soft targets) are for losses that need them.
    """
    from losslab.training.job import describe_job, run_seeds

    job = describe_job(
        loss,
        recipe,
        label_statistics,
        task,
        labels=tuple(label_space),
        grid=grid_values(loss, grid),
        select_by=select_by,
        validation_rule=validation_rule,
    )
    data = gather_data(features, label_matrix, splits, groups, context)
    seeds = range(seed, seed + num_seeds)
    return run_seeds(job, data, seeds, failures / loss.name, checkpoints)


def gather_data(
    features: Arrays,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    groups: Any,
    context: dict[str, Any],
) -> "TrainingData":
    """What a training is done with."""
    from losslab.training.job import TrainingData

    rows = {name: split_rows(splits, name) for name in ("train", "validation")}
    ids = splits["id"].to_numpy()
    return TrainingData(features, label_matrix, **rows, ids=ids, groups=groups, context=context)


def score(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    features: Arrays,
    splits: pd.DataFrame,
    label_statistics: dict[str, Any],
    task: str,
    groups: Any = None,
) -> tuple[Arrays, dict[str, str]]:
    """Scores of validation and test, seeds x documents x labels; hashes of what they come from."""
    from losslab.features.inputs import inputs_of
    from losslab.training.job import build_network, describe_job, seeds_of, weights_of
    from losslab.training.network import load_weights, predict_scores
    from losslab.training.non_finite import require_finite

    job = describe_job(loss, recipe, label_statistics, task)
    network = build_network(job, features, groups)
    seeds = seeds_of(model)
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        inputs = inputs_of(features, split_rows(splits, split))
        by_seed = [
            predict_scores(load_weights(network, weights_of(model, seed)), inputs) for seed in seeds
        ]
        scores[split] = np.stack(
            [
                require_finite(values, loss.name, seed, split)
                for seed, values in zip(seeds, by_seed, strict=True)
            ]
        )
    origin = {"features": features, "model": model, "scores": scores}
    return scores, {name: hash_arrays(arrays) for name, arrays in origin.items()}


def fit_baseline(
    baseline: LossSettings,
    tfidf: sparse.csr_array,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    grid: ThresholdGrid | None,
    select_by: str,
    validation_rule: str,
    task: str,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit a baseline on train, its settings chosen on validation; arrays, and the search."""
    candidates = grid_values(baseline, grid)
    thresholds = None if candidates is None else np.array(candidates)
    is_probability = BASELINES[baseline.name].decision == "probability"
    fixed = NATURAL_THRESHOLD if validation_rule == "own" and is_probability else None
    return fit_best(
        BASELINES[baseline.name](**baseline.options),
        tfidf,
        label_matrix,
        **{name: split_rows(splits, name) for name in ("train", "validation")},
        judge=partial(judge_epoch, grid=thresholds, threshold=fixed, task=task),
        select_by=select_by,
    )


def score_words(
    baseline: LossSettings, model: Arrays, tfidf: sparse.csr_array, splits: pd.DataFrame
) -> tuple[Arrays, dict[str, str]]:
    """Scores of validation and test, 1 x documents x labels; hashes of what they come from."""
    scores: Arrays = {"seeds": np.array([NO_SEED])}
    for split in ("validation", "test"):
        words = tfidf[split_rows(splits, split)]
        scores[split] = BASELINES[baseline.name].scores(model, words)[None]
    words = {"data": tfidf.data, "indices": tfidf.indices, "indptr": tfidf.indptr}
    origin = {"features": words, "model": model, "scores": scores}
    return scores, {name: hash_arrays(arrays) for name, arrays in origin.items()}
