"""Configuration: every dataset loads and says only what differs, layers, folders of variants."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path, PurePosixPath

import click
import pytest
import yaml
from conftest import ROOT
from kedro.io import DataCatalog

from losslab.config_loader import LosslabConfigLoader
from losslab.data.download.fetch import FetchOptions, fetch
from losslab.data.download.sources import SOURCES
from losslab.data.readers import READERS
from losslab.losses import LOSSES
from losslab.parameters import SplitSettings
from losslab.pipelines.data import nodes
from losslab.settings import CONFIG_LOADER_ARGS

CONF = ROOT / "conf"
DATASETS = sorted(path.stem for path in (CONF / "datasets").glob("*.yml"))
PUBLIC = [name for name in DATASETS if name != "own"]
NEEDED = {"own": {"corpus": {"file": "my.csv"}}}


def loader(dataset="cwe", *, conf=CONF, env="local", **runtime):
    needed = NEEDED.get(dataset, {})
    return LosslabConfigLoader(
        str(conf),
        env=env,
        runtime_params={"dataset": dataset, **needed, **runtime},
        **CONFIG_LOADER_ARGS,
    )


def parameters(*args, **options):
    return loader(*args, **options)["parameters"]


def test_report_links_the_page_of_soft_labels_where_the_catalog_keeps_it():
    catalog = DataCatalog.from_config({**loader()["catalog"]}, save_version="now")
    template = ROOT / "src/losslab/reporting/template/corpus.html.j2"
    (link,) = re.findall(r'href="([^"]+)"', template.read_text())
    report, page = (catalog[name].latest for name in ("report_page", "soft_labels_page"))
    assert report.name == "latest.html"  # figures.js knows this name, and where versions lie
    assert os.path.normpath(report.parent / link) == str(page)
    versioned = report.parent / "report.html/now/report.html"
    assert catalog["report_page"]._get_save_path() == PurePosixPath(versioned)
    assert os.path.normpath(versioned.parent / "../.." / link) == str(page)


def leaves(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def at(tree, path):
    for name in path:
        tree = tree[name]
    return tree


def settings_of(dataset):
    """What the dataset's file sets."""
    text = (CONF / "datasets" / f"{dataset}.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text) or {}


def test_every_dataset_with_a_reader_has_a_file_and_a_source():
    assert set(PUBLIC) == set(READERS) - {"own", "csv", "jsonl"} == set(SOURCES)


@pytest.mark.parametrize("dataset", DATASETS)
def test_dataset_loads_with_a_catalog_in_its_folder(dataset):
    chosen = loader(dataset)
    loaded = chosen["parameters"]
    assert loaded["dataset"] == dataset
    assert loaded["reader"] == ("own" if dataset == "own" else None)
    folder = "own-my" if dataset == "own" else dataset
    assert chosen["catalog"]["splits"]["filepath"] == f"data/03_primary/{folder}/splits.parquet"


@pytest.mark.parametrize("dataset", DATASETS)
def test_what_a_datasets_file_says_is_what_a_run_gets(dataset):
    said = settings_of(dataset)
    for name, sweep in said.pop("sweeps", {}).items():
        assert at(parameters(dataset, sweep=name), ("sweep", "title")) == sweep["title"]
    first = said.pop("recipe", "probe")
    assert loader(dataset).recipe == first
    loaded = {name: parameters(dataset, recipe=name) for name in (first, *said.get("recipes", ()))}
    for path, value in leaves(said):
        if path[0] == "recipes":
            found = at(loaded[path[1]], ("recipe", *path[2:]))
        elif path[0].removesuffix("_loss") in LOSSES:
            found = at(loaded[first], (path[0], "options", *path[1:]))
        else:
            found = at(loaded[first], path)
        assert (list(found) if isinstance(found, tuple) else found) == value, path


@pytest.mark.parametrize(
    ("dataset", "metric", "rule"),
    [
        ("reuters", "micro_f1", "tuned"),
        ("pubmed", "micro_f1", "tuned"),
        ("aapd", "micro_f1", "own"),
        ("trec", "subset_accuracy", "tuned"),
        ("sst5", "subset_accuracy", "tuned"),
        ("wos", "subset_accuracy", "tuned"),
        ("cwe", "macro_f1", "tuned"),
    ],
)
def test_best_epoch_is_selected_as_in_the_datasets_paper(dataset, metric, rule):
    loaded = parameters(dataset)
    assert (loaded["select_by"], loaded["validation_rule"]) == (metric, rule)


@pytest.mark.parametrize("dataset", PUBLIC)
def test_every_number_of_a_datasets_file_has_a_reason_beside_it(dataset):
    file = CONF / "datasets" / f"{dataset}.yml"
    explained: list[tuple[int, bool]] = []  # indent of each open block, and whether it has a reason
    for line in filter(str.strip, file.read_text(encoding="utf-8").splitlines()):
        indent = len(line) - len(line.lstrip())
        explained = [block for block in explained if block[0] < indent]
        explained.append((indent, "#" in line))
        if line.partition("#")[0].rstrip()[-1:].isdigit():
            assert any(reason for _, reason in explained), line


@pytest.fixture
def conf(tmp_path) -> Path:
    """A copy of the configuration, to be changed."""
    return Path(shutil.copytree(CONF, tmp_path / "conf"))


def write(conf: Path, **files: str) -> None:
    """Write files named ``<folder>__<stem>``."""
    for name, text in files.items():
        (conf / name.replace("__", "/")).with_suffix(".yml").write_text(text)


def test_layers_are_base_dataset_environment_params(conf):
    frequency = "min_label_frequency: {}\n"
    assert parameters(conf=conf)["min_label_frequency"] == 1
    write(conf, datasets__cwe=frequency.format(2))
    assert parameters(conf=conf)["min_label_frequency"] == 2
    write(conf, local__parameters=frequency.format(3))
    assert parameters(conf=conf)["min_label_frequency"] == 3
    assert parameters(conf=conf, env="test")["min_label_frequency"] == 2
    assert parameters(conf=conf, min_label_frequency=4)["min_label_frequency"] == 4


def test_choosing_a_dataset_keeps_the_local_environment(conf):
    write(conf, local__parameters="num_seeds: 7\n")
    assert parameters("trec", conf=conf)["num_seeds"] == 7
    assert parameters("trec", conf=conf)["task"] == "single"


def test_layer_that_sets_one_field_leaves_the_others(conf):
    write(conf, local__parameters="recipes: {probe: {training: {epochs: 9}}}\n")
    training = parameters("reuters", conf=conf)["recipe"]["training"]
    assert (training["epochs"], training["batch_size"], training["patience"]) == (9, 64, 30)


def test_choices_of_globals_are_taken_where_the_command_names_none(conf):
    write(conf, base__globals="dataset: trec\nrecipe: lstm\n")
    chosen = LosslabConfigLoader(str(conf), runtime_params={}, **CONFIG_LOADER_ARGS)
    loaded = chosen["parameters"]
    assert (loaded["dataset"], loaded["recipe"]["name"]) == ("trec", "lstm")
    assert "trec/lstm" in chosen["catalog"]["features"]["filepath"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        *((file, "dataset") for file in ("base__parameters", "datasets__cwe", "local__parameters")),
        *((file, "recipe") for file in ("base__parameters", "local__parameters")),
    ],
)
def test_choice_in_a_parameters_file_is_refused(conf, file, name):
    write(conf, **{file: f"{name}: trec\n"})
    message = f"'{name}' stands in a parameters file; set it in globals.yml or by --{name}"
    with pytest.raises(click.ClickException, match=message):
        parameters(conf=conf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "reters"}, "unknown dataset 'reters'; did you mean 'reuters'"),
        ({"recipe": "prob"}, "unknown recipe 'prob'; did you mean 'probe'"),
        ({"losses": ["bcee"]}, "unknown loss 'bcee'; did you mean 'bce'"),
        ({"losses": ["bce", "ce"]}, "losses: ce does not fit multi-label data"),
        ({"env": "tset"}, "unknown environment 'tset'; did you mean 'test'"),
        ({"env": "reuters"}, "'reuters' is a dataset, not an environment: --dataset=reuters"),
        ({"env": "datasets"}, "unknown environment 'datasets'"),
    ],
    ids=str,
)
def test_unknown_choice_is_named_with_the_nearest_one(options, message):
    with pytest.raises(click.ClickException, match=message):
        parameters(**options)


def test_recipe_is_added_in_conf_alone(conf):
    long = "recipes: {long: {extends: minilm, model: {max_length: 512}, training: {epochs: 3}}}\n"
    write(conf, local__parameters_training=long)
    recipe = parameters(conf=conf, recipe="long")["recipe"]
    base = parameters(recipe="minilm")["recipe"]
    assert recipe["name"] == "long"
    assert recipe["model"] == {**base["model"], "max_length": 512}
    assert recipe["training"] == {**base["training"], "epochs": 3}


def test_dataset_may_name_its_recipe_and_the_command_line_comes_after(conf):
    write(conf, datasets__tickets="reader: csv\ncorpus: {file: my.csv}\nrecipe: lstm\n")
    assert loader("tickets", conf=conf)["parameters"]["recipe"]["name"] == "lstm"
    assert loader("tickets", conf=conf).recipe_folder == "lstm"
    assert loader("tickets", conf=conf, recipe="textcnn").recipe == "textcnn"
    assert loader("cwe", conf=conf).recipe == "probe"


def test_posters_are_images_and_their_titles_texts():
    posters = loader("movie_posters")
    assert (posters.recipe, posters.checked_parameters["modality"]) == ("image_probe", "image")
    assert posters.embeddings_folder == "embeddings-efficientnet_lite0-160x112"
    assert loader("movie_posters", recipe="cnn").embeddings_folder == "embeddings-none"
    titles = loader("movie_posters", recipe="probe", corpus={"image": False})
    assert titles.checked_parameters["modality"] == "text"
    assert titles.dataset_folder == "movie_posters-image=False"


SEARCH = ("max_documents", "max_words")


@pytest.mark.parametrize("dataset", ["cwe", "reuters", "aapd", "wos"])
def test_bert_searches_element_keywords_everywhere_and_no_other_setting_changes(dataset):
    probe, bert = (parameters(dataset, recipe=name) for name in ("probe", "bert"))
    assert [bert["element_keywords"][name] for name in SEARCH] == [None, None]
    assert None not in [probe["element_keywords"][name] for name in SEARCH]
    capped = {name: probe["element_keywords"][name] for name in SEARCH}
    bert["element_keywords"].update(capped)
    of_model = {"recipe", "features", "frozen_encoder"}
    assert {name for name in probe if probe[name] != bert[name]} == of_model
    assert "overrides" not in bert["recipe"]


def test_overrides_of_a_recipe_stand_between_files_and_params(conf):
    mine = "recipes: {mine: {extends: bert, overrides: {element_keywords: {max_words: 7}}}}\n"
    write(conf, local__parameters=f"{mine}element_keywords: {{max_documents: 9, max_words: 9}}\n")

    def search(**options):
        return [parameters(conf=conf, **options)["element_keywords"][name] for name in SEARCH]

    assert search(recipe="mine") == [None, 7]
    assert search(recipe="mine", element_keywords={"max_words": 3}) == [None, 3]
    assert search(recipe="probe") == [9, 9]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"split": {"seed": 1}}, "parameter 'recipes.{}.overrides': split is not a recipe's to"),
        ({"sede": 1}, "unknown parameter 'sede'; did you mean 'seed'"),
        ({"element_keywords": {"max_wrods": 1}}, "did you mean 'element_keywords.max_words'"),
        (3, "parameter 'recipes.{}.overrides': .* got 3"),
    ],
    ids=str,
)
@pytest.mark.parametrize("recipe", ["probe", "minilm"])
def test_mistake_in_overrides_is_named_of_any_recipe(overrides, message, recipe):
    with pytest.raises(click.ClickException, match=message.format(recipe)):
        parameters(recipes={recipe: {"overrides": overrides}})


@pytest.mark.parametrize(
    ("changes", "corpus", "embeddings"),
    [
        ({}, "cmu_movie", "embeddings-minilm-mean-256-head"),
        ({"recipe": "hybrid"}, "cmu_movie", "embeddings-minilm-mean-256-head"),
        ({"recipe": "minilm"}, "cmu_movie", "embeddings-none"),
        (
            {"split": {"folds": 4}, "undersample": {"ratio": 10}, "min_label_frequency": 5},
            "cmu_movie",
            "embeddings-minilm-mean-256-head",
        ),
        (
            {"corpus": {"part": "title"}, "recipes": {"probe": {"model": {"max_length": 64}}}},
            "cmu_movie-part=title",
            "embeddings-minilm-mean-64-head",
        ),
    ],
    ids=str,
)
def test_documents_and_embeddings_have_folders_that_splits_share(changes, corpus, embeddings):
    chosen = loader("cmu_movie", **changes)
    assert (chosen.corpus_folder, chosen.embeddings_folder) == (corpus, embeddings)


def folders(*args, **options) -> tuple[str, str]:
    chosen = loader(*args, **options)
    return chosen.dataset_folder, chosen.recipe_folder


@pytest.mark.parametrize(
    ("dataset", "changes", "expected"),
    [
        ("cmu_movie", {"corpus": {"part": "title"}}, ("cmu_movie-part=title", "probe")),
        ("cmu_movie", {"corpus": {"part": "abstract"}}, ("cmu_movie", "probe")),
        ("cwe", {"min_label_frequency": 5}, ("cwe-min_label_frequency=5", "probe")),
        ("cwe", {"split": {"folds": 4, "fold": 2}}, ("cwe-folds=4/fold=2", "probe")),
        ("cwe", {"split": {"folds": 4, "seed": 3}}, ("cwe-split.seed=3-folds=4/fold=1", "probe")),
        (
            "cmu_movie",
            {"corpus": {"part": "title"}, "split": {"folds": 4, "fold": 3}},
            ("cmu_movie-part=title-folds=4/fold=3", "probe"),
        ),
        ("cwe", {"undersample": {"ratio": 10}}, ("cwe-undersample.ratio=10", "probe")),
        ("cwe", {"seed": 4, "num_seeds": 2, "losses": ["db"]}, ("cwe", "probe")),
        (
            "cwe",
            {"recipes": {"probe": {"model": {"hidden_dim": 0}}}},
            ("cwe", "probe-hidden_dim=0"),
        ),
        ("cwe", {"recipes": {"probe": {"model": {"hidden_dim": 256}}}}, ("cwe", "probe")),
        (
            "cwe",
            {"recipe": "lstm", "recipes": {"lstm": {"model": {"bidirectional": False}}}},
            ("cwe", "lstm-bidirectional=False"),
        ),
        ("cwe", {"recipe": "roberta"}, ("cwe", "roberta")),
        (
            "goemotions",
            {"corpus": {"annotations": "ratings"}},
            ("goemotions-annotations=ratings", "probe"),
        ),
        ("cwe", {"recipes": {"probe": {"training": {"epochs": 1}}}}, ("cwe", "probe")),
        ("own", {"corpus": {"file": "cwe.csv"}}, ("own-cwe", "probe")),
    ],
    ids=str,
)
def test_variant_has_folders_of_its_own(dataset, changes, expected):
    assert folders(dataset, **changes) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "hybrid"),
        ({"tfidf": {"min_df": 3}}, "hybrid-tfidf.min_df=3"),
        ({"tfidf": {"max_features": 3}}, "hybrid"),  # the recipe sets its own
        ({"recipes": {"hybrid": {"model": {"tfidf": {"min_df": 3}}}}}, "hybrid-tfidf.min_df=3"),
        ({"recipes": {"probe": {"model": {"max_length": 64}}}}, "hybrid-max_length=64"),
        ({"recipes": {"probe": {"training": {"epochs": 3}}}}, "hybrid"),
    ],
    ids=str,
)
@pytest.mark.parametrize("dataset", ["cwe", "trec"])
def test_hybrid_on_other_words_is_a_variant(dataset, changes, expected):
    assert folders(dataset, recipe="hybrid", **changes)[1] == expected


def test_tf_idf_of_a_dataset_is_what_a_hybrid_reads():
    assert parameters("trec", recipe="hybrid")["recipe"]["model"]["tfidf"]["stop_words"] is None
    assert parameters("cwe", recipe="hybrid")["recipe"]["model"]["tfidf"]["stop_words"] == "english"


@pytest.mark.parametrize("layer", ["base", "local"])
@pytest.mark.parametrize(
    ("recipes", "expected"),
    [
        ({}, "mine"),
        ({"mine": {"model": {"max_length": 256}}}, "mine"),
        ({"mine": {"model": {"max_length": 64}}}, "mine-max_length=64"),
        ({"probe": {"model": {"max_length": 64}}}, "mine-max_length=64"),
        ({"minilm": {"model": {"max_length": 64}}}, "mine"),
        (
            {"mine": {"extends": "minilm"}},
            "mine-kind=transformer-attention_dropout=0.0",
        ),
    ],
    ids=str,
)
def test_recipe_that_extends_another_is_a_variant_if_its_whole_model_differs(
    conf, layer, recipes, expected
):
    add_recipe(conf, layer)
    assert folders(conf=conf, recipe="mine", recipes=recipes)[1] == expected


def add_recipe(conf, layer):
    """Add the recipe ``mine``, which extends the probe."""
    file = conf / layer / "parameters_training.yml"
    written = file.read_text() if file.is_file() else "recipes:\n"
    file.write_text(f"{written}  mine: {{extends: probe}}\n")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("corpus: {part: title}", ("cmu_movie-part=title", "probe")),
        ("corpus: {part: abstract}", ("cmu_movie", "probe")),
        ("recipes: {probe: {model: {max_length: 64}}}", ("cmu_movie", "probe-max_length=64")),
        ("recipes: {probe: {training: {epochs: 1}}}", ("cmu_movie", "probe")),
    ],
)
def test_environment_that_changes_data_or_model_is_a_variant(conf, setting, expected):
    write(conf, local__parameters=f"{setting}\n")
    assert folders("cmu_movie", conf=conf) == expected


def test_short_settings_of_the_tests_do_not_take_the_folders_of_real_results():
    assert folders(env="test") == ("cwe", "probe-max_length=16-hidden_dim=32")


def test_what_a_datasets_file_says_is_no_variant(conf):
    write(conf, datasets__short="reader: cwe\nrecipes: {probe: {model: {max_length: 64}}}\n")
    assert folders("short", conf=conf) == ("short", "probe")


def test_value_of_the_file_in_place_of_the_environments_is_no_variant(conf):
    write(conf, local__parameters="min_label_frequency: 5\n")
    assert folders(conf=conf)[0] == "cwe-min_label_frequency=5"
    assert folders(conf=conf, min_label_frequency=1)[0] == "cwe"


def test_option_at_the_readers_default_is_no_variant():
    assert folders("simulated", corpus={"documents": 10})[0] == "simulated-documents=10"
    default = READERS["simulated"].__kwdefaults__["documents"]
    assert folders("simulated", corpus={"documents": default})[0] == "simulated"


def test_raw_files_are_shared_by_the_variants_of_a_dataset_and_by_datasets_of_a_reader(conf):
    write(conf, datasets__rare="reader: cwe\nmin_label_frequency: 5\n")
    assert loader("rare", conf=conf)["catalog"]["raw_files"]["filepath"] == "data/01_raw/cwe"
    variant = loader("cmu_movie", corpus={"part": "title"})["catalog"]
    assert variant["raw_files"]["filepath"] == "data/01_raw/cmu_movie"
    assert loader("own")["catalog"]["raw_files"]["filepath"] == "data/01_raw/own"


UNSPLIT = {"documents", "rejected_rows", "corpus_notes", "embeddings", "candidates", "questions"}
"""Datasets that do not depend on how a corpus is split."""


def test_folds_have_folders_of_their_own_in_every_layer_below_that_of_the_cross_validation():
    first, second = (loader("cwe", split={"folds": 4, "fold": fold})["catalog"] for fold in (1, 2))
    ordinary = loader("cwe")["catalog"]
    shared = {"raw_files", "reports", "corpora", "paper_tables", "dataset_comparison", "provenance"}
    shared |= {"texts"}  # to be labelled
    joint = {name for name in first if "fold_" in name or name.startswith("cross_validation_")}
    for name, entry in first.items():
        path = str(entry.get("filepath", ""))
        if name in UNSPLIT:
            assert path == ordinary[name]["filepath"]
        if name in {*shared, *UNSPLIT} or not path:
            continue
        assert path != ordinary[name]["filepath"], name
        assert "/cwe-folds=4/" in path
        if name not in joint:
            assert "/cwe-folds=4/fold=1" in path
            assert second[name]["filepath"] == path.replace("/fold=1", "/fold=2")
    assert first["fold_comparison"]["filepath"] == second["fold_comparison"]["filepath"]


def test_folds_that_a_file_asks_for_have_folders_of_their_own_too(conf):
    write(conf, datasets__folded="reader: cwe\nsplit: {folds: 3}\n")
    assert folders("folded", conf=conf)[0] == "folded-folds=3/fold=1"


@pytest.mark.parametrize("place", ["datasets__reuters", "local__parameters_data"])
def test_own_data_cannot_take_the_folders_of_a_built_in_corpus(conf, place):
    write(conf, **{place: "reader: csv\ncorpus: {file: my.csv}\n"})
    with pytest.raises(click.ClickException, match="'reuters' is a built-in corpus and reader csv"):
        parameters("reuters", conf=conf)


def test_own_data_in_place_of_a_built_in_corpus_are_a_variant_of_it():
    changes = {"reader": "csv", "corpus": {"file": "my.csv"}}
    assert folders("cwe", **changes)[0] == "cwe-reader=csv-my"


def test_dataset_cannot_be_named_like_a_variant_of_another(conf):
    write(conf, **{"datasets__own-my": "reader: csv\ncorpus: {file: a.csv}\n"})
    with pytest.raises(click.ClickException, match=r"variant of 'own': rename .*own-my.yml"):
        parameters("own-my", conf=conf)


@pytest.mark.parametrize("name", ["../cwe", "a/b", "probe-x", "..", "", "a b"])
def test_recipes_name_is_that_of_a_folder(name):
    with pytest.raises(click.ClickException, match="a name has letters, digits and underscores"):
        parameters(recipes={name: {"extends": "probe"}})


@pytest.mark.parametrize("name", ["../reuters", "/etc/x", "..", "cwe/../trec"])
def test_dataset_is_no_path(name):
    with pytest.raises(click.ClickException, match="unknown dataset"):
        parameters(name)


def test_loaders_of_one_process_resolve_folders_of_their_own():
    first, second = loader("cwe"), loader("trec")
    assert "/trec/" in second["catalog"]["splits"]["filepath"]
    assert "/cwe/" in first["catalog"]["splits"]["filepath"]


def test_nothing_deprecated_is_called_by_the_loader():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loader()["catalog"]
    ours = str(ROOT / "src")  # not what is installed in a folder of the same name
    assert not [str(each.message) for each in caught if each.filename.startswith(ours)]


@pytest.mark.slow
def test_settings_silence_what_others_cause_and_nothing_else():
    code = (
        "import losslab.settings, warnings; warnings.warn('register_new_resolver() is deprecated')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "predict" not in done.stderr
    assert done.stderr.count("Warning") == 1


def test_catalog_of_a_variant_can_be_built(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    catalog = DataCatalog.from_config(loader("cmu_movie", corpus={"part": "title"})["catalog"])
    path = catalog.get("db_loss_metrics")._filepath.as_posix()
    assert path.endswith("data/08_reporting/cmu_movie-part=title/probe/db_loss/metrics.json")


PAPERS = {
    "reuters": (6769, 1000, 3019, 90),
    "trec": (4978, 474, 500, 50),
    "sst5": (8544, 1101, 2210, 5),
    "goemotions": (43410, 5426, 5427, 28),
    "imdb": (18750, 6250, 25000, 2),
}
"""Train, validation and test documents and labels, by the papers."""
SAMPLES = ["aapd", "ag_news", "arxiv", "cmu_movie", "movie_posters", "toutiao", "wos"]


@pytest.mark.real_data
@pytest.mark.parametrize(
    "dataset",
    [
        "reuters",
        "trec",
        "sst5",
        "goemotions",
        "hoc",
        *SAMPLES,
        pytest.param("imdb", marks=pytest.mark.long),
    ],
)
def test_the_corpora_at_hand_go_through_their_settings(tmp_path, dataset):
    folder = fetch(dataset, tmp_path, FetchOptions(mirror=os.environ["LOSSLAB_MIRROR"]))
    given = parameters(dataset)
    _, notes, documents = nodes.parse_corpus(folder, dataset, None, given["corpus"])
    settings = SplitSettings(
        **given["split"] | ({"validation": 0.1, "test": 0.1} if dataset in SAMPLES else {})
    )
    splits, _ = nodes.split_documents(documents, notes, 0.02, 1, settings, None)
    labels, label_matrix = nodes.encode_label_sets(splits, given["task"])
    assert label_matrix.shape == (len(documents), len(labels))
    if dataset in PAPERS:
        sizes = splits["split"].value_counts()
        found = (sizes["train"], sizes["validation"], sizes["test"], len(labels))
        assert found == PAPERS[dataset]
