"""A disk that is full or cannot be written: one line, and the same command goes on later."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import command, environment, read_json

pytestmark = pytest.mark.slow
RUN = ("run", "--env=test", "--pipelines=db_loss")
SIDE_BY_SIDE = ("run", "--env=test", "--losses=bce,db", "--workers=2")
METRICS = "data/08_reporting/cwe/probe/db_loss/metrics.json"
LAYERS = ("04_feature", "06_models", "07_model_output", "08_reporting")
FULL = ("size=4k", "No space left on device")
READ_ONLY = ("ro", "Read-only file system")


def mount(*words: str) -> bool:
    done = subprocess.run(["mount", *words], capture_output=True)  # noqa: S607
    return done.returncode == 0


@pytest.fixture
def disk(project: Path, request):
    """A layer of the project's data on a disk of its own; its options can be changed."""
    folder = project / "data" / request.param
    folder.mkdir(parents=True)
    if not mount("-t", "tmpfs", "-o", "size=4k", "losslab", str(folder)):
        pytest.skip("needs the right to mount a tmpfs")
    yield lambda options: mount("-o", f"remount,{options}", str(folder))
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


@pytest.mark.parametrize(
    ("disk", "broken", "reason"),
    [*((layer, *FULL) for layer in LAYERS), ("04_feature", *READ_ONLY)],
    indirect=["disk"],
)
def test_run_ends_with_one_line_and_goes_on_later(project, invoke, disk, broken, reason):
    assert disk(broken)
    done = invoke(*RUN)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert reason in done.stderr.strip().splitlines()[-1]
    assert not list(project.glob(f"{METRICS}/*/manifest.json"))
    assert disk("rw,size=64m")
    done = invoke(*RUN)
    assert done.exit_code == 0, done.output
    assert_complete(project)


@pytest.mark.long
@pytest.mark.parametrize("disk", ["06_models"], indirect=True)
def test_full_disk_of_workers_ends_the_run_with_one_line(project, kedro, disk):
    done = kedro(*SIDE_BY_SIDE)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert FULL[1] in done.stderr.strip().splitlines()[-1]
    assert disk("size=64m")
    assert kedro(*SIDE_BY_SIDE).returncode == 0
    assert_complete(project)


def test_folder_without_write_permission_is_told_in_one_line(project, kedro):
    folder = project / "data/04_feature"
    folder.mkdir(mode=0o500, parents=True)
    words = [*as_a_user(), *command(*RUN)]
    done = subprocess.run(words, cwd=project, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert str(folder) in last
    assert "Permission denied" in last
    folder.chmod(0o700)
    assert kedro(*RUN).returncode == 0
    assert_complete(project)


def as_a_user() -> list[str]:
    """What to put before a command so that permissions hold for it, even as root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("permissions do not hold for root, and there is no setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def assert_complete(project: Path) -> None:
    assert 0 <= read_json(project / METRICS)["mean"]["macro_f1"] <= 1
    assert not list(project.glob("data/**/*.part"))
