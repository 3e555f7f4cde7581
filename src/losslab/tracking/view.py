"""A view of the experiment with the columns one compares losses by.

MLflow's table of runs shows neither tags nor metrics unless asked. A view saved with the experiment
does the asking for everyone: it stands in the page's *Views* menu and opens by its address.
"""

import json
from time import time

from mlflow.tracking import MlflowClient

KEY = "losses"
COLUMNS = (
    "tags.`loss`",
    "metrics.`test/macro_f1`",
    "metrics.`test/micro_f1`",
    "metrics.`test/tail/macro_f1`",
    "tags.`seed`",
    "tags.`dataset`",
    "tags.`recipe`",
)

BARS = ("test/macro_f1", "test/tail/macro_f1", "test/micro_f1")
CURVES = ("validation/macro_f1", "validation/loss", "train/loss")
SECTION = "losses"
"""Charts that are shown first; MLflow makes one of every other metric below them."""


def view_address(experiment: str) -> str:
    """The view's address, to be put behind that of a server; it opens on the charts."""
    words = f"viewStateShareKey={KEY}&compareRunsMode=CHART&workflowType=machine_learning"
    return f"/#/experiments/{experiment}/runs?{words}"


def _charts() -> list[dict[str, object]]:
    """The charts of the view, as MLflow's pages note them: bars by run, curves by step."""
    common = {"metricSectionId": SECTION, "deleted": False, "isGenerated": False}
    bars = [
        {"type": "BAR", "uuid": metric, "metricKey": metric, "runsCountToCompare": 100, **common}
        for metric in BARS
    ]
    step = {"xAxisKey": "step", "yAxisKey": "metric", "scaleType": "linear", "lineSmoothness": 0}
    curves = [
        {"type": "LINE", "uuid": metric, "metricKey": metric, "selectedMetricKeys": [metric]}
        | {"runsCountToCompare": 100, **step, **common}
        for metric in CURVES
    ]
    return [*bars, *curves]


def save_view(client: MlflowClient, experiment: str) -> None:
    """Save the view and link it from the experiment's description, unless both are there."""
    state = {
        "searchFilter": "tags.seed LIKE '%'",  # trainings have a seed, their parents none
        "orderByKey": "metrics.`test/macro_f1`",
        "orderByAsc": False,
        "selectedColumns": COLUMNS,
        "columnOrder": ["attributes.`Run Name`", *COLUMNS, "runDateAndNestInfo", "duration"],
        "compareRunCharts": _charts(),
        "compareRunSections": [
            {"uuid": SECTION, "name": "Losses", "display": True, "isReordered": True}
        ],
        "isAccordionReordered": True,
        "columnWidths": {name: 90 if name.startswith("tags") else 110 for name in COLUMNS},
    }
    now = int(time() * 1000)
    view = {"name": "Losses by test macro-F1", "createdAt": now, "updatedAt": now}
    tags = client.get_experiment(experiment).tags
    tag = f"mlflow.sharedViewState.{KEY}"
    content = json.dumps(state)
    if json.loads(tags.get(tag, "{}")).get("state") != content:
        client.set_experiment_tag(experiment, tag, json.dumps({**view, "state": content}))
    note = f"[Losses by test macro-F1]({view_address(experiment).removeprefix('/')})"
    if "mlflow.note.content" not in tags:
        client.set_experiment_tag(experiment, "mlflow.note.content", note)
