"""The nodes over folds and datasets where there is nothing, and where runs left something.

What they find and leave out is tested with ``losslab.reporting.saved_results``.
"""

import json

from losslab.pipelines.meta_analysis import nodes
from losslab.reporting.definitions import METRICS

from .small_data import REPORT


def save_fold(folder, loss, fold, value):
    conditions = {
        "dataset": "cwe",
        "recipe": {"name": "probe"},
        "split": {"folds": 2, "fold": fold},
        "data": {"splits": str(fold)},
    }
    file = folder / f"cwe-split.folds=2/probe/{loss}_loss/metrics.json/v{fold}/metrics.json"
    file.parent.mkdir(parents=True)
    mean = dict.fromkeys(METRICS, value)
    file.write_text(json.dumps({"mean": mean, "conditions": conditions, "options": {}}))


def test_without_reports_the_tables_are_empty_and_it_is_told(tmp_path, caplog):
    assert nodes.combine_folds(tmp_path, REPORT).empty
    assert nodes.combine_datasets(tmp_path).empty
    assert "no reports yet: kedro run makes one" in caplog.messages


def test_folds_are_compared_with_the_reference(tmp_path):
    for fold in (1, 2):
        save_fold(tmp_path, "bce", fold, 0.5 + fold / 100)
        save_fold(tmp_path, "db", fold, 0.6 + fold / 50)
    table = nodes.combine_folds(tmp_path, REPORT)
    assert list(table.columns) == ["dataset", "recipe", *nodes.FOLDS]
    row = table[(table["loss"] == "db") & (table["metric"] == "macro_f1")].iloc[0]
    assert (row["folds"], round(row["difference"], 6)) == (2, 0.115)
    assert row["dataset"] == "cwe-split.folds=2"
