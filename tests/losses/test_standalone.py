"""The losses work where nothing but torch is installed."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # processes of their own

ROOT = Path(__file__).parents[2]
TRAIN = """
import torch
from losslab.losses import DistributionBalancedLoss, FocalLoss, LabelStatistics, ZLPRLoss

torch.manual_seed(0)
features = torch.randn(64, 8)
targets = (features[:, :4] > 0.5).float()
statistics = LabelStatistics.from_targets(targets)
for loss in (FocalLoss(), DistributionBalancedLoss(statistics), ZLPRLoss()):
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    values = []
    for _ in range(60):
        values.append(loss(model(features), targets))
        optimizer.zero_grad()
        values[-1].backward()
        optimizer.step()
    assert values[-1] < values[0] / 2, (loss, values[0], values[-1])
    print("trained with", loss.name)
"""
BLOCK = """
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

ALLOWED = sys.stdlib_module_names | set({allowed!r})

class AllowedFinder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top, _, below = name.partition(".")
        platform_data = top.startswith("_sysconfigdata")  # the standard library's
        of_losses = top != "losslab" or below.partition(".")[0] in ("", "losses")
        known = platform_data or (top in ALLOWED and of_losses)
        return super().find_spec(name, path, target) if known else None

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, AllowedFinder]
"""
TRAINED = ["trained with focal", "trained with db", "trained with zlpr"]


def modules_of(distribution: str, seen: set[str]) -> set[str]:
    """The top-level modules of an installed distribution and of all it requires."""
    name = re.split(r"[^\w.-]", distribution, maxsplit=1)[0].lower().replace("_", "-")
    if name in seen or "extra ==" in distribution:
        return set()
    seen.add(name)
    own = {
        module
        for module, owners in packages_distributions().items()
        if name in (owner.lower().replace("_", "-") for owner in owners)
    }
    required = requires(name) if own else None
    return own.union(*(modules_of(each, seen) for each in required or ()))


def run(python: Path | str, script: str, **environment: str) -> list[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    finished = subprocess.run(
        [python, "-c", script],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def test_losses_train_where_only_torch_can_be_imported():
    allowed = modules_of("torch", set()) | {"losslab"}
    assert not {"numpy", "pandas", "kedro", "pydantic"} & allowed
    script = BLOCK.format(allowed=sorted(allowed)) + TRAIN
    assert run(sys.executable, script, PYTHONPATH=str(ROOT / "src")) == TRAINED


@pytest.mark.parametrize("blocked", ["numpy", "pydantic", "losslab.parameters"])
def test_the_block_keeps_others_out(blocked):
    allowed = sorted(modules_of("torch", set()) | {"losslab"})
    script = f"{BLOCK.format(allowed=allowed)}\ntry:\n    import {blocked}\n" + (
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    (told,) = run(sys.executable, script, PYTHONPATH=str(ROOT / "src"))
    assert told == f"No module named {blocked!r}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """What ``pip install losslab`` installs."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    unwanted = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", source / "src", ignore=unwanted)
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    build = [sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", source, source]
    subprocess.run(build, check=True)
    return next(source.glob("losslab-*.whl"))


@pytest.fixture
def python(tmp_path, wheel) -> Path:
    """A new environment with the wheel, and the present torch in place of a downloaded one."""
    folder = tmp_path / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", wheel], check=True)
    present, shown = Path(sysconfig.get_paths()["purelib"]), tmp_path / "torch alone"
    shown.mkdir()
    for module in modules_of("torch", set()):
        for path in (*present.glob(module), *present.glob(f"{module}.*")):
            (shown / path.name).symlink_to(path)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "torch.pth").write_text(f"{shown}\n")
    return python


def test_an_installation_without_extras_trains(python):
    clean = {"PYTHONPATH": ""}
    about = (
        "import losslab, importlib.util as u, importlib.metadata as m;"
        "print(losslab.__file__, any(map(u.find_spec, ('numpy', 'kedro', 'pydantic'))));"
        "print([each for each in m.requires('losslab') if 'extra ==' not in each])"
    )
    installed, required = run(python, about, **clean)
    assert installed.startswith(str(python.parents[1]))
    assert installed.endswith(" False")
    assert required == "['torch<3,>=2.8']"
    assert run(python, TRAIN, **clean) == TRAINED
