"""Train, score, decide, evaluate: the four nodes each loss has in its own namespace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.losses import LOSSES
from losslab.parameters import LossOptions, ThresholdOptions
from losslab.targets import GROUPS
from losslab.training.recipes import Recipes

if TYPE_CHECKING:
    from losslab.training.job import Job

Arrays = dict[str, np.ndarray]


def train(
    loss: str,
    features: Arrays,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    failures: Path,
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    threshold: ThresholdOptions,
    task: str,
    seed: int,
    seeds: int,
    groups: Any = None,
    **context: Any,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit the recipe's model once per seed: weights of the best epoch, figures of each.

    ``groups`` and ``context`` are what some losses need besides.
    """
    from losslab.training.job import Material, run_job

    job = describe_job(loss, options, recipe, recipes, label_statistics, task).model_copy(
        update={"labels": tuple(label_space), "grid": _grid(loss, threshold)}
    )
    rows = {name: np.flatnonzero(documents["split"] == name) for name in ("train", "validation")}
    ids = documents["id"].to_numpy()
    material = Material(features, targets, **rows, ids=ids, groups=groups, context=context)
    weights, histories = {}, []
    for current in range(seed, seed + seeds):
        fitted = run_job(job.model_copy(update={"seed": current}), material, failures)
        weights |= {f"seed_{current}/{name}": w.numpy() for name, w in fitted.weights.items()}
        histories.append(fitted.history.assign(seed=current, best=fitted.best_epoch))
    return weights, pd.concat(histories, ignore_index=True)


def describe_job(
    loss: str,
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    label_statistics: dict[str, Any],
    task: str,
) -> "Job":
    """A training as data, with neither labels' names nor thresholds."""
    from losslab.training.job import Job

    return Job(
        loss=loss,
        options=options.model_dump(),
        recipe=recipe,
        recipes=recipes,
        **{name: label_statistics[name] for name in ("frequencies", "documents", "mu")},
        labels=(),
        frequency_groups=_frequency_groups(label_statistics),
        task=task,
        grid=None,
    )


def _frequency_groups(label_statistics: dict[str, Any]) -> dict[str, list[int]]:
    members = np.array(label_statistics["groups"])
    return {name: np.flatnonzero(members == name).tolist() for name in GROUPS}


def _grid(loss: str, threshold: ThresholdOptions) -> tuple[float, ...] | None:
    """The thresholds to try: a grid for probabilities, all there are for other scores."""
    from losslab.evaluation import threshold_grid

    probable = LOSSES[loss].decision == "probability"
    return tuple(threshold_grid(**threshold.model_dump()).tolist()) if probable else None


def score(
    loss: str,
    model: Arrays,
    features: Arrays,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    task: str,
    groups: Any = None,
) -> Arrays:
    """What decisions are made by, of validation and test: seeds x documents x labels."""
    from losslab.models.inputs import inputs_of
    from losslab.training.job import build_network
    from losslab.training.network import load_weights, predict_scores

    job = describe_job(loss, options, recipe, recipes, label_statistics, task)
    network = build_network(job, features, groups)
    seeds = seeds_of(model)
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        inputs = inputs_of(features, np.flatnonzero(documents["split"] == split))
        scores[split] = np.stack(
            [
                predict_scores(load_weights(network, weights_of(model, seed)), inputs)
                for seed in seeds
            ]
        )
    return scores


def seeds_of(model: Arrays) -> list[int]:
    """The seeds a model holds weights of."""
    return sorted({int(name.split("/")[0].removeprefix("seed_")) for name in model})


def weights_of(model: Arrays, seed: int) -> Arrays:
    """The weights of one seed, by their own names."""
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
    task: str,
) -> dict[str, Any]:
    """How scores become labels: the likeliest one, or those above a threshold tuned per seed."""
    from losslab.evaluation import tune_threshold

    if task == "single":
        return {"rule": "the label of highest score", "thresholds": None}
    truth = targets[(documents["split"] == "validation").to_numpy()].toarray()
    tried = _grid(loss, threshold)
    grid = None if tried is None else np.array(tried)
    thresholds = {
        str(seed): tune_threshold(truth, values, grid)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    rule = "labels above one threshold, tuned for validation micro_f1"
    among = "every score" if grid is None else "a grid of probabilities"
    return {"rule": rule, "tried": among, "thresholds": thresholds}


def evaluate(
    scores: Arrays,
    thresholds: dict[str, Any],
    history: pd.DataFrame,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
) -> dict[str, Any]:
    """Metrics of the test split, by seed and over seeds; no other node judges by its targets."""
    from losslab.evaluation import compute_metrics, most_likely, summarise_seeds

    truth = targets[(documents["split"] == "test").to_numpy()]
    groups = _frequency_groups(label_statistics)
    epochs = history.groupby("seed").agg(epochs=("epoch", "max"), best_epoch=("best", "first"))
    seeds = {}
    for seed, values in zip(scores["seeds"], scores["test"], strict=True):
        cuts = thresholds["thresholds"]
        cut = {} if cuts is None else {"threshold": cuts[str(seed)]}
        guess = values > cut["threshold"] if cut else most_likely(values)
        metrics = compute_metrics(truth, values, guess, groups=groups)
        seeds[str(seed)] = {**metrics, **cut, **epochs.loc[seed].to_dict()}
    return {"split": "test", "seeds": seeds, **summarise_seeds(list(seeds.values()))}
