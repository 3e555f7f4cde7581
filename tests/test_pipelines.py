"""The pipelines' shape: what is registered, typed and in the catalog."""

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
import yaml
from kedro.validation.type_extractor import TypeExtractor

from losslab.losses import LOSSES
from losslab.parameters import TRAINABLE, fitting, loss_options, namespace
from losslab.pipeline_registry import register_pipelines
from losslab.pipelines.losses.nodes import train
from losslab.pipelines.losses.pipeline import for_loss

CONF = Path(__file__).parents[1] / "conf"


@pytest.fixture(scope="module")
def pipelines():
    return register_pipelines()


@pytest.mark.parametrize("loss", TRAINABLE)
def test_each_loss_is_a_pipeline_that_needs_raw_files_and_parameters_only(pipelines, loss):
    inputs = pipelines[namespace(loss)].inputs()
    free = {name for name in inputs if not name.startswith("params:")}
    assert free == {"raw_files", f"{namespace(loss)}.failures"}
    assert f"{namespace(loss)}.metrics" in pipelines[namespace(loss)].outputs()


@pytest.mark.parametrize(("name", "task"), [("__default__", "multi"), ("single_label", "single")])
def test_default_pipelines_train_every_loss_that_fits_and_report(pipelines, name, task):
    names = {node.name for node in pipelines[name].nodes}
    trained = {f"{namespace(loss)}.train" for loss in fitting(task)}
    assert {node for node in names if node.endswith(".train")} == trained
    assert "render_report" in names
    assert ("ce_loss.train" in names) == (task == "single")


def test_kedro_sees_the_parameter_model_of_each_loss(pipelines):
    types = TypeExtractor(pipelines).extract_types_from_pipelines()
    for loss in TRAINABLE:
        assert types[namespace(loss)] is loss_options(loss)


def test_binding_a_loss_removes_its_argument_and_keeps_the_rest():
    bound = for_loss("db", train)
    assert list(signature(bound).parameters) == list(signature(train).parameters)[1:]
    assert bound.__name__ == "train"


def test_every_intermediate_is_versioned_in_the_catalog_with_a_layer(pipelines):
    entries = {}
    for file in (CONF / "base").glob("catalog_*.yml"):
        entries |= yaml.safe_load(file.read_text())
    for name in set().union(*(pipeline.datasets() for pipeline in pipelines.values())):
        if name.startswith("params:") or name == "raw_files" or name.endswith(".failures"):
            continue
        entry = entries.get(name) or entries["{loss}." + name.split(".")[1]]
        assert entry["versioned"] is True
        assert entry["metadata"]["kedro-viz"]["layer"]


def test_the_registry_needs_neither_torch_nor_transformers():
    code = (
        "import sys; from losslab.pipeline_registry import register_pipelines as r; r();"
        "print(sorted({'torch', 'transformers', 'sklearn', 'mlflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_losses_without_a_pipeline_need_what_the_pipelines_cannot_give(pipelines):
    absent = {name for name in LOSSES if namespace(name) not in pipelines}
    for name in absent:
        spec = LOSSES[name]
        assert {"groups", "mask", "soft_targets"} & set(spec.needs) or spec.tasks == ("single",)
    assert {"bce", "db", "zlpr", "warp", "sbayes_f1", "zlpr_rdrop"}.isdisjoint(absent)
