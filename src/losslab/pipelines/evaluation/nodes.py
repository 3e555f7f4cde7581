"""Scores to decision rules, predictions, metrics, errors and score curves of one loss."""

from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel
from scipy import sparse

from losslab.baselines import BASELINES, METHODS
from losslab.data.fingerprint import fingerprint_data, hash_arrays
from losslab.data.split import split_rows
from losslab.errors import Failure, LosslabError, Skipped
from losslab.evaluation import (
    Predictions,
    analyse_errors,
    compute_score_curves,
    doubt_labels,
    evaluate_loss,
    explain_idleness,
    fingerprint,
    fit_decision_rules,
    grid_values,
    inverse_propensities,
    label_priors,
    predict,
    refuse_other_scores,
    tabulate_posterior,
)
from losslab.losses import LOSSES
from losslab.parameters import BootstrapSettings, LossSettings, Recipe, ThresholdGrid
from losslab.supervision import group_indices

Arrays = dict[str, np.ndarray]
Results = dict[str, Any]
"""What a report needs of a loss: metrics, resamples, history, score curves, errors, predictions,
posterior, doubts of gold labels, why its mask is idle."""


def record_conditions(corpus_notes: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """The protocol: what must be the same for losses that are compared."""
    return {**_as_json(parameters), "sample": corpus_notes["sample"]}


def fit_rules(
    loss: LossSettings,
    scores: Arrays,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    grid: ThresholdGrid | None,
    task: str,
    primary_rule: str,
    evaluated_rules: list[str],
    label_statistics: dict[str, Any],
) -> dict[str, Any]:
    """Fit the decision rules on validation, per seed."""
    candidates = grid_values(loss, grid)
    return fit_decision_rules(
        label_matrix[split_rows(splits, "validation")],
        scores,
        rules=evaluated_rules,
        grid=None if candidates is None else np.array(candidates),
        task=task,
        natural=METHODS[loss.name].decision == "probability",
        priors=label_priors(label_statistics["frequencies"], label_statistics["documents"]),
        primary_rule=primary_rule,
    )


def predict_labels(scores: Arrays, decision_rules: dict[str, Any]) -> Predictions:
    """Apply the decision rules to validation and test."""
    return predict(scores, decision_rules)


def evaluate(
    loss: LossSettings,
    scores: Arrays,
    scores_origin: dict[str, str],
    predictions: Predictions,
    decision_rules: dict[str, Any],
    history: pd.DataFrame,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    label_statistics: dict[str, Any],
    label_space: list[str],
    conditions: dict[str, Any],
    bootstrap: BootstrapSettings,
) -> tuple[dict[str, Any], Arrays]:
    """Metrics of the test split, by seed and over seeds, and those of its bootstrap resamples.

    What is recorded of the data, and that scores and origin belong together, comes from the data at
    hand; hashes of features and model are those that ``score`` took of what it read.
    """
    refuse_other_scores(loss.name, hash_arrays(scores), scores_origin)
    resampling = bootstrap.model_dump(include={"resamples", "seed"})
    results, resamples = evaluate_loss(
        {name: label_matrix[split_rows(splits, name)] for name in ("validation", "test")},
        scores,
        predictions,
        decision_rules,
        history,
        groups=group_indices(label_statistics["groups"]),
        confidence=bootstrap.confidence,
        inverse_propensities=inverse_propensities(
            label_statistics["frequencies"], label_statistics["documents"]
        ),
        probability=METHODS[loss.name].decision == "probability",
        **resampling,
    )
    recorded = {
        **conditions,
        "data": fingerprint_data(splits, label_matrix, label_space),
        "resampling": resampling,
    }
    if loss.name not in BASELINES:  # which are deterministic
        recorded["seeds"] = list(results["seeds"])
    facts = {
        "options": loss.settings,
        "conditions": recorded,
        "fingerprint": fingerprint(recorded),
        "made_of": scores_origin,
    }
    return {**results, **facts}, resamples


def find_errors(
    predictions: Predictions,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    label_groups: sparse.csr_array,
    cardinality_limits: list[int],
) -> dict[str, Any]:
    """Error analysis of the test split by the primary rule."""
    return analyse_errors(
        label_matrix[split_rows(splits, "test")],
        predictions.by_seed("test"),
        labels=label_space,
        frequencies=label_statistics["frequencies"],
        cardinality_limits=cardinality_limits,
        label_groups=label_groups,
    )


def draw_score_curves(
    loss: LossSettings,
    scores: Arrays,
    predictions: Predictions,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
) -> pd.DataFrame:
    """Precision-recall, reliability and sorted scores of the test split; nothing is tuned by them."""
    return compute_score_curves(
        label_matrix[split_rows(splits, "test")],
        scores["test"],
        predictions.by_seed("test"),
        probability=METHODS[loss.name].decision == "probability",
    )


def doubt_gold_labels(
    scores: Arrays, label_matrix: sparse.csr_array, splits: pd.DataFrame
) -> sparse.csr_array:
    """Gold labels of validation and test that a loss contradicts: all documents x labels."""
    parts = []
    for split in ("validation", "test"):
        rows = split_rows(splits, split)
        part = sparse.coo_array(doubt_labels(label_matrix[rows], scores[split]))
        parts.append((part.data, rows[part.row], part.col))
    values, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=label_matrix.shape)


def summarise_posterior(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    label_statistics: dict[str, Any],
    label_space: list[str],
    task: str,
    bootstrap: BootstrapSettings,
) -> pd.DataFrame:
    """Median and interval of what a loss has sampled for each label, the draws of all seeds pooled."""
    from losslab.training.job import describe_job, posterior_draws

    return tabulate_posterior(
        posterior_draws(describe_job(loss, recipe, label_statistics, task), model),
        LOSSES[loss.name].sampled,
        labels=label_space,
        frequencies=label_statistics["frequencies"],
        confidence=bootstrap.confidence,
    )


def collect_results(
    metrics: dict[str, Any],
    resamples: Arrays,
    history: pd.DataFrame,
    score_curves: pd.DataFrame,
    errors: dict[str, Any],
    predictions: Predictions,
    posterior: pd.DataFrame | None = None,
    label_doubts: sparse.csr_array | None = None,
    mask: sparse.csr_array | None = None,
    groups: sparse.csr_array | None = None,
    label_matrix: sparse.csr_array | None = None,
) -> Results:
    """What a report needs of one loss; of the predictions, those by the primary rule, by seed.

    ``posterior``: of a loss that samples parameters; ``label_doubts``: of one that trains
    probabilities. ``mask``, ``groups``: of losses that need them; ``idle`` says why they change nothing.
    """
    return {
        "metrics": metrics,
        "resamples": resamples,
        "history": history,
        "score_curves": score_curves,
        "errors": errors,
        "predictions": predictions.by_seed("test"),
        "label_doubts": label_doubts,
        "posterior": posterior,
        "idle": explain_idleness(mask, groups, label_matrix),
    }


def gather_family(**results: Results | Failure) -> dict[str, Results | Failure]:
    """The results of a family of losses, by loss; a failure in place of a loss that failed.

    Baselines that do not apply to the data are left out.
    """
    return {name: each for name, each in results.items() if not isinstance(each, Skipped)}


def gather_results(**families: dict[str, Results | Failure]) -> dict[str, Results | Failure]:
    """The results of all losses and baselines, in the order of their tables."""
    every: dict[str, Results | Failure] = {
        loss: results for family in families.values() for loss, results in family.items()
    }
    if all(isinstance(results, Failure) for results in every.values()):
        raise LosslabError("no loss was finished, so there is nothing to compare")
    return {loss: every[loss] for loss in METHODS if loss in every}


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """Parameter objects as JSON would hold them."""
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in values.items()
    }
