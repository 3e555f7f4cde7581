"""Documentation stays true to the code: generated pages, names, paths, links and commands."""

import importlib
import json
import re
import shlex
import sys
import tomllib
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from click.testing import CliRunner
from kedro.framework.startup import bootstrap_project

from losslab import cli
from losslab.baselines import METHODS
from losslab.config_loader import LosslabConfigLoader
from losslab.data.download.sources import SOURCES
from losslab.losses import LOSSES
from losslab.parameters import namespace
from losslab.pipeline_registry import create_registry
from losslab.settings import CONFIG_LOADER_ARGS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import choosing_docs  # noqa: E402
import data_docs  # noqa: E402
from loss_docs import PAGE, render  # noqa: E402

PIPELINES = ROOT / "src" / "losslab" / "pipelines"
STAGES = sorted(folder.parent.name for folder in PIPELINES.glob("*/pipeline.py"))
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *PIPELINES.glob("*/README.md"))
)
PRESENT = [page for page in PAGES if page != "CHANGELOG.md"]  # which tells of the past, too
PLACEHOLDER = re.compile(r"[<>*…{}]|\.\.\.")
FOLDERS = ("benchmarks", "conf", "docs", "notebooks", "src", "tests", "tools")
EXAMPLES = {"conf/datasets/tickets.yml"}  # files for a reader to write
every_page = pytest.mark.parametrize("page", PAGES)
every_present_page = pytest.mark.parametrize("page", PRESENT)


@cache
def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def code_spans(page):
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.DOTALL | re.MULTILINE)
    return [span for span in re.findall(r"`([^`]+)`", text) if not PLACEHOLDER.search(span)]


def test_the_page_on_losses_is_what_the_table_docstrings_and_contract_give():
    current = PAGE.read_text(encoding="utf-8")
    assert render(current) == current, "run: python tools/loss_docs.py"


def test_what_decides_is_argmax_for_losses_of_single_label_tasks():
    sections = re.split(r"^### `(\w+)`", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    decides = dict(zip(sections[1::2], sections[2::2], strict=True))
    for name, loss in LOSSES.items():
        (rule,) = re.findall(r"\*Decides by\* (.*)\.$", decides[name], flags=re.MULTILINE)
        assert (rule == "argmax") == (loss.tasks == ("single",))
        assert ("argmax" in rule) == ("single" in loss.tasks)


@every_page
def test_paragraphs_have_at_most_five_lines(page):
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.DOTALL | re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-|#]|\d+\.) ?)", text)
    long = [block.strip() for block in blocks if len(block.strip().splitlines()) > 5]
    assert not long


def test_the_page_has_a_measured_cost_for_every_loss_and_none_is_over_its_limit():
    cost = PAGE.read_text(encoding="utf-8").split("<!-- cost -->")[1]
    for name in LOSSES:
        advice = (
            f"run: python benchmarks/loss_cost.py --losses={name}; its row goes between the marks"
        )
        assert f"| {name} |" in " ".join(cost.split()), advice
    assert "over the limit" not in cost


def test_losses_of_a_new_family_are_on_the_page(monkeypatch):
    family = ModuleType("losslab.losses.tversky", "Tversky losses: false positives have a weight.")
    monkeypatch.setitem(sys.modules, family.__name__, family)
    facts = {
        "name": "dice1",
        "title": "Tversky",
        "__module__": family.__name__,
        "__doc__": "A loss.",
    }
    monkeypatch.setitem(LOSSES, "dice1", type("TverskyLoss", (LOSSES["dice1"],), facts))
    assert "## Tversky losses\n\nTversky losses: false positives" in render("")
    assert "### `dice1`: Tversky\n" in render("")
    family.__doc__ = "No title."
    with pytest.raises(ValueError, match=r"losslab\.losses\.tversky: begin its docstring with"):
        render("")


def test_a_source_without_a_reader_is_told(monkeypatch):
    monkeypatch.delitem(data_docs.READERS, "trec")
    with pytest.raises(
        ValueError, match=r"^trec .*: add it to READERS in src/losslab/data/readers"
    ):
        data_docs.render("")


def test_settings_of_a_reader_without_a_source_are_told(tmp_path):
    (tmp_path / "tickets.yml").write_text("reader: csv\n")
    (tmp_path / "variant.yml").write_text("reader: trec\n")
    data_docs.check_datasets(tmp_path)
    (tmp_path / "poems.yml").write_text("task: single\n")
    with pytest.raises(
        ValueError, match=r"^poems.yml: its reader 'poems' .*: add one to SOURCES in src"
    ):
        data_docs.check_datasets(tmp_path)


def test_the_page_on_data_is_what_the_sources_and_environments_give():
    current = data_docs.PAGE.read_text(encoding="utf-8")
    assert data_docs.render(current) == current, "run: python tools/data_docs.py"


SHARED = {"draw_search": "search", "tabulate_points": "search"}
"""Nodes whose function is from another pipeline's folder."""


@cache
def nodes_by_stage():
    """Names of nodes, without their namespaces, by the pipeline folder their function is from."""
    names = {stage: set() for stage in STAGES}
    registries = (create_registry(task) for task in ("multi", "single"))
    images = create_registry("multi", modality="image").values()
    pipelines = [*(p for registry in registries for p in registry.values()), *images]
    for node in {node for pipeline in pipelines for node in pipeline.nodes}:
        function = node.func.func if isinstance(node.func, partial) else node.func
        name = node.name.rpartition(".")[2]
        names[SHARED.get(name) or function.__module__.split(".")[2]].add(name)
    return names


@pytest.mark.parametrize("stage", STAGES)
def test_the_readme_of_a_pipeline_names_its_nodes_and_no_others(stage):
    steps = re.findall(
        r"^ *\d\. .*(?:\n   .*)*", read(f"src/losslab/pipelines/{stage}/README.md"), re.M
    )
    named = set(re.findall(r"`([a-z_]+)`", " ".join(steps)))
    known = set().union(*nodes_by_stage().values())
    assert named & known == nodes_by_stage()[stage]


def test_the_architecture_names_every_pipeline():
    methods = {namespace(name) for name in METHODS}
    missing = [
        name for name in create_registry() if f"`{name}`" not in read("docs/architecture.md")
    ]
    assert set(missing) == methods  # which it names as <loss>_loss and <baseline>_baseline


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


@cache
def anchors(file):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_present_page
def test_paths_exist(page):
    for span in code_spans(page):
        path, _, test = span.split()[-1].partition("::")
        if path.split("/")[0] in FOLDERS and "/" in path and path not in EXAMPLES:
            assert (ROOT / path).exists(), span
            assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), span


@every_present_page
def test_modules_and_their_attributes_exist(page):
    for span in code_spans(page):
        if re.fullmatch(r"losslab(\.\w+)+", span):
            assert resolves(span), span


def resolves(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return hasattr(importlib.import_module(module), attribute)
    return True


def commands(page):
    """Commands of blocks and spans, without comments."""
    blocks = "\n".join(re.findall(r"^```(?:console|bash).*?\n(.*?)^```", read(page), re.M | re.S))
    lines = [*blocks.splitlines(), *re.findall(r"`(kedro [^`]+)`", read(page))]
    parts = [part for line in lines for part in line.partition(" #")[0].split("&&")]
    return [part.strip() for part in parts if part.strip().startswith("kedro ")]


OWN = {"run", "explain", "cross-validate", "search", "sweep", "fetch", "prune", "predict", "export"}
SHOWN = sorted({command for page in PRESENT for command in commands(page)})
SHOWN = [shown for shown in SHOWN if not PLACEHOLDER.search(shown) and shown.split()[1] in OWN]


def check_parameters(options):
    """Of commands that take a model: dataset, recipe and ``--params`` as a run would see them."""
    assert cli._parameters({**options, "params": cli._with_sugar(options)})


@pytest.mark.slow
@pytest.mark.parametrize("shown", SHOWN)
def test_commands_that_are_shown_are_accepted(shown, tmp_path, monkeypatch):
    """Names, options and parameters are checked; nothing is run."""
    monkeypatch.chdir(ROOT)
    bootstrap_project(ROOT)  # as the command line does: the project's settings
    monkeypatch.setattr(cli.kedro_run, "callback", lambda **_: None)
    monkeypatch.setattr(cli, "_explain", cli._resolve_options)
    monkeypatch.setattr(cli, "_search", lambda options: [] if cli._parameters(options) else [""])
    monkeypatch.setattr(cli, "_predict", lambda *given: check_parameters(given[-1]))
    monkeypatch.setattr(cli, "_export", lambda *given: check_parameters(given[-1]))
    (tmp_path / "best.yml").write_text("bce_loss: {learning_rate: 0.01}\n")
    found = f"--params-file={tmp_path / 'best.yml'}"  # what a search writes
    _, command, *words = shlex.split(shown)
    words = [found if word.startswith("--params-file=") else word for word in words]
    if command in ("fetch", "prune"):
        context = cli.cli.commands[command].make_context(command, words)
        assert all(name in SOURCES for name in context.params.get("datasets", ()))
        return
    if command == "sweep":
        given = cli.cli.commands[command].make_context(command, words).params
        params = {"dataset": given["dataset"]} if given["dataset"] else {}
        options = {"runtime_params": params, **CONFIG_LOADER_ARGS}
        loader = LosslabConfigLoader(str(ROOT / "conf"), env="base", **options)
        assert given["name"] is None or given["name"] in loader.sweeps
        return
    done = CliRunner().invoke(cli.cli, [command, *words])
    assert done.exit_code == 0, done.output


def test_measured_results_of_the_guide_are_what_the_summaries_give():
    current = choosing_docs.PAGE.read_text(encoding="utf-8")
    assert choosing_docs.render(current) == current, "run: python tools/choosing_docs.py"


def test_every_figure_of_the_guide_stands_on_a_page_it_links():
    text = choosing_docs.MARKED.sub("", read("docs/choosing.md"))
    pages = {f"docs/{name}" for name in re.findall(r"\]\((\w+\.md)", text)}
    figures = set(re.findall(r"\d+\.\d+", text))
    assert figures
    assert not {each for each in figures if not any(each in read(page) for page in pages)}


def test_the_guide_takes_every_summary_of_a_run(tmp_path, monkeypatch):
    summary = json.loads((choosing_docs.DOCS / "results" / "cwe_probe.json").read_text())
    rows = {row["loss"]: row for row in summary["losses"]}
    rows["db"]["macro_f1"] |= {"value": 0.9, "p_holm": 0.0}
    rows["focal"]["macro_f1"] |= {"value": 0.1, "p_holm": 0.01}
    rows["asl"]["macro_f1"] |= {"value": 0.8, "p_holm": 0.2}
    rows["warp"] |= {"mark": "stopped"}
    monkeypatch.setattr(choosing_docs, "DOCS", tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/news.json").write_text(json.dumps(summary | {"dataset": "news"}))
    (tmp_path / "results/times.json").write_text("{}")
    page = choosing_docs.render("<!-- results -->\nan older page\n<!-- /results -->")
    assert "an older page" not in page
    assert "### news, recipe probe" in page
    assert page.index("| balanced | `db` | 0.900") < page.index("| asymmetric | `asl` | 0.800")
    assert "better than `bce` by macro-F1 (paired bootstrap, Holm): `db`." in page
    assert "`focal`" in re.search("worse: (.*)", page)[1]
    assert "`warp`" in re.search("not tested: (.*)", page)[1]
    with pytest.raises(ValueError, match="lacks the marks"):
        choosing_docs.render("")


def test_the_citation_is_of_this_version_and_licence():
    citation = yaml.safe_load(read("CITATION.cff"))
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert citation["cff-version"] == "1.2.0"
    assert all(citation[key] for key in ("message", "title", "authors"))
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
