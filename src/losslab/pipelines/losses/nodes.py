"""Train, score, decide, evaluate: the four nodes each loss has in its own namespace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import BaseModel
from scipy import sparse

from losslab.evaluation import (
    average_seeds,
    compare_rules,
    compute_metrics,
    decided,
    fingerprint,
    fit_decisions,
    intervals,
    primary_rule,
    resample_metrics,
    summarise_seeds,
    threshold_grid,
)
from losslab.losses import LOSSES
from losslab.parameters import LossOptions, ReportSettings, ThresholdGrid
from losslab.parameters.training import Recipes
from losslab.supervision import GROUPS

if TYPE_CHECKING:
    from losslab.training.job import TrainingJob

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
    threshold: ThresholdGrid,
    task: str,
    seed: int,
    seeds: int,
    groups: Any = None,
    **context: Any,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit the recipe's model once per seed: weights of the best epoch, figures of each.

    ``groups`` and ``context`` are what some losses need besides.
    """
    from losslab.training.job import TrainingData, run_job

    job = describe_job(loss, options, recipe, recipes, label_statistics, task).model_copy(
        update={"labels": tuple(label_space), "grid": _grid(loss, threshold)}
    )
    rows = {name: np.flatnonzero(documents["split"] == name) for name in ("train", "validation")}
    ids = documents["id"].to_numpy()
    material = TrainingData(features, targets, **rows, ids=ids, groups=groups, context=context)
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
) -> "TrainingJob":
    """A training as data, with neither labels' names nor thresholds."""
    from losslab.training.job import TrainingJob

    return TrainingJob(
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


def _grid(loss: str, threshold: ThresholdGrid) -> tuple[float, ...] | None:
    """The thresholds to try: a grid for probabilities, all there are for other scores."""
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
    from losslab.features.inputs import inputs_of
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
    threshold: ThresholdGrid,
    task: str,
) -> dict[str, Any]:
    """How scores become labels: every rule, fitted per seed, and which one losses are compared by."""
    truth = targets[(documents["split"] == "validation").to_numpy()].toarray()
    tried = _grid(loss, threshold)
    grid = None if tried is None else np.array(tried)
    fitted = {
        str(seed): fit_decisions(truth, values, grid=grid, task=task)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    among = "every score" if grid is None else "a grid of probabilities"
    return {"primary": primary_rule(task), "tried": among, "seeds": fitted}


def evaluate(
    scores: Arrays,
    thresholds: dict[str, Any],
    history: pd.DataFrame,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
    data_fingerprint: dict[str, str],
    report: ReportSettings,
    recipe: str,
    recipes: Recipes,
    options: Any,
    **parameters: Any,
) -> tuple[dict[str, Any], Arrays]:
    """Metrics of the test split, by seed and over seeds, and those of its resamples.

    ``parameters``: what else must be the same for losses that are compared; ``options``, those of
    the loss, may differ and are recorded beside.
    """
    truth = {name: targets[rows] for name, rows in _rows(documents).items()}
    groups = _frequency_groups(label_statistics)
    epochs = history.groupby("seed").agg(epochs=("epoch", "max"), best_epoch=("best", "first"))
    draws = report.model_dump(include={"resamples", "seed"})
    seeds, drawn = {}, []
    for seed, values, guess in decided(scores, thresholds):
        cut = thresholds["seeds"][seed][thresholds["primary"]].get("threshold")
        metrics = compute_metrics(truth["test"], values, guess, groups=groups)
        own = epochs.loc[int(seed)].to_dict() | ({} if cut is None else {"threshold": cut})
        seeds[seed] = {**metrics, **own}
        drawn.append(resample_metrics(truth["test"], values, guess, **draws, groups=groups))
    resamples = average_seeds(drawn)
    summary = summarise_seeds(list(seeds.values()))
    settings = {"recipe": recipe, "recipe_settings": getattr(recipes, recipe), **parameters}
    known = {"seeds": list(seeds), "resampling": draws, "data": data_fingerprint}
    conditions = _plain({**settings, **known})
    results = {
        "split": "test",
        "rule": thresholds["primary"],
        "seeds": seeds,
        **summary,
        "intervals": intervals(resamples, summary["mean"], report.confidence),
        "rules": compare_rules(thresholds["seeds"], _by_seed(scores, truth)),
        **_plain({"options": options}),
        "conditions": conditions,
        "fingerprint": fingerprint(conditions),
    }
    return results, resamples


def _rows(documents: pd.DataFrame) -> dict[str, np.ndarray]:
    return {name: np.flatnonzero(documents["split"] == name) for name in ("validation", "test")}


def _by_seed(scores: Arrays, truth: dict[str, Any]) -> dict[str, Any]:
    """Targets of each split, with scores by seed."""
    names = [str(seed) for seed in scores["seeds"]]
    return {
        split: (carried, dict(zip(names, scores[split], strict=True)))
        for split, carried in truth.items()
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Parameter objects as JSON would hold them."""
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in values.items()
    }
