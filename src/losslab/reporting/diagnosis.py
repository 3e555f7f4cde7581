"""What a report says in words: where to start, what a loss misses, what the data cannot tell.

A finding has a ``key``, its ``text`` and ``details``, a sentence per line.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import sparse

from losslab.baselines import BASELINES
from losslab.evaluation import MIN_DOUBT, identical_losses
from losslab.reporting.best_losses import SIGNIFICANCE_LEVEL, format_p
from losslab.reporting.comparison import incomparable_losses, marked_losses
from losslab.reporting.definitions import METRICS, RULES

FEW_DOCUMENTS = 5
"""Test documents below which a label cannot be judged: one document moves its recall by 25 points."""
MAX_NAMES = 6
MAX_SUSPECTS = 20
EXCERPT = 160  # characters of a suspect's text
Finding = dict[str, Any]


def diagnose(
    metrics: Mapping[str, Mapping[str, Any]],
    predictions: Mapping[str, Sequence[sparse.csr_array]],
    truth: sparse.csr_array,
    suspects: pd.DataFrame,
    *,
    labels: Sequence[str],
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    corpus_summary: Mapping[str, Any],
    statistics: Mapping[str, Any],
    reference: str,
    idle: Mapping[str, str],
) -> dict[str, Any]:
    """Findings on losses and data, the most useful first, and what they are made of.

    Args:
        metrics: results by loss, see ``evaluate_loss``.
        predictions: by loss, documents x labels for each seed, on test; ``truth``: the gold labels.
        suspects: see ``find_suspects``.
        labels: their names.
        comparison, standings: see ``comparison_table`` and ``build_standings``.
        corpus_summary: see ``examine_splits``; statistics: ``documents labels cardinality
            imbalance_ratio`` of the training split.
        reference: the loss that others are compared with.
        idle: by loss, why what it masks labels by changes nothing, or "".
    """
    losses = [loss for loss in comparison["loss"] if loss not in BASELINES]
    silent = never_predicted({loss: predictions[loss] for loss in losses}, truth, labels)
    positives = dict(zip(labels, np.asarray(truth.astype(bool).sum(axis=0)).tolist(), strict=True))
    thresholds = compare_thresholds({loss: metrics[loss] for loss in losses})
    twins = explain_twins(identical_losses(metrics, predictions), reference, idle)
    findings = [
        where_to_start(comparison, standings, reference, statistics),
        _describe_thresholds(thresholds, len(labels), reference),
        _describe_silent(silent, len(labels)),
        _describe_scarce(positives),
        _describe_suspects(suspects),
        _describe_duplicates(corpus_summary.get("duplicate_texts", {})),
        _describe_twins(twins),
    ]
    return {
        "findings": [finding for finding in findings if finding],
        "thresholds": thresholds,
        "never_predicted": silent,
        "test_documents": positives,
        "suspects": _excerpts(suspects.head(MAX_SUSPECTS)),
        "identical": twins,
    }


def diagnosis_lines(diagnosis: Mapping[str, Any], most: int | None = None) -> list[str]:
    """The findings in words, a line each."""
    return [finding["text"] for finding in diagnosis["findings"][:most]]


def where_to_start(
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    reference: str,
    statistics: Mapping[str, Any],
) -> Finding:
    """The loss to start with by macro-F1, and the one to try where rare labels matter most.

    It is the best loss where it is significantly better than the reference, else the reference: a
    lead that chance explains is no reason. Baselines and losses that had not learned are left out.
    The details have the label statistics, and what was measured on other corpora, the most alike first.
    """
    left_out = {*BASELINES, *marked_losses(comparison), *incomparable_losses(comparison)}
    ranked = standings[~standings["loss"].isin(left_out)]
    if ranked.empty:
        return {}
    advice = [_advise(ranked, metric, reference) for metric in ("macro_f1", "tail/macro_f1")]
    start, tail = (loss for loss, _ in advice)
    text = f"Start with {start}: {advice[0][1]}."
    if tail != start:
        text += f" Where rare labels matter most, try {tail}: {advice[1][1]}."
    return _finding("start", text, [_describe_corpus(statistics), *describe_measured(statistics)])


def _describe_corpus(statistics: Mapping[str, Any]) -> str:
    ratio = f"imbalance {statistics['imbalance_ratio']:.0f} : 1"
    return (
        f"{statistics['documents']:,} training documents, {statistics['labels']:,} labels, "
        f"{statistics['cardinality']:.1f} per document, {ratio}."
    )


def describe_measured(statistics: Mapping[str, Any]) -> list[str]:
    """What our own runs found, a sentence per corpus; the corpus of most similar statistics first."""
    measured = sorted(_measured(), key=lambda each: _distance(each, statistics))
    return [_describe_measurement(each) for each in measured]


@cache
def _measured() -> tuple[dict[str, Any], ...]:
    text = files("losslab.reporting").joinpath("measured_results.yml").read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text))


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Sum of the orders of magnitude between the statistics of two corpora."""
    keys = ("documents", "labels", "cardinality", "imbalance_ratio")
    return sum(abs(math.log10(max(one[key], 0.1) / max(other[key], 0.1))) for key in keys)


def _describe_measurement(measured: Mapping[str, Any]) -> str:
    best = [
        f"{METRICS[metric].name} {each['loss']} {each['difference']:+.3f}, {format_p(each['p'])}"
        for metric, each in measured["best"].items()
    ]
    count = measured["better"] or "none"
    return (
        f"Measured on {measured['dataset']}, recipe {measured['recipe']}: "
        f"{_describe_corpus(measured)} Of {measured['losses']} losses {count} "
        f"significantly better than {measured['reference']} in macro-F1; best: {'; '.join(best)}."
    )


def _advise(ranked: pd.DataFrame, metric: str, reference: str) -> tuple[str, str]:
    """A loss, and the reason in figures."""
    rows = ranked[ranked["metric"] == metric].sort_values(
        "value", ascending=False, kind="stable", ignore_index=True
    )
    best, name = rows.iloc[0], METRICS[metric].name
    compared = reference in set(rows["loss"])
    if not compared or best["loss"] == reference:
        lead = "the best" if len(rows) > 1 else "the only loss compared"
        return str(best["loss"]), f"{lead}, {name} {best['value']:.3f}"
    lead = f"{name} {best['difference']:+.3f} to {reference}"
    if pd.isna(best["p"]):
        return reference, f"{best['loss']} leads by {lead}, which is not tested"
    if best["p"] < SIGNIFICANCE_LEVEL:
        return str(best["loss"]), f"{lead}, {format_p(best['p'])}"
    better = f"no other of {len(rows)} losses is significantly better in {name}"
    return (
        reference,
        f"{better} (best: {best['loss']} {best['difference']:+.3f}, {format_p(best['p'])})",
    )


def never_predicted(
    predictions: Mapping[str, Sequence[sparse.csr_array]],
    truth: sparse.csr_array,
    labels: Sequence[str],
) -> dict[str, list[str]]:
    """By loss: labels that test documents have and no seed predicts for any document."""
    present = np.asarray(truth.astype(bool).sum(axis=0)) > 0
    silent = {}
    for loss, seeds in predictions.items():
        predicted = sum(np.asarray(seed.astype(bool).sum(axis=0)) for seed in seeds)
        silent[loss] = [
            labels[label] for label in np.flatnonzero(present & (predicted == 0)).tolist()
        ]
    return silent


def compare_thresholds(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By loss with a natural threshold: what it loses by it against the primary rule, over seeds."""
    compared = {}
    for loss, result in metrics.items():
        own, primary = (result.get("own") or {}).get("mean"), result["mean"]
        if own is not None and "labels_without_predictions" in own:
            compared[loss] = {
                "rule": result["rule"],
                "threshold": primary.get("threshold"),
                "silent_labels": own["labels_without_predictions"],
                "macro_f1": own["macro_f1"],
                "primary_silent_labels": primary["labels_without_predictions"],
                "primary_macro_f1": primary["macro_f1"],
            }
    return compared


def _describe_thresholds(
    thresholds: Mapping[str, Mapping[str, Any]], labels: int, reference: str
) -> Finding:
    """The reference's threshold, or that of the loss which loses most by its own."""
    if not thresholds:
        return {}
    cost = {loss: each["primary_macro_f1"] - each["macro_f1"] for loss, each in thresholds.items()}
    ordered = sorted(cost, key=lambda loss: -cost[loss])
    shown = reference if reference in thresholds else ordered[0]
    text = _describe_threshold(shown, thresholds[shown], labels)
    return _finding(
        "threshold", text, [_describe_threshold(loss, thresholds[loss], labels) for loss in ordered]
    )


def _describe_threshold(loss: str, facts: Mapping[str, Any], labels: int) -> str:
    rule = RULES[facts["rule"]].name
    at = f" {facts['threshold']:.2f}" if facts["threshold"] is not None else ""
    return (
        f"{loss} at 0.5 predicts nothing for {_number(facts['silent_labels'])} of {labels} labels "
        f"(macro-F1 {facts['macro_f1']:.3f}); {rule}{at}: {_number(facts['primary_silent_labels'])} "
        f"({facts['primary_macro_f1']:.3f})."
    )


def _describe_silent(silent: Mapping[str, Sequence[str]], labels: int) -> Finding:
    worst = max(silent, key=lambda loss: len(silent[loss]), default=None)
    if worst is None or not silent[worst]:
        return {}
    every = [name for name in silent[worst] if all(name in names for names in silent.values())]
    some = sum(map(bool, silent.values()))
    text = f"{some} of {len(silent)} losses never predict some label of the test split, {worst} "
    text += f"{len(silent[worst])} of {labels}."
    if every and len(silent) > 1:
        text += f" No loss predicts {_names(every)}."
    details = [
        f"{loss}: {len(names)}, {_names(names)}."
        for loss, names in sorted(silent.items(), key=lambda item: -len(item[1]))
        if names
    ]
    return _finding("silent", text, details)


def _describe_scarce(positives: Mapping[str, int]) -> Finding:
    few = sorted((count, label) for label, count in positives.items() if count < FEW_DOCUMENTS)
    if not few:
        return {}
    none = sum(count == 0 for count, _ in few)
    text = f"{len(few)} of {len(positives)} labels have fewer than {FEW_DOCUMENTS} test documents"
    text += f", {none} of them none" if none else ""
    text += ": too few to judge a loss by one of them. Cross-validate, or compare groups of labels."
    return _finding("scarce", text, [f"{label}: {count}." for count, label in few])


def _describe_suspects(suspects: pd.DataFrame) -> Finding:
    if suspects.empty:
        return {}
    documents = suspects["id"].nunique()
    text = (
        f"{_count(documents, 'document')} of validation and test may be mislabelled: the losses "
        f"together contradict {_count(len(suspects), 'gold label')} with {MIN_DOUBT:.0%} confidence."
    )
    return _finding("suspects", text)


def _excerpts(suspects: pd.DataFrame) -> list[dict[str, Any]]:
    """The suspects with the beginnings of their texts."""
    rows = suspects.assign(id=suspects["id"].astype(str), text=suspects["text"].str[:EXCERPT])
    return list(rows.to_dict("records"))


def _describe_duplicates(duplicates: Mapping[str, Mapping[str, int]]) -> Finding:
    found = [
        f"{_count(count, f'{later} document')} with a text that is also in {earlier}."
        for later, counts in duplicates.items()
        for earlier, count in counts.items()
        if count
    ]
    if not found:
        return {}
    in_train = duplicates.get("test", {}).get("train", 0)
    text = f"Duplicates across splits: {found[0]}"
    if in_train:
        text = (
            f"{_count(in_train, 'test document')} also in train by text: test figures are too good."
        )
    return _finding("duplicates", text, found if len(found) > 1 else [])


def explain_twins(
    groups: Sequence[Sequence[str]], reference: str, idle: Mapping[str, str]
) -> dict[str, str]:
    """By loss: which loss it is identical to, and why; the one it is compared with is absent.

    >>> explain_twins([["mask_element", "bce"]], "bce", {"mask_element": "its mask is empty"})
    {'mask_element': 'identical to bce in every prediction: its mask is empty'}
    """
    told = {}
    for group in groups:
        plain = [loss for loss in group if not idle.get(loss)] or list(group)
        first = reference if reference in group else plain[0]
        for loss in group:
            reason = f": {idle[loss]}" if idle.get(loss) else ""
            told[loss] = f"identical to {first} in every prediction{reason}"
        del told[first]
    return told


def _describe_twins(twins: Mapping[str, str]) -> Finding:
    told = [f"{loss} is {how}." for loss, how in twins.items()]
    return _finding("identical", told[0], told[1:]) if told else {}


def _finding(key: str, text: str, details: Sequence[str] = ()) -> Finding:
    return {"key": key, "text": text, "details": list(details)}


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _number(value: float) -> str:
    """A mean over seeds, without a fraction where it is whole.

    >>> _number(9.0), _number(8.5)
    ('9', '8.5')
    """
    return f"{value:.1f}".removesuffix(".0")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
