"""The pipelines' shape: what is registered, typed and in the catalog."""

import subprocess
import sys

import pytest
from conftest import ROOT
from kedro.io import DataCatalog, MemoryDataset
from kedro.validation.type_extractor import TypeExtractor

from losslab.baselines import BASELINES
from losslab.config_loader import LosslabConfigLoader
from losslab.datasets.checked import Checked
from losslab.losses import LOSSES
from losslab.parameters import (
    ElementKeywordSettings,
    FrequencyGroupSettings,
    KeywordSettings,
    LabelGroupSettings,
    LossSettings,
    PredictSettings,
    Recipe,
    ReportSettings,
    SearchSettings,
    SoftLabelSettings,
    SplitSettings,
    TfidfSettings,
    ThresholdGrid,
    losses_for_task,
    namespace,
)
from losslab.pipeline_registry import create_registry, register_pipelines
from losslab.settings import CONFIG_LOADER_ARGS

STAGES = (
    "data",
    "features",
    "supervision",
    "training",
    "distillation",
    "evaluation",
    "baselines",
    "modelling",
    "reporting",
    "report",
    "cross_validation",
    "search",
    "search_report",
    "sweep",
    "retrieval",
    "meta_analysis",
    "predict",
)
UNVERSIONED = {
    *(
        "raw_files",
        "failures",
        "checkpoints",
        "studies",
        "reports",
        "corpora",
        "paper_tables",
        "results",
    ),
    "fold_metrics",
    "provenance",
    "texts",
    "trained_model",
}


@pytest.fixture(scope="module", params=["multi", "single"])
def task(request):
    return request.param


@pytest.fixture(scope="module")
def pipelines(task):
    return create_registry(task)


def short_names(pipeline) -> set[str]:
    """Node names without stage and family: ``db_loss.train``, ``group_labels``."""
    return {".".join(node.name.split(".")[-2:]) for node in pipeline.nodes}


def test_keys_are_stages_losses_baselines_and_the_default():
    methods = {namespace(name) for name in (*LOSSES, *BASELINES)}
    assert set(register_pipelines()) == {*STAGES, *methods, "paper_tables", "__default__"}


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_is_a_pipeline_that_needs_raw_files_and_parameters_only(pipelines, task, loss):
    if task not in LOSSES[loss].tasks:
        return
    pipeline = pipelines[namespace(loss)]
    free = {name for name in pipeline.inputs() if not name.startswith("params:")}
    assert free == {"raw_files", "failures", "checkpoints"}
    own = {"metrics", "resamples", "errors", "score_curves"}
    assert {f"{namespace(loss)}_{name}" for name in own} <= pipeline.outputs()
    assert f"{namespace(loss)}_predictions" in pipeline.datasets()


@pytest.mark.parametrize("loss", ["sbayes_f1", "db"])
def test_a_loss_that_samples_has_its_posterior_in_its_pipeline_and_the_report(loss):
    made = f"{namespace(loss)}_posterior"
    pipelines = create_registry("multi", [loss])
    assert (made in pipelines[namespace(loss)].outputs()) == (loss == "sbayes_f1")
    assert (made in pipelines["report"].inputs()) == (loss == "sbayes_f1")


@pytest.mark.parametrize("baseline", BASELINES)
def test_each_baseline_is_a_pipeline_that_needs_neither_an_encoder_nor_a_training(baseline):
    pipeline = create_registry("multi")[namespace(baseline)]
    free = {name for name in pipeline.inputs() if not name.startswith("params:")}
    assert free == {"raw_files"}
    own = {"metrics", "resamples", "errors", "score_curves"}
    assert {f"{namespace(baseline)}_{name}" for name in own} <= pipeline.outputs()
    assert "features" not in pipeline.datasets()
    assert "params:num_seeds" not in pipeline.inputs()


def test_default_pipeline_reports_the_baselines_that_fit_unless_there_are_to_be_none(task):
    fitting = {namespace(name) for name in BASELINES if task in BASELINES[name].tasks}
    fitted = "{}.fit".format
    names = short_names(create_registry(task, ["bce"])["__default__"])
    assert {name for name in names if name.endswith(".fit")} == {*map(fitted, fitting)}
    none = short_names(create_registry(task, ["bce"], [])["__default__"])
    assert not {name for name in none if "_baseline" in name}
    one = short_names(create_registry(task, ["bce"], ["svm"])["report"])
    assert {name for name in one if "_baseline" in name} == {"svm_baseline.collect_results"}


def test_default_pipeline_trains_every_loss_that_fits_and_reports(pipelines, task):
    names = short_names(pipelines["__default__"])
    trained = {f"{namespace(loss)}.train" for loss in losses_for_task(task)}
    assert {name for name in names if name.endswith(".train")} == trained
    assert "reporting.render_report" in names
    assert "reporting.render_report" not in short_names(pipelines["modelling"])
    assert ("ce_loss.train" in names) == (task == "single")


def test_pipelines_of_images_read_no_words(task):
    pipelines = create_registry(task, modality="image")
    datasets = set().union(*(pipeline.datasets() for pipeline in pipelines.values()))
    assert not {"word_counts", "vocabulary", "tokenizer", "tfidf"} & datasets
    words = {name for name, loss in LOSSES.items() if loss.reads_words}
    of_texts = create_registry(task)
    gone = {namespace(name) for name in words} | {namespace(name) for name in BASELINES}
    assert set(of_texts) - set(pipelines) == gone | {"predict", "retrieval"}
    for name in words:  # what each of them reads is what images have not
        assert {"word_counts", "vocabulary"} & of_texts[namespace(name)].datasets()
    free = {name for name in pipelines["__default__"].inputs() if not name.startswith("params:")}
    texts = {name for name in of_texts["__default__"].inputs() if not name.startswith("params:")}
    assert free == texts


def test_report_is_on_the_chosen_losses():
    pipelines = create_registry("multi", ["bce", "db"])
    names = short_names(pipelines["__default__"])
    assert {name for name in names if name.endswith(".train")} == {
        "bce_loss.train",
        "db_loss.train",
    }
    collected = {name for name in names if name.endswith("_loss.collect_results")}
    assert collected == {"bce_loss.collect_results", "db_loss.collect_results"}
    assert "zlpr_loss" in pipelines  # asked for by name, it runs


def test_predictions_are_made_by_one_node_and_read_by_all_others(pipelines):
    pipeline = pipelines["db_loss"] + pipelines["report"]
    makers = [node for node in pipeline.nodes if "db_loss_predictions" in node.outputs]
    assert [node.name for node in makers] == ["modelling.balanced.db_loss.predict_labels"]
    readers = [node.name for node in pipeline.nodes if "db_loss_predictions" in node.inputs]
    expected = {"evaluate", "find_errors", "draw_score_curves", "collect_results"}
    assert {name.split(".")[-1] for name in readers} == expected


def test_kedro_sees_the_types_of_the_parameters(pipelines):
    types = TypeExtractor(pipelines).extract_types_from_pipelines()
    for name in (*LOSSES, *BASELINES):
        assert types[namespace(name)] is LossSettings
    expected = {
        "recipe": Recipe,
        "split": SplitSettings,
        "tfidf": TfidfSettings,
        "frequency_groups": FrequencyGroupSettings,
        "keywords": KeywordSettings,
        "soft_labels": SoftLabelSettings,
        "label_groups": LabelGroupSettings,
        "element_keywords": ElementKeywordSettings,
        "threshold_grid": ThresholdGrid | None,
        "report": ReportSettings,
        "search": SearchSettings,
        "predict": PredictSettings,
    }
    assert {name: types[name] for name in expected} == expected


def test_search_takes_what_a_training_takes_and_reads_no_scores(pipelines, task):
    free = {name for name in pipelines["search"].inputs() if not name.startswith("params:")}
    assert free - {"failures"} == {"raw_files", "checkpoints", "studies"}
    nodes = {node.name: node for node in pipelines["modelling"].nodes}
    for node in pipelines["search"].only_nodes_with_tags("search").nodes:
        (loss,) = (tag for tag in node.tags if tag != "search")
        (train,) = (each for name, each in nodes.items() if name.endswith(f".{loss}.train"))
        only_train = {"params:num_seeds", "failures"}
        assert set(node.inputs) == set(train.inputs) - only_train | {"params:search", "studies"}


def test_every_intermediate_is_versioned_in_the_catalog_with_a_layer(pipelines):
    loader = LosslabConfigLoader(str(ROOT / "conf"), runtime_params={}, **CONFIG_LOADER_ARGS)
    resolver = DataCatalog.from_config(loader["catalog"]).config_resolver
    names = set().union(*(pipeline.datasets() for pipeline in pipelines.values()))
    for name in names - UNVERSIONED:
        if name.startswith("params:") or name.endswith("_results"):
            continue
        entry = resolver.resolve_pattern(name)
        assert entry.get("version") or entry.get("versioned"), name
        assert entry["metadata"]["kedro-viz"]["layer"], name


def test_whatever_a_node_saves_is_checked(pipelines):
    loader = LosslabConfigLoader(str(ROOT / "conf"), runtime_params={}, **CONFIG_LOADER_ARGS)
    catalog = DataCatalog.from_config(loader["catalog"], save_version="now")
    for name in set().union(*(pipeline.all_outputs() for pipeline in pipelines.values())):
        assert isinstance(catalog.get(name), Checked | MemoryDataset), name


def test_parameters_of_all_nodes_exist(pipelines, task):
    dataset = {"multi": "cwe", "single": "trec"}[task]
    given = {"dataset": dataset}
    loader = LosslabConfigLoader(str(ROOT / "conf"), runtime_params=given, **CONFIG_LOADER_ARGS)
    parameters = loader["parameters"]
    assert parameters["task"] == task
    for pipeline in pipelines.values():
        asked = {name.removeprefix("params:") for name in pipeline.inputs() if ":" in name}
        assert {name.partition(".")[0] for name in asked} <= set(parameters)
        for name, _, part in (name.partition(".") for name in asked):
            assert not part or part in dict(parameters[name])


@pytest.mark.slow
def test_the_registry_is_built_without_a_warning_transformers_sklearn_or_mlflow():
    code = (
        "import sys; from losslab.pipeline_registry import create_registry as create;"
        "create(); create('single');"
        "print(sorted({'transformers', 'sklearn', 'mlflow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


SOURCES = {
    "kwls": {"count_training_words", "relate_words_to_labels", "relate_words_to_documents"},
    "ls_tfidf": {"count_training_words", "weigh_words_by_tfidf"},
    "ls_classic": {"smooth_uniformly"},
    "soft_zlpr": {"smooth_zlpr_targets"},
    "ls_distill": {"distil_labels"},
    "mask_element": {"count_training_words", "search_element_keywords"},
}
TEACHERS = {
    ("ls_distill", "multi"): "bce",
    ("ls_distill", "single"): "ce",
    ("mask_element", "multi"): "bce",
    ("mask_element", "single"): "bce",
}


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_brings_what_makes_its_input_and_nothing_of_others(pipelines, task, loss):
    if task not in LOSSES[loss].tasks:
        return
    special = set().union(*SOURCES.values())
    names = short_names(pipelines[namespace(loss)])
    assert {name.split(".")[-1] for name in names} & special == SOURCES.get(loss, set())
    trained = {name.split(".")[0] for name in names if name.endswith(".train")}
    teacher = TEACHERS.get((loss, task))
    assert trained == {namespace(loss), *([namespace(teacher)] if teacher else [])}


def test_soft_zlpr_needs_keywords_only_where_it_is_smoothed_towards_them():
    pipeline = create_registry(soft_zlpr="keywords")["soft_zlpr_loss"]
    made = pipeline.only_nodes_with_outputs("soft_zlpr_loss_soft_targets")
    assert "kwls_loss_soft_targets" in made.inputs()
    assert {name.split(".")[-1] for name in short_names(pipeline)} >= SOURCES["kwls"]


def test_every_folder_of_pipelines_is_a_pipeline(pipelines):
    folders = {path.parent.name for path in (ROOT / "src/losslab/pipelines").glob("*/pipeline.py")}
    assert folders <= set(pipelines)
    assert len(folders) == 13


def test_stage_comes_with_its_upstream_and_ends_with_itself(pipelines, task):
    losses = losses_for_task(task)
    for stage, last in (("training", "scores"), ("evaluation", "metrics")):
        free = {name for name in pipelines[stage].inputs() if not name.startswith("params:")}
        assert free == {"raw_files", "failures", "checkpoints"}
        assert {f"{namespace(loss)}_{last}" for loss in losses} <= pipelines[stage].outputs()
    assert not [node for node in pipelines["training"].nodes if "evaluation" in node.tags]
    assert pipelines["reporting"] is pipelines["report"]


def test_supervision_needs_no_training_and_makes_all_soft_targets(pipelines):
    names = short_names(pipelines["supervision"])
    assert not [name for name in names if name.endswith(".train")]
    made = {name for name in pipelines["supervision"].datasets() if name.endswith("_soft_targets")}
    expected = ("kwls", "ls_tfidf", "ls_classic", "soft_zlpr")
    assert made == {f"{loss}_loss_soft_targets" for loss in expected}


def test_page_of_soft_labels_comes_with_kwls(pipelines):
    assert "soft_labels_page" in pipelines["kwls_loss"].outputs()


def test_cross_validation_reads_saved_folds_and_trains_nothing(pipelines):
    pipeline = pipelines["cross_validation"]
    free = {name for name in pipeline.inputs() if not name.startswith("params:")}
    assert free == {"fold_metrics", "provenance"}
    assert {"fold_comparison", "cross_validation_page"} <= pipeline.all_outputs()
    assert not pipeline.all_outputs() & pipelines["__default__"].datasets()


def test_sweep_reads_what_its_jobs_gave_and_trains_nothing(pipelines):
    pipeline = pipelines["sweep"]
    free = {name for name in pipeline.inputs() if not name.startswith("params:")}
    assert free == {"sweep_results", "provenance"}
    assert {"sweep_table", "sweep_figure", "sweep_page"} <= pipeline.all_outputs()
    assert not pipeline.all_outputs() & pipelines["__default__"].datasets()
