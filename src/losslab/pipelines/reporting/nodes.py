"""From the results of every loss to tables, figures and the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.data import SPLITS
from losslab.data.summary import count_words, tell
from losslab.evaluation import (
    analyse_errors,
    compare_with_reference,
    decided,
    find_mixtures,
    refuse_mixtures,
    refuse_other_data,
)
from losslab.losses import LOSSES
from losslab.parameters import ReportSettings
from losslab.reporting import (
    CorpusPart,
    ResultPart,
    RunPart,
    compare,
    draw_cooccurrence,
    draw_document_lengths,
    draw_group_scores,
    draw_label_scatter,
    draw_labels_per_document,
    draw_learning_curves,
    draw_learning_time,
    draw_long_tail,
    draw_precision_recall,
    draw_ranks,
    draw_reliability,
    draw_sorted_scores,
    draw_training_curves,
    gather_histories,
    loss_facts,
    render_page,
    stand,
    tabulate_label_scores,
    tabulate_rules,
    unlike,
)

CORPUS_FIGURES = ("long_tail", "cooccurrence_map", "labels_per_document", "document_lengths")
PACKAGES = ("losslab", "kedro", "torch")
INSPECTORS = {"soft labels and keywords, document by document": "soft_labels/soft_labels.html"}
"""Pages below a dataset's folder that a report links to where they exist."""


def compare_losses(
    report: ReportSettings, data_fingerprint: dict[str, str], **metrics: dict[str, Any]
) -> pd.DataFrame:
    """The comparison table, a row per loss; ``differs`` tells what else than the loss is unlike."""
    refuse_other_data(metrics, data_fingerprint)
    mixtures = find_mixtures(metrics, report.reference)
    if report.mixtures == "refuse":
        refuse_mixtures(mixtures, report.reference)
    table = compare(metrics)
    return table.assign(differs=[", ".join(mixtures.get(loss, ())) for loss in table["loss"]])


def compare_uncertainty(
    comparison: pd.DataFrame, report: ReportSettings, **results: Any
) -> dict[str, Any]:
    """How sure the figures and their differences to the reference are.

    ``results``: ``metrics_<loss>`` and ``resamples_<loss>``. Losses that ``comparison`` marks as
    unlike are not compared with the reference.
    """
    metrics, resamples = (_of_kind(kind, results) for kind in ("metrics", "resamples"))
    losses = compare_with_reference(
        {loss: result["mean"] for loss, result in metrics.items()},
        resamples,
        reference=report.reference,
        confidence=report.confidence,
        unpaired=list(unlike(comparison)),
    )
    settings = report.model_dump(include={"reference", "resamples", "confidence", "seed"})
    return {**settings, "losses": losses}


def find_errors(
    scores: dict[str, np.ndarray],
    thresholds: dict[str, Any],
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    label_groups: sparse.csr_array,
) -> dict[str, Any]:
    """What a loss confuses and finds hard in the test split."""
    return analyse_errors(
        targets[np.flatnonzero(documents["split"] == "test")],
        [guess for _, _, guess in decided(scores, thresholds)],
        labels=label_space,
        frequencies=label_statistics["frequencies"],
        label_groups=label_groups,
    )


def _of_kind(kind: str, results: dict[str, Any]) -> dict[str, Any]:
    prefix = f"{kind}_"
    return {
        name.removeprefix(prefix): result
        for name, result in results.items()
        if name.startswith(prefix)
    }


def draw_tail(label_table: pd.DataFrame) -> go.Figure:
    """The long-tail curve."""
    return draw_long_tail(label_table)


def draw_cooccurrence_map(
    label_cooccurrence: sparse.csr_array, label_space: list[str]
) -> go.Figure:
    """Which labels come together."""
    return draw_cooccurrence(label_cooccurrence, label_space)


def draw_counts(documents: pd.DataFrame, targets: sparse.csr_array) -> tuple[go.Figure, go.Figure]:
    """Labels per document, and document lengths."""
    labels, words = np.diff(targets.indptr), documents["text"].map(count_words).to_numpy()
    rows = {split: (documents["split"] == split).to_numpy() for split in SPLITS}
    return (
        draw_labels_per_document({split: labels[part] for split, part in rows.items()}),
        draw_document_lengths({split: words[part] for split, part in rows.items()}),
    )


def profile_scores(
    loss: str,
    scores: dict[str, np.ndarray],
    thresholds: dict[str, Any],
    targets: sparse.csr_array,
    documents: pd.DataFrame,
) -> pd.DataFrame:
    """Curves of a loss's test scores; shown, never chosen by."""
    from losslab.reporting.score_profile import profile_scores as profile

    return profile(
        targets[(documents["split"] == "test").to_numpy()],
        scores["test"],
        _cuts(thresholds, [str(seed) for seed in scores["seeds"]]),
        probability=LOSSES[loss].decision == "probability",
    )


def _cuts(thresholds: dict[str, Any], seeds: list[str]) -> list[float] | None:
    """The threshold of each seed by the rule losses are compared by; None for the likeliest label."""
    rules = [thresholds["seeds"][seed][thresholds["primary"]] for seed in seeds]
    return [rule["threshold"] for rule in rules] if "threshold" in rules[0] else None


def gather_profiles(**profiles: pd.DataFrame) -> pd.DataFrame:
    """The curves of every loss in one table."""
    parts = [profile.assign(loss=loss) for loss, profile in profiles.items()]
    return pd.concat(parts, ignore_index=True)


def gather_trainings(**histories: pd.DataFrame) -> pd.DataFrame:
    """The epochs of every loss in one table."""
    return gather_histories(histories)


def rank_losses(
    comparison: pd.DataFrame, uncertainty: dict[str, Any], report: ReportSettings
) -> pd.DataFrame:
    """Value, interval, rank and difference to the reference, by loss and metric."""
    return stand(comparison, reference=report.reference, uncertainty=uncertainty)


def gather_rules(**metrics: dict[str, Any]) -> pd.DataFrame:
    """What each decision rule gives on validation and test, by loss."""
    return tabulate_rules(metrics)


def draw_standings(standings: pd.DataFrame) -> tuple[go.Figure, go.Figure]:
    """Macro-F1 by frequency group, and the rank of every loss by every metric."""
    return draw_group_scores(standings), draw_ranks(standings)


def draw_trainings(training_table: pd.DataFrame) -> tuple[go.Figure, go.Figure, go.Figure]:
    """Macro-F1 by epoch and by minute, and the losses themselves."""
    return (
        draw_learning_curves(training_table),
        draw_learning_time(training_table),
        draw_training_curves(training_table),
    )


def draw_scores(score_profiles: pd.DataFrame) -> tuple[go.Figure, go.Figure, go.Figure]:
    """Sorted scores, reliability, precision and recall."""
    return (
        draw_sorted_scores(score_profiles),
        draw_reliability(score_profiles),
        draw_precision_recall(score_profiles),
    )


def compare_labels(
    score_profiles: pd.DataFrame,
    label_table: pd.DataFrame,
    label_space: list[str],
    comparison: pd.DataFrame,
    report: ReportSettings,
) -> tuple[pd.DataFrame, go.Figure]:
    """F1 by label and loss; the reference against the best other loss, label by label."""
    scores = tabulate_label_scores(score_profiles, label_table, label_space)
    others = {report.reference, *unlike(comparison)}
    best = next((loss for loss in comparison["loss"] if loss not in others), report.reference)
    return scores, draw_label_scatter(scores, report.reference, best)


def describe_run(dataset: str) -> dict[str, Any]:
    """Where the page comes from: command, commit, versions, and pages that lie beside it."""
    from importlib.metadata import version
    from platform import python_version

    from losslab.tracking import describe_source

    source = describe_source(Path.cwd())
    folder = Path("data/08_reporting", dataset)
    beside = {title: page for title, page in INSPECTORS.items() if (folder / page).is_file()}
    return {
        "command": source["command"],
        "commit": source["git_commit"],
        "dirty": {"True": True, "False": False}.get(source["git_dirty"]),
        "versions": {"python": python_version(), **{name: version(name) for name in PACKAGES}},
        "links": {title: f"../{page}" for title, page in beside.items()},
    }


def compare_with_papers(reports: Path, corpora: Path) -> str:
    """The papers' tables with ours beside them, where runs exist."""
    from losslab.reporting import paper_tables as tables

    return tables.write_paper_tables(
        tables.read_paper_tables(), tables.find_runs(reports), tables.count_documents(corpora)
    )


def render_report(
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    training_table: pd.DataFrame,
    score_profiles: pd.DataFrame,
    label_scores: pd.DataFrame,
    label_statistics: dict[str, Any],
    corpus_table: pd.DataFrame,
    corpus_summary: dict[str, Any],
    run_description: dict[str, Any],
    decision_rules: pd.DataFrame,
    dataset: str,
    recipe: str,
    report: ReportSettings,
    **shown: Any,
) -> str:
    """The report page; ``shown``: figures by name, and ``errors_<loss>``."""
    errors = _of_kind("errors", shown)
    figures = {name: part for name, part in shown.items() if not name.startswith("errors_")}
    about_corpus = {name: figures.pop(name) for name in CORPUS_FIGURES}
    results = ResultPart(
        comparison,
        standings,
        loss_facts(training_table, score_profiles),
        label_scores,
        figures,
        report.reference,
        f"{report.confidence:.0%} bootstrap interval over test documents",
        decision_rules,
        errors,
    )
    corpus = CorpusPart(corpus_table, tell(corpus_summary), about_corpus)
    return render_page(
        results, corpus, RunPart(dataset, recipe, label_statistics, **run_description)
    )
