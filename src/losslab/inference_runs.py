"""The model of ``kedro predict`` and ``kedro export``: chosen, checked, taken from saved results."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.io import DatasetError

from losslab.datasets.checked import Checked
from losslab.errors import ModelError
from losslab.parameters import did_you_mean, namespace
from losslab.pipelines.predict import assemble
from losslab.reporting.best_losses import best_loss
from losslab.reporting.definitions import METRICS
from losslab.runners import RunPlan
from losslab.runners.fingerprint import load
from losslab.sweep_runs import open_catalog

if TYPE_CHECKING:
    from losslab.inference.model import TrainedModel

BEST = "best"
"""In place of a loss: the report's winner."""
NOT_OF_A_MODEL = ("num_seeds", "report", "bootstrap", "predict", "mlflow", "losses", "baselines")
"""Parameters that a model was trained with and may differ now: none changes what it predicts."""


def find_best(project: Path, options: Mapping[str, Any], metric: str) -> str:
    """The loss or baseline that the newest report ranks first by a metric."""
    if metric not in METRICS:
        raise ModelError(did_you_mean("metric", metric, METRICS))
    catalog = open_catalog(project, options, options["params"])
    try:
        return best_loss(load(catalog, "standings"), metric)
    except DatasetError as error:
        raise ModelError(
            "no report tells which loss is best: kedro run makes one, or name a --loss"
        ) from error


def open_model(
    project: Path, options: Mapping[str, Any], parameters: Mapping[str, Any]
) -> "TrainedModel":
    """The trained model that ``predict`` names, of results that verify and belong together.

    ``parameters``: all of the run, validated. Refused are results made with other parameters, and
    parts (thresholds, tokenizer, labels) of different trainings.
    """
    if parameters["modality"] != "text":
        raise ModelError(
            f"dataset '{parameters['dataset']}' is of images: models of texts alone label new ones"
        )
    method = parameters["predict"]["loss"]
    catalog = open_catalog(project, options, options["params"])
    shared = {name: each for name, each in parameters.items() if name not in NOT_OF_A_MODEL}
    every: Any = catalog.get("parameters")
    every.save(shared)
    pipeline = assemble(method)
    plan, (node,) = RunPlan(pipeline, catalog), pipeline.nodes
    plan.fingerprint(node)
    inputs = {name: load(catalog, name) for name in node.inputs}
    inputs["provenance"] = _training_run(plan.datasets[f"{namespace(method)}_model"])
    model: TrainedModel = node.run(inputs)["trained_model"]
    return model


def _training_run(dataset: Checked) -> dict[str, Any]:
    """Command, commit, device and versions of the run that trained a model."""
    run = dataset.manifest.provenance.run
    return {name: value for name, value in run.items() if name != "id"}
