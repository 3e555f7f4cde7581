"""A disk that is full or read-only: one line, and the same command goes on when there is room."""

import subprocess
from pathlib import Path

import pytest
from conftest import read_json

pytestmark = pytest.mark.slow
RUN = ("run", "--env=test", "--pipelines=db_loss")
METRICS = "data/08_reporting/cwe/probe/db_loss/metrics.json"


def mount(*words: str) -> bool:
    done = subprocess.run(["mount", *words], capture_output=True)  # noqa: S607
    return done.returncode == 0


@pytest.fixture
def disk(project: Path):
    """The project's features on a disk of their own; its options can be changed."""
    folder = project / "data/04_feature"
    folder.mkdir(parents=True)
    if not mount("-t", "tmpfs", "-o", "size=64k", "losslab", str(folder)):
        pytest.skip("needs the right to mount a tmpfs")
    yield lambda options: mount("-o", f"remount,{options}", str(folder))
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


@pytest.mark.parametrize(
    ("broken", "mended", "reason"),
    [
        ("size=64k", "size=64m", "No space left on device"),
        ("ro", "rw,size=64m", "Read-only file system"),
    ],
    ids=["full", "read-only"],
)
def test_run_ends_with_one_line_and_goes_on_later(project, invoke, disk, broken, mended, reason):
    assert disk(broken)
    done = invoke(*RUN)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert reason in done.stderr.strip().splitlines()[-1]
    assert not (project / METRICS).exists()
    assert disk(mended)
    done = invoke(*RUN)
    assert done.exit_code == 0, done.output
    assert 0 <= read_json(project / METRICS)["mean"]["macro_f1"] <= 1
    assert not list(project.glob("data/**/*.part"))
