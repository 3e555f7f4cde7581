"""Train, score, decide, evaluate: the four nodes each loss has in its own namespace."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.parameters import LossOptions, ThresholdOptions
from losslab.targets import GROUPS
from losslab.training.recipes import Recipe, Recipes

if TYPE_CHECKING:
    from losslab.training.network import ModelWithLoss

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
    from losslab.evaluation import judge_epoch
    from losslab.training.batches import Documents
    from losslab.training.fit import fit

    chosen, grid = getattr(recipes, recipe), _grid(loss, threshold)
    split = {name: np.flatnonzero(documents["split"] == name) for name in ("train", "validation")}
    ids, parts = documents["id"].to_numpy(), _frequency_groups(label_statistics)
    learned = Documents(features, targets, split["train"], context=context, ids=ids)
    held_out = Documents(features, targets, split["validation"], ids=ids)
    weights, histories = {}, []
    for current in range(seed, seed + seeds):
        fitted = fit(
            lambda: _network(loss, options, chosen, label_statistics, features, task, groups),
            learned,
            held_out,
            budget=chosen.training,
            judge=partial(judge_epoch, grid=grid, task=task, groups=parts),
            name=loss,
            seed=current,
            whole_batch=LOSSES[loss].whole_batch,
            labels=label_space,
            folder=failures,
        )
        weights |= {f"seed_{current}/{name}": w.numpy() for name, w in fitted.weights.items()}
        histories.append(fitted.history.assign(seed=current, best=fitted.best_epoch))
    return weights, pd.concat(histories, ignore_index=True)


def _frequency_groups(label_statistics: dict[str, Any]) -> dict[str, np.ndarray]:
    members = np.array(label_statistics["groups"])
    return {name: np.flatnonzero(members == name) for name in GROUPS}


def _network(
    loss: str,
    options: LossOptions,
    recipe: Recipe,
    label_statistics: dict[str, Any],
    features: Arrays,
    task: str,
    groups: Any,
) -> "ModelWithLoss":
    from losslab.models.build import build_model
    from losslab.training.network import ModelWithLoss

    known = LabelStatistics(*(label_statistics[key] for key in ("frequencies", "documents", "mu")))
    chosen = options.model_dump()
    if "task" in chosen:  # the corpus decides
        chosen["task"] = task
    return ModelWithLoss(
        build_model(recipe, features, labels=len(known.frequencies)),
        build_loss(loss, known, groups=groups, **chosen),
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
    task: str,
    groups: Any = None,
) -> Arrays:
    """What decisions are made by, of validation and test: seeds x documents x labels."""
    from losslab.models.inputs import inputs_of
    from losslab.training.network import load_weights, predict_scores

    chosen = getattr(recipes, recipe)
    network = _network(loss, options, chosen, label_statistics, features, task, groups)
    seeds = sorted({int(name.split("/")[0].removeprefix("seed_")) for name in model})
    scores: Arrays = {"seeds": np.array(seeds)}
    for split in ("validation", "test"):
        inputs = inputs_of(features, np.flatnonzero(documents["split"] == split))
        scores[split] = np.stack(
            [
                predict_scores(load_weights(network, _weights_of(model, seed)), inputs)
                for seed in seeds
            ]
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
    task: str,
) -> dict[str, Any]:
    """How scores become labels: the likeliest one, or those above a threshold tuned per seed."""
    from losslab.evaluation import tune_threshold

    if task == "single":
        return {"rule": "the label of highest score", "thresholds": None}
    truth = targets[(documents["split"] == "validation").to_numpy()].toarray()
    grid = _grid(loss, threshold)
    thresholds = {
        str(seed): tune_threshold(truth, values, grid)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    tried = "a grid of probabilities" if grid is not None else "every score"
    rule = "labels above one threshold, tuned for validation micro_f1"
    return {"rule": rule, "tried": tried, "thresholds": thresholds}


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
