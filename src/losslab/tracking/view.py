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


def view_address(experiment: str) -> str:
    """The view's address, to be put behind that of a server."""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={KEY}&workflowType=machine_learning"


def save_view(client: MlflowClient, experiment: str) -> None:
    """Save the view and link it from the experiment's description, unless both are there."""
    state = {
        "searchFilter": "tags.seed LIKE '%'",  # trainings have a seed, their parents none
        "orderByKey": "metrics.`test/macro_f1`",
        "orderByAsc": False,
        "selectedColumns": COLUMNS,
        "columnOrder": ["attributes.`Run Name`", *COLUMNS, "runDateAndNestInfo", "duration"],
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
