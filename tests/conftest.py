"""Shared by all tests: a scratch copy of the project to run commands in."""

import csv
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Started in the background, we would ignore Ctrl-C, and so would every command a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
REAL_DATA = os.environ.get("LOSSLAB_MIRROR")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="runs with --long"))
        if "real_data" in item.keywords and not REAL_DATA:
            item.add_marker(pytest.mark.skip(reason="needs LOSSLAB_MIRROR, a folder of corpora"))


Kedro = Callable[..., subprocess.CompletedProcess]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "kedro", *words]


def environment(**extra: str) -> dict[str, str]:
    """The machine's environment without what would lead a run elsewhere."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MLFLOW_TRACKING_URI", "KEDRO_ENV")}
    return {**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **extra}


def make_project(folder: Path) -> Path:
    """A project with our configuration and code, and no data; the corpus is the packaged one."""
    shutil.copytree(ROOT / "conf", folder / "conf")
    (folder / "src").mkdir()
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    make_project(folder)
    write_small_corpus(folder / "data/01_raw/cwe")
    return folder


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
    with (folder / "2000.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def kedro(project: Path) -> Kedro:
    return runner_in(project)


def runner_in(project: Path) -> Kedro:
    def run(*words: str, **extra: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            command(*words),
            cwd=project,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=1500,
        )

    return run
