"""Shared by all tests: a scratch copy of the project, and commands in it."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from kedro.framework.startup import bootstrap_project

# Started in the background, we would ignore Ctrl-C, and so would every command a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["HF_HUB_OFFLINE"] = "1"  # read when imported: an unknown encoder is not asked for

ROOT = Path(__file__).parents[1]
REAL_DATA = os.environ.get("LOSSLAB_MIRROR")
SLOW = {"kedro", "finished", "training", "browser"}
"""Fixtures that make a test slow: commands in processes of their own, a browser."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="runs with --long"))
        if "real_data" in item.keywords:
            item.add_marker(pytest.mark.slow)
            if not REAL_DATA:
                item.add_marker(pytest.mark.skip(reason="needs LOSSLAB_MIRROR, corpora"))
        if SLOW & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    slow_files = {item.path for item in items if "slow" in item.keywords}
    items.sort(key=lambda item: item.path not in slow_files)  # or one worker ends with them, alone


Kedro = Callable[..., subprocess.CompletedProcess[str]]
Invoke = Callable[..., Result]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "kedro", *words]


def environment(**extra: str) -> dict[str, str]:
    """The machine's environment without what would lead a run elsewhere."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MLFLOW_TRACKING_URI", "KEDRO_ENV")}
    return {**kept, "OMP_NUM_THREADS": "1", **extra}


def make_project(folder: Path) -> Path:
    """A project with our configuration and code, and no data; the corpus is the packaged one."""
    shutil.copytree(ROOT / "conf", folder / "conf")
    _shorten_probe(folder / "conf")
    (folder / "src").mkdir()
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, folder)
    return folder


def _shorten_probe(conf: Path) -> None:
    """Have base ask for the model of conf/test: its results are no variant, folders are short."""
    file = conf / "base/parameters_training.yml"
    base, tests = (
        yaml.safe_load(path.read_text()) for path in (file, conf / "test/parameters.yml")
    )
    base["recipes"]["probe"]["model"] |= tests["recipes"]["probe"]["model"]
    file.write_text(yaml.safe_dump(base, sort_keys=False))


@pytest.fixture(scope="session")
def mlflow_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow database; making one takes longer than a training of the tests."""
    from mlflow.tracking import MlflowClient

    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def project(tmp_path: Path, mlflow_store: Path) -> Path:
    """A project with a small corpus in place of the built-in one."""
    return make_small_project(tmp_path / "project", mlflow_store)


def make_small_project(folder: Path, mlflow_store: Path) -> Path:
    folder.mkdir()
    make_project(folder)
    shutil.copy(mlflow_store, folder)
    write_small_corpus(folder / "data/01_raw/cwe")
    return folder


def save_checkpoints(project: Path, *, seconds: float = 0) -> None:
    """Let trainings save a checkpoint at every evaluation, or after so many seconds."""
    catalog = project / "conf/base/catalog_06_models.yml"
    changed = catalog.read_text().replace("interval: 60", f"interval: {seconds}")
    assert changed != catalog.read_text()
    catalog.write_text(changed)


def write_small_corpus(folder: Path) -> None:
    """Sixty made-up weaknesses in the format of the built-in corpus."""
    things = {"memory": "Integrity", "secret": "Confidentiality", "lock": "Availability"}
    rows = [["CWE-ID", "Name", "Description", "Extended Description", "Common Consequences"]]
    for number in range(60):
        words = [word for bit, word in enumerate(things) if number >> bit & 1] or ["memory"]
        facts = "".join(f"::SCOPE:{things[word]}:IMPACT:Loss of {word}" for word in words)
        text = f"The {' and the '.join(words)} of part {number} is handled badly."
        rows.append([str(number), f"Fault {number}", text, "", f"{facts}::"])
    folder.mkdir(parents=True)
    write_csv(folder / "2000.csv", rows)


def write_csv(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def kedro(project: Path) -> Kedro:
    """Commands as a user types them, in a process of their own."""
    return runner_in(project)


def runner_in(project: Path) -> Kedro:
    def run(*words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words),
            cwd=project,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=1500,
        )

    return run


@pytest.fixture
def invoke(project: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Commands of the project in this process, where another one is not the point."""
    return invoker_in(project, monkeypatch)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What commands that run pipelines ask Kedro's own command for, instead of running it."""
    from losslab.cli import kedro_run

    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(kedro_run, "callback", lambda **options: calls.append(options))
    return calls


def invoker_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    from losslab.cli import cli

    for name in ("LOSSLAB_MIRROR", "KEDRO_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project}/mlflow.db")
    monkeypatch.chdir(project)
    bootstrap_project(project)
    return lambda *words: CliRunner().invoke(cli, words)


@pytest.fixture(scope="module")
def module_patch() -> Iterator[pytest.MonkeyPatch]:
    """``monkeypatch`` for what the tests of a file share."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def newest(folder: Path) -> Path:
    """The newest version of the dataset ``folder``."""
    return max(folder.iterdir()) / folder.name


def read_json(folder: Path) -> Any:
    """The newest version of a JSON dataset."""
    return json.loads(newest(folder).read_text(encoding="utf-8"))
