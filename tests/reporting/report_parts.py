"""Made-up results to draw figures and pages from."""

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation import compute_score_curves, tabulate_posterior
from losslab.losses import LOSSES
from losslab.reporting import (
    CorpusPart,
    ResultPart,
    RunPart,
    build_standings,
    comparison_table,
    draw_confusions,
    draw_example_scores,
    draw_group_scores,
    draw_hard_and_soft_loss,
    draw_label_scatter,
    draw_learning_curves,
    draw_learning_time,
    draw_long_tail,
    draw_posteriors,
    draw_precision_recall,
    draw_ranks,
    draw_reliability,
    draw_similar_labels,
    draw_sorted_scores,
    draw_training_curves,
    gather_histories,
    loss_facts,
    render_page,
    tabulate_label_scores,
    tabulate_rules,
)
from losslab.reporting.comparison import CONVENTIONS
from losslab.reporting.definitions import COLUMNS, OWN_METRICS

LABELS = [f"label {number}" for number in range(6)]
SPECIAL = ("kwls", "sbayes_f1")
"""Losses with a plot of their own."""
TABLE = pd.DataFrame(
    {
        "split": ["all", "train"],
        "instances": [2468, 1234],
        "average_words": [89.4, 90.1],
        "categories": [3, 3],
        "cardinality": [1.5, 1.25],
        "median_cardinality": [1.0, 1.5],
        "density": [0.5, 0.4167],
        "instances_per_label": [1234.0, 514.2],
        "median_instances_per_label": [1200.0, 500.5],
        "1 label": [2000, 1000],
        "2 labels or more": [468, 234],
    }
)
STATISTICS = {
    "documents": 1234,
    "labels": 6,
    "cardinality": 1.5,
    "density": 0.5,
    "imbalance_ratio": 9.0,
}


OF_PROBABILITIES = {
    "brier_score",
    "log_loss",
    *(name for name in COLUMNS if name.endswith("calibration_error")),
}


def result(
    value: float,
    spread: float | None = 0.01,
    seeds: int = 2,
    untrained: str | None = None,
    *,
    probability: bool = True,
) -> dict:
    """The results of a loss: every metric has the same value; some are of probabilities only."""
    names = [name for name in COLUMNS if probability or name not in OF_PROBABILITIES]
    keys = ("best_epoch", *names, *CONVENTIONS, *OWN_METRICS)
    return {
        "rule": "tuned",
        "seeds": {str(seed): {} for seed in range(seeds)},
        "mean": dict.fromkeys(keys, value),
        "std": dict.fromkeys(keys, spread),
        "training": {"mark": untrained},
    }


def label_table() -> pd.DataFrame:
    groups = ["head", "head", "medium", "medium", "tail", "tail"]
    return pd.DataFrame({"label": LABELS, "group": groups, "train": [90, 70, 40, 30, 5, 2]})


def history(seed: int = 0, epochs: int = 5) -> pd.DataFrame:
    steps = np.arange(1, epochs + 1)
    return pd.DataFrame(
        {
            "epoch": steps,
            "seed": 1,
            "train_seconds": steps * (3.0 + seed),
            "train_loss": 1 / steps,
            "validation_loss": 1 / np.sqrt(steps),
            "validation_macro_f1": 0.5 - 0.4 / (steps + seed),
            "train_steps": 20 * steps,
            "best": epochs,
            "select_by": "macro_f1",
            "trivial_macro_f1": 0.05,
            "ended_by": "budget",
        }
    )


def soft_history(from_step: int = 40) -> pd.DataFrame:
    """Five epochs of twenty steps; the soft loss is 0 up to ``from_step``."""
    rows = history().assign(train_hard_loss=[1.0, 0.5, 0.2, 0.1, 0.1])
    return rows.assign(
        train_soft_loss=np.where(rows["train_steps"] > from_step, 1e-6, 0.0),
        validation_subset_accuracy=[0.1, 0.2, 0.2, 0.3, 0.4],
    )


def curves(seed: int = 0, *, probability: bool = True) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    truth = sparse.csr_array(random.random((40, len(LABELS))) < 0.3)
    scores = random.random((1, 40, len(LABELS)))
    predicted = [sparse.csr_array(scores[0] > 0.6)]
    return compute_score_curves(truth, scores, predicted, probability=probability)


def pooled(losses: list[str], names: list[str] | None = None) -> pd.DataFrame:
    """Pairs of labels that all losses confuse; the last pair is the last loss's alone."""
    first, *_, last = names or LABELS
    pairs = {"missed": [first, last], "predicted": [last, first], "similar": [True, False]}
    counts = {loss: [4.5, 0.0] for loss in losses[:-1]} | {losses[-1]: [2.0, 1.5]}
    sums = {"documents": np.sum([*counts.values()], axis=0), "losses": [len(losses), 1]}
    return pd.DataFrame({**pairs, **sums, **counts})


def draw_all(losses: list[str], standings: pd.DataFrame) -> dict:
    """The plots of a page and the tables it needs besides."""
    histories = {name: history(seed) for seed, name in enumerate(losses)}
    training = gather_histories(histories | {n: soft_history() for n in losses if n == "kwls"})
    tables = pd.concat(
        curves(seed, probability=LOSSES[name].decision == "probability").assign(loss=name)
        for seed, name in enumerate(losses)
    )
    random = np.random.default_rng(0)
    errors = {name: {"f1_by_label": random.random(len(LABELS)).tolist()} for name in losses}
    labels = tabulate_label_scores(errors, label_table(), LABELS)
    plots = {
        "group_scores": draw_group_scores(standings),
        "ranks": draw_ranks(standings),
        "learning_curves": draw_learning_curves(training),
        "learning_time": draw_learning_time(training),
        "training_curves": draw_training_curves(training),
        "hard_and_soft_loss": draw_hard_and_soft_loss(training),
        "sorted_scores": draw_sorted_scores(tables),
        "example_scores": draw_example_scores(tables),
        "reliability": draw_reliability(tables),
        "precision_recall": draw_precision_recall(tables),
        "label_scatter": draw_label_scatter(labels, losses[0], losses[-1]),
        "confused_labels": draw_confusions(pooled(losses)),
        "similar_labels": draw_similar_labels(
            labels, losses, np.ones((len(labels), 1)), losses[:1]
        ),
        "posteriors": draw_posteriors(
            {name: posterior() for name in losses if LOSSES[name].sampled}, label_table()
        ),
    }
    facts = loss_facts(training)
    return {"facts": facts, "label_scores": labels, "plots": plots}


def posterior() -> pd.DataFrame:
    random = np.random.default_rng(0)
    draws = {"beta": np.exp(random.normal(size=(9, 6))), "eta": random.normal(size=(9, 6))}
    table = label_table()
    return tabulate_posterior(
        draws,
        {"beta": "lognormal", "eta": "normal"},
        labels=table["label"],
        frequencies=table["train"],
        confidence=0.95,
    )


def rules(value: float) -> dict:
    """What two decision rules give; the second loses something on the way to test."""
    scores = {"tuned": (value, value), "per_label": (value + 0.04, value + 0.02)}
    return {
        rule: {"validation": {"macro_f1": before}, "test": {"macro_f1": after}}
        for rule, (before, after) in scores.items()
    }


LONG = "gain of privileges or assumption of an identity by way/of/a/certificate/that/has/expired"


def errors(loss: str) -> dict:
    pair = {"missed": f"gold of {loss}", "predicted": "silver", "documents": 3.5}
    alike = {"missed": LONG, "predicted": f"{LONG}, alike", "documents": 1.5}
    scores = {"micro_f1": 0.5, "macro_f1": 0.25}
    decile = {"labels": 3, "least_frequent": 2, "most_frequent": 9, **scores}
    return {
        "pairs": [pair] * 20,
        "pairs_within_groups": [alike],
        "confusions": 90.5,
        "confusions_within_groups": 1.5,
        "by_cardinality": [
            {"labels": "1 label", "documents": 30, **scores},
            {"labels": "2 labels or more", "documents": 14, "micro_f1": 0.4, "macro_f1": 0.2},
        ],
        "by_number_of_labels": [
            {"labels": "1", "documents": 30, **scores},
            {"labels": "2-4", "documents": 14, "micro_f1": 0.4, "macro_f1": 0.2},
        ],
        "by_frequency_decile": [{"decile": place, **decile} for place in range(1, 11)],
    }


def sure_of(losses: list[str], p: float = 0.01) -> dict:
    """Intervals and tests of every loss: each metric is above the reference's."""
    entry = {"value": 0.5, "low": 0.45, "high": 0.56, "difference": 0.1, "p_holm": p}
    return {"losses": {loss: dict.fromkeys(COLUMNS, entry) for loss in losses}}


def mark(comparison: pd.DataFrame, differs: dict[str, str]) -> pd.DataFrame:
    return comparison.assign(differs=[differs.get(loss) for loss in comparison["loss"]])


def page(
    metrics: dict,
    *,
    corpus: CorpusPart | None = None,
    uncertainty=None,
    mistakes=None,
    differs=None,
    cases=None,
    diagnosis=None,
    options=None,
    **run,
) -> str:
    comparison = mark(comparison_table(metrics), differs or {})
    standings = build_standings(comparison, uncertainty=uncertainty)
    reference = "bce" if "bce" in metrics else None
    results = ResultPart(
        comparison,
        standings,
        reference=reference,
        rules=tabulate_rules(metrics),
        errors=mistakes or {},
        confusions=pooled(list(metrics)) if mistakes else None,
        cases=cases or {},
        diagnosis=diagnosis or {},
        options=options or {},
        **draw_all(list(metrics), standings),
    )
    known = {"dataset": "cwe", "recipe": "probe", "statistics": STATISTICS}
    drawn = CorpusPart(TABLE, [], {"long_tail": draw_long_tail(label_table())})
    return render_page(results, corpus or drawn, RunPart(**(known | run)))
