"""The results of all losses to tables, figures and the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.baselines import BASELINES
from losslab.data import SPLITS
from losslab.data.corpus_summary import summary_lines, word_count
from losslab.data.split import split_rows
from losslab.errors import Failure
from losslab.evaluation import (
    compare_with_reference,
    find_cases,
    find_mismatches,
    find_suspects,
    pool_confusions,
    refuse_mismatches,
    refuse_other_data,
    tabulate_disagreements,
)
from losslab.parameters import KeywordSettings, Recipe, ReportSettings
from losslab.reporting import (
    CORPUS_PLOTS,
    CorpusPart,
    ResultPart,
    RunPart,
    add_thumbnails,
    build_standings,
    comparison_table,
    diagnose,
    draw_confusions,
    draw_cooccurrence,
    draw_document_lengths,
    draw_example_scores,
    draw_group_scores,
    draw_hard_and_soft_loss,
    draw_label_scatter,
    draw_labels_per_document,
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
    incomparable_losses,
    loss_facts,
    marked_losses,
    render_page,
    tabulate_label_scores,
    tabulate_rules,
    untested_losses,
)

MASK = ("mask_label", "mask_element")
"""Losses whose paper shows single documents beside the baseline."""
MAX_SHOWN = 4
"""Losses whose predictions of an image stand beside each other."""
LENIENT = (*MASK, "kwls")
"""Losses that treat similar labels leniently."""
Results = dict[str, dict[str, Any] | Failure]
"""By loss: metrics, resamples, history and all else that ``collect_results`` has; or why it failed."""


def list_failures(results: Results) -> dict[str, str]:
    """The losses that failed, and why."""
    return {loss: each.reason for loss, each in results.items() if isinstance(each, Failure)}


def compare_losses(
    results: Results, report: ReportSettings, data_fingerprint: dict[str, str]
) -> pd.DataFrame:
    """The comparison table, a row per loss; ``differs`` names other conditions than the reference's."""
    metrics, reference = _each("metrics", results), _reference(results, report)
    refuse_other_data(metrics, data_fingerprint)
    mismatches = find_mismatches(metrics, reference)
    if report.on_mismatch == "refuse":
        refuse_mismatches(mismatches, reference)
    table = comparison_table(metrics)
    return table.assign(differs=[", ".join(mismatches.get(loss, ())) for loss in table["loss"]])


def compare_uncertainty(
    results: Results, comparison: pd.DataFrame, report: ReportSettings
) -> dict[str, Any]:
    """Bootstrap intervals, and paired differences to the reference of losses that are tested."""
    losses = compare_with_reference(
        {loss: metrics["mean"] for loss, metrics in _each("metrics", results).items()},
        _each("resamples", results),
        reference=_reference(results, report),
        confidence=report.confidence,
        unpaired=untested_losses(comparison, _reference(results, report)),
    )
    reference = _reference(results, report)
    resampling = _each("metrics", results)[reference]["conditions"]["resampling"]
    facts = {"reference": reference, **resampling, "confidence": report.confidence}
    return {**facts, "losses": losses}


def rank_losses(comparison: pd.DataFrame, uncertainty: dict[str, Any]) -> pd.DataFrame:
    """Value, interval, rank and difference to the reference, by loss and metric."""
    reference = uncertainty["reference"]
    return build_standings(comparison, reference=reference, uncertainty=uncertainty)


def gather_tables(results: Results) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Decision rules, histories and score curves of every loss."""
    curves = [table.assign(loss=loss) for loss, table in _each("score_curves", results).items()]
    return (
        tabulate_rules(_each("metrics", results)),
        gather_histories(_each("history", results)),
        pd.concat(curves, ignore_index=True),
    )


def compare_labels(
    results: Results,
    label_table: pd.DataFrame,
    label_space: list[str],
    label_groups: sparse.csr_array,
    comparison: pd.DataFrame,
    report: ReportSettings,
) -> tuple[pd.DataFrame, go.Figure, go.Figure, go.Figure]:
    """F1 by label and loss; the reference against the best other loss; similar labels; posteriors."""
    scores = tabulate_label_scores(_each("errors", results), label_table, label_space)
    reference = _reference(results, report)
    others = {reference, *incomparable_losses(comparison), *BASELINES}
    best = next((loss for loss in comparison["loss"] if loss not in others), reference)
    ordered = scores.set_index("label").loc[label_space].reset_index()
    first = {reference, *LENIENT}
    sampled = _each("posterior", results)
    posteriors = {loss: table for loss, table in sampled.items() if table is not None}
    return (
        scores,
        draw_label_scatter(scores, reference, best),
        draw_similar_labels(ordered, comparison["loss"].tolist(), label_groups, first),
        draw_posteriors(posteriors, label_table),
    )


def list_disagreements(
    results: Results,
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    label_space: list[str],
    report: ReportSettings,
    raw_files: Path | None = None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Test documents that one loss gets exactly right and the reference does not, or vice versa;
    cases that the reference and the mask losses predict differently.

    With ``raw_files`` documents are images: cases show them, of all losses if no mask loss is there.
    """
    rows, reference = split_rows(splits, "test"), _reference(results, report)
    documents, truth = splits.iloc[rows], label_matrix[rows]
    predictions = {loss: seeds[0] for loss, seeds in _each("predictions", results).items()}
    shown = [loss for loss in dict.fromkeys([reference, *MASK]) if loss in predictions]
    if raw_files is not None and len(shown) == 1:
        shown = list(dict.fromkeys([reference, *predictions]))[:MAX_SHOWN]
    cases = find_cases(
        documents, truth, {loss: predictions[loss] for loss in shown}, labels=label_space
    )
    if raw_files is not None:
        cases["cases"] = add_thumbnails(cases["cases"], documents, raw_files)
    return (
        tabulate_disagreements(
            documents, truth, predictions, reference=reference, labels=label_space
        ),
        cases,
    )


def diagnose_losses(
    results: Results,
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    label_space: list[str],
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    corpus_summary: dict[str, Any],
    label_statistics: dict[str, Any],
    report: ReportSettings,
) -> dict[str, Any]:
    """Findings in words: where to start, what losses miss, what the data cannot tell.

    Gold labels are doubted by the losses that are comparable and had learned.
    """
    left_out = {*BASELINES, *incomparable_losses(comparison), *marked_losses(comparison)}
    doubts = {
        loss: each
        for loss, each in _each("label_doubts", results).items()
        if each is not None and loss not in left_out
    }
    return diagnose(
        _each("metrics", results),
        _each("predictions", results),
        label_matrix[split_rows(splits, "test")],
        find_suspects(splits, label_matrix, doubts, labels=label_space),
        labels=label_space,
        comparison=comparison,
        standings=standings,
        corpus_summary=corpus_summary,
        statistics=label_statistics,
        reference=_reference(results, report),
        idle=_each("idle", results),
    )


def rank_confusions(
    results: Results,
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    label_space: list[str],
    label_groups: sparse.csr_array,
    comparison: pd.DataFrame,
) -> tuple[pd.DataFrame, go.Figure]:
    """The labels that are confused whatever the loss; not of baselines, nor of what is no comparison."""
    left_out = {*BASELINES, *incomparable_losses(comparison), *marked_losses(comparison)}
    predictions = _each("predictions", results)
    table = pool_confusions(
        label_matrix[split_rows(splits, "test")],
        {loss: predictions[loss] for loss in comparison["loss"] if loss not in left_out},
        labels=label_space,
        label_groups=label_groups,
    )
    return table, draw_confusions(table)


def draw_corpus(
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    label_table: pd.DataFrame,
    label_cooccurrence: sparse.csr_array,
    label_space: list[str],
) -> tuple[go.Figure, go.Figure, go.Figure, go.Figure]:
    """The long tail, label co-occurrence, labels per document, document lengths."""
    labels, words = np.diff(label_matrix.indptr), splits["text"].map(word_count).to_numpy()
    rows = {name: split_rows(splits, name) for name in SPLITS}
    return (
        draw_long_tail(label_table),
        draw_cooccurrence(label_cooccurrence, label_space),
        draw_labels_per_document({name: labels[part] for name, part in rows.items()}),
        draw_document_lengths({name: words[part] for name, part in rows.items()}),
    )


def draw_standings(standings: pd.DataFrame) -> tuple[go.Figure, go.Figure]:
    """Macro-F1 by frequency group, and the rank of every loss by every metric."""
    return draw_group_scores(standings), draw_ranks(standings)


def draw_trainings(
    training_table: pd.DataFrame, recipe: Recipe
) -> tuple[go.Figure, go.Figure, go.Figure, go.Figure]:
    """Macro-F1 by epoch and by minute, the losses themselves, and their hard and soft part.

    Baselines have no epochs.
    """
    trained = training_table[training_table["epoch"].notna()]
    return (
        draw_learning_curves(trained),
        draw_learning_time(trained),
        draw_training_curves(trained),
        draw_hard_and_soft_loss(trained, recipe.training.soft_targets_from_step),
    )


def draw_scores(score_table: pd.DataFrame) -> tuple[go.Figure, go.Figure, go.Figure, go.Figure]:
    """Sorted scores, also of single documents, reliability, precision and recall."""
    return (
        draw_sorted_scores(score_table),
        draw_example_scores(score_table),
        draw_reliability(score_table),
        draw_precision_recall(score_table),
    )


def describe_run(provenance: dict[str, Any], results: Any) -> dict[str, Any]:
    """Where the page on ``results`` comes from, as of the run that made them."""
    return provenance


def render_report(
    results: Results,
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    rule_table: pd.DataFrame,
    training_table: pd.DataFrame,
    label_scores: pd.DataFrame,
    pooled_confusions: pd.DataFrame,
    cases: dict[str, Any],
    diagnosis: dict[str, Any],
    label_statistics: dict[str, Any],
    corpus_table: pd.DataFrame,
    corpus_summary: dict[str, Any],
    run_description: dict[str, Any],
    failed_losses: dict[str, str],
    dataset: str,
    recipe: Recipe,
    report: ReportSettings,
    **figures: go.Figure,
) -> str:
    """The report page; ``figures`` by name."""
    corpus_figures = {name: figures.pop(name) for name in CORPUS_PLOTS}
    about_results = ResultPart(
        comparison,
        standings,
        loss_facts(training_table),
        label_scores,
        figures,
        _reference(results, report),
        f"{report.confidence:.0%} bootstrap interval over test documents",
        rule_table,
        _each("errors", results),
        pooled_confusions,
        cases,
        diagnosis,
        {loss: metrics["options"] for loss, metrics in _each("metrics", results).items()},
    )
    corpus = CorpusPart(corpus_table, summary_lines(corpus_summary), corpus_figures)
    about_run = RunPart(
        dataset,
        recipe.name,
        label_statistics,
        **run_description,
        soft_labels_page="kwls" in results,
        failed=failed_losses,
    )
    return render_page(about_results, corpus, about_run)


def inspect_soft_labels(
    soft_labels: Any,
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    label_space: list[str],
    vocabulary: list[str],
    keyword_table: pd.DataFrame,
    settings: KeywordSettings,
    dataset: str,
) -> str:
    """A page of documents with their labels, hard and soft, and the words behind them."""
    from losslab.reporting.soft_label_page import build_soft_label_page

    return build_soft_label_page(
        soft_labels,
        splits,
        label_matrix,
        label_space,
        vocabulary,
        keyword_table,
        tokenization=settings.tokenization,
        dataset=dataset,
    )


def compare_with_papers(reports: Path, corpora: Path) -> str:
    """The papers' tables with ours beside them, where runs exist."""
    from losslab.reporting import paper_tables as tables

    return tables.write_paper_tables(
        tables.read_paper_tables(),
        tables.find_our_results(reports),
        tables.count_documents(corpora),
    )


def _each(kind: str, results: Results) -> dict[str, Any]:
    return {loss: each[kind] for loss, each in results.items() if not isinstance(each, Failure)}


def _reference(results: Results, report: ReportSettings) -> str:
    """The loss that others are compared with; the first that finished, if that one failed."""
    finished = list(_each("metrics", results))
    return report.reference if report.reference in finished or not finished else finished[0]
