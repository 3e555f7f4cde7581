"""Every environment: it loads, its values are within bounds, and it says only what differs."""

import os
from pathlib import Path

import pytest
import yaml
from losslab.pipelines.prepare import nodes
from omegaconf import OmegaConf

from losslab.config_loader import CheckedConfigLoader
from losslab.data.download.fetch import Ways, fetch
from losslab.data.download.sources import SOURCES
from losslab.data.readers import READERS
from losslab.parameters import SplitSettings
from losslab.settings import CONFIG_LOADER_ARGS

CONF = Path(__file__).parents[1] / "conf"
ENVIRONMENTS = sorted(
    folder.name for folder in CONF.iterdir() if (folder / "globals.yml").is_file()
)
DATASETS = [name for name in ENVIRONMENTS if name not in ("base", "own")]
NEEDED = {"own": {"corpus": {"file": "my.csv"}}}


def loader(environment, **runtime):
    for name, resolver in CONFIG_LOADER_ARGS["custom_resolvers"].items():
        OmegaConf.register_new_resolver(name, resolver, replace=True)
    return CheckedConfigLoader(
        str(CONF), env=environment, runtime_params=runtime, **CONFIG_LOADER_ARGS
    )


def parameters(environment):
    return loader(environment, **NEEDED.get(environment, {}))["parameters"]


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


def test_every_dataset_with_a_reader_has_an_environment_and_a_source():
    assert set(DATASETS) == set(READERS) - {"csv", "jsonl"} == set(SOURCES)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_names_its_dataset_and_loads(environment):
    expected = "cwe" if environment == "base" else environment
    loaded = parameters(environment)
    assert loaded["dataset"] == expected
    assert loaded["reader"] == ("csv" if environment == "own" else None)
    assert loader(environment, **NEEDED.get(environment, {}))["catalog"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_an_environment_says_is_what_a_run_gets(environment):
    file = CONF / environment / "parameters.yml"
    if environment == "base" or not file.exists():
        return
    loaded = parameters(environment)
    for path, value in leaves(yaml.safe_load(file.read_text(encoding="utf-8"))):
        assert at(loaded, path) == value, path


@pytest.mark.parametrize("environment", DATASETS)
def test_every_figure_of_an_environment_has_a_reason_beside_it(environment):
    file = CONF / environment / "parameters.yml"
    if not file.exists():
        return
    explained: list[tuple[int, bool]] = []  # indent of each open block, and whether it has a reason
    for line in filter(str.strip, file.read_text(encoding="utf-8").splitlines()):
        indent = len(line) - len(line.lstrip())
        explained = [block for block in explained if block[0] < indent]
        explained.append((indent, "#" in line))
        if line.partition("#")[0].rstrip()[-1:].isdigit():
            assert any(reason for _, reason in explained), line


PAPERS = {
    "reuters": (6769, 1000, 3019, 90),
    "trec": (4978, 474, 500, 50),
    "sst5": (8544, 1101, 2210, 5),
    "goemotions": (43410, 5426, 5427, 28),
    "imdb": (18750, 6250, 25000, 2),
}
"""Train, validation and test documents and labels, by the papers."""
SAMPLES = ["aapd", "ag_news", "arxiv", "cmu_movie", "movie_posters", "squad", "toutiao", "wos"]


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
def test_the_corpora_at_hand_go_through_their_environments(tmp_path, dataset):
    folder = fetch(dataset, tmp_path, Ways(mirror=os.environ["LOSSLAB_MIRROR"]))
    given = parameters(dataset)
    _, account, documents = nodes.parse_corpus(folder, dataset, None, given["corpus"])
    rule = SplitSettings(
        **given["split"] | ({"validation": 0.1, "test": 0.1} if dataset in SAMPLES else {})
    )
    split, _ = nodes.split_documents(documents, account, dataset, 0.02, 1, rule, None)
    labels, targets = nodes.encode_targets(split, given["task"])
    assert targets.shape == (len(documents), len(labels))
    if dataset in PAPERS:
        sizes = split["split"].value_counts()
        found = (sizes["train"], sizes["validation"], sizes["test"], len(labels))
        assert found == PAPERS[dataset]
