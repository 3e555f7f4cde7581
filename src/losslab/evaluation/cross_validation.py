"""Cross-validation: losses over folds (paired t-test, Holm), and folds that cannot be compared."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from losslab.errors import IncomparableError
from losslab.evaluation.bootstrap import holm
from losslab.evaluation.comparability import condition_differences
from losslab.evaluation.metrics import LOWER_IS_BETTER
from losslab.parameters.variants import flatten

Folds = Mapping[int, Mapping[str, float]]
"""Metrics by number of the fold."""
FoldResults = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""Results as ``evaluate`` saves them, by loss and fold."""
CORPUS_HASHES = ("id", "text", "targets", "label_space", "test")
TEST_HASHES = ("label_space", "test")


def refuse_mixed_folds(results: FoldResults, folds: int) -> None:
    """Raise an error that names results which differ in more than loss and fold, if there are any.

    All must agree in data and protocol (``shared_conditions``), those of a fold in the split, those
    of a loss in its options.
    """
    faults = list(_mismatches(results, folds))
    if faults:
        more = f" and {len(faults) - 1} more results" if len(faults) > 1 else ""
        raise IncomparableError(
            f"the folds differ in more than the fold: {faults[0]}{more}. "
            "Run kedro cross-validate again with the same options"
        )


def _mismatches(results: FoldResults, folds: int) -> Iterator[str]:
    """Each result that differs from the first, from its fold's first or from its loss's first."""
    first: dict[str, Any] = {}
    splits: dict[int, str] = {}
    for loss, by_fold in results.items():
        options: Mapping[str, Any] | None = None
        for fold, result in sorted(by_fold.items()):
            first = first or flatten(shared_conditions(result["conditions"]))
            options = result["options"] if options is None else options
            split = splits.setdefault(fold, result["conditions"]["data"]["split"])
            expected = {
                **first,
                **flatten({"split": {"folds": folds, "fold": fold}, "options": options}),
                "data.split": split,
            }
            differences = condition_differences(_of_fold(result), expected)
            if differences:
                yield f"{loss}, fold {fold}: {', '.join(differences)}"


def _of_fold(result: Mapping[str, Any]) -> dict[str, Any]:
    conditions = result["conditions"]
    return {
        **flatten({**shared_conditions(conditions), "options": result["options"]}),
        "split.fold": conditions["split"]["fold"],
        "data.split": conditions["data"]["split"],
    }


def shared_conditions(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of a result that all folds share: data and protocol, without the fold.

    The folds of an undersampled corpus have other training documents each; their test documents
    are the same.
    """
    hashes = TEST_HASHES if conditions.get("undersample") else CORPUS_HASHES
    split = {name: value for name, value in conditions["split"].items() if name != "fold"}
    data = {name: conditions["data"].get(name) for name in hashes}
    return {**conditions, "split": split, "data": data}


def tabulate_folds(results: Mapping[str, Folds], metrics: Iterable[str]) -> pd.DataFrame:
    """A row per metric, loss and fold: ``value``, missing where a loss does not have the metric."""
    rows = [
        {"metric": metric, "loss": loss, "fold": fold, "value": by_fold[fold].get(metric, np.nan)}
        for metric in metrics
        for loss, by_fold in results.items()
        for fold in sorted(by_fold)
    ]
    return pd.DataFrame(rows, columns=["metric", "loss", "fold", "value"])


def fold_marks(results: FoldResults) -> dict[str, str]:
    """By loss: its mark, and the folds whose training stopped before it had learned."""
    marked: dict[str, dict[str, list[str]]] = {}
    for loss, by_fold in results.items():
        for fold, result in sorted(by_fold.items()):
            mark = (result.get("training") or {}).get("mark")
            if mark:
                marked.setdefault(loss, {}).setdefault(mark, []).append(str(fold))
    return {
        loss: "; ".join(f"{mark} (fold {', '.join(folds)})" for mark, folds in marks.items())
        for loss, marks in marked.items()
    }


def compare_folds(
    results: Mapping[str, Folds],
    metrics: Iterable[str],
    *,
    reference: str,
    folds: int,
    marks: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """A row per metric and loss, best first: mean, spread and folds, difference to the reference.

    The columns are ``mean std folds missing_folds mark difference p p_holm``. Losses of ``marks`` had
    not learned: they are not tested, and no loss is if the reference is among them.

    ``difference`` is to ``reference`` over the folds both have; ``p`` that of a paired t-test over
    them, ``p_holm`` after Holm's correction over the losses. Both are missing where one of the
    ``folds`` is, and for the reference itself. A loss without any fold comes last.

    >>> results = {"bce": {1: {"f1": 0.5}, 2: {"f1": 0.4}}, "db": {1: {"f1": 0.6}, 2: {"f1": 0.6}}}
    >>> compare_folds(results, ["f1"], reference="bce", folds=2).round(3).values[0].tolist()
    ['f1', 'db', 0.6, 0.0, 2, '', '', 0.15, 0.205, 0.205]
    """
    tables = []
    marks = marks or {}
    for metric in metrics:
        rows = [_row(results, loss, metric, reference, folds, marks) for loss in results]
        table = _correct(pd.DataFrame(rows))
        lower = metric in LOWER_IS_BETTER
        tables.append(table.sort_values("mean", ascending=lower, kind="stable"))
    return pd.concat(tables, ignore_index=True)


def _row(
    results: Mapping[str, Folds],
    loss: str,
    metric: str,
    reference: str,
    folds: int,
    marks: Mapping[str, str],
) -> dict[str, object]:
    by_fold, reference_by_fold = (
        {fold: metrics[metric] for fold, metrics in results[name].items() if metric in metrics}
        for name in (loss, reference)
    )
    values = np.array(list(by_fold.values()))
    shared = sorted(by_fold.keys() & reference_by_fold.keys())
    pairs = np.array([(by_fold[fold], reference_by_fold[fold]) for fold in shared]).reshape(-1, 2)
    compared = loss != reference and len(shared) > 0
    tested = len(shared) == folds and not {loss, reference} & set(marks)
    return {
        "metric": metric,
        "loss": loss,
        "mean": values.mean() if len(values) else np.nan,
        "std": values.std(ddof=1) if len(values) > 1 else np.nan,
        "folds": len(values),
        "missing_folds": ", ".join(str(f) for f in range(1, folds + 1) if f not in results[loss]),
        "mark": marks.get(loss, ""),
        "difference": (pairs[:, 0] - pairs[:, 1]).mean() if compared else np.nan,
        "p": _paired(pairs) if compared and tested else np.nan,
    }


def _paired(pairs: np.ndarray) -> float:
    """The p-value of a paired t-test; 1 where no pair differs and the test is undefined."""
    from scipy.stats import ttest_rel  # slow to import, and a command like this is rare

    same = np.array_equal(pairs[:, 0], pairs[:, 1])
    return 1.0 if same else float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue)


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    tested = table["p"].notna()
    table["p_holm"] = np.nan
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].tolist())
    return table
