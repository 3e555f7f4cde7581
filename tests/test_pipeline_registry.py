"""The pipelines' shape: what is registered, typed and in the catalog."""

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
import yaml
from kedro.validation.type_extractor import TypeExtractor
from losslab.pipelines.losses.nodes import train
from losslab.pipelines.losses.pipeline import for_loss

from losslab.losses import LOSSES
from losslab.parameters import TRAINABLE, fitting, loss_options, namespace
from losslab.pipeline_registry import register_pipelines

CONF = Path(__file__).parents[1] / "conf"


@pytest.fixture(scope="module")
def pipelines():
    return register_pipelines()


@pytest.mark.parametrize("loss", TRAINABLE)
def test_each_loss_is_a_pipeline_that_needs_raw_files_and_parameters_only(pipelines, loss):
    inputs = pipelines[namespace(loss)].inputs()
    free = {name for name in inputs if not name.startswith("params:")}
    taught = {"bce_loss.failures"} if loss in ("ls_distill", "mask_element") else set()
    assert free == {"raw_files", f"{namespace(loss)}.failures"} | taught
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
        unversioned = name in ("raw_files", "reports", "corpora", "paper_tables") or name.endswith(
            ".failures"
        )
        if name.startswith("params:") or unversioned:
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


SOURCES = {
    "kwls": {"count_training_words", "relate_words_to_labels", "relate_words_to_documents"},
    "ls_tfidf": {"count_training_words", "weigh_words_by_tfidf"},
    "ls_classic": {"ls_classic_loss.smooth_labels"},
    "ls_distill": {"bce_loss.train", "distil_labels"},
    "mask_label": {"group_labels"},
    "mask_element": {"bce_loss.train", "count_training_words", "search_element_keywords"},
}


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_brings_what_makes_its_input_and_nothing_of_others(pipelines, loss):
    special = set().union(*SOURCES.values())
    names = {node.name for node in pipelines[namespace(loss)].nodes}
    own = SOURCES.get(loss, set()) | ({"bce_loss.train"} if loss == "bce" else set())
    assert names & special == own


def test_targets_pipeline_needs_no_training(pipelines):
    assert not [node for node in pipelines["targets"].nodes if node.name.endswith(".train")]
    assert "soft_labels_page" in pipelines["targets"].datasets()
