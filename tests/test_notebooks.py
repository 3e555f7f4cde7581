"""The notebooks run from first to last cell in a project with a small corpus; git has no outputs."""

import json
import shutil

import nbformat
import pytest
import yaml
from conftest import ROOT, make_small_project
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICK = {
    "num_seeds": 1,
    "baselines": ["svm"],
    "report": {"resamples": 100},
    "recipes": {"probe": {"training": {"epochs": 3, "patience": 3, "min_steps": 0}}},
}
LONG = ("02_your_own_data",)
"""Runs of a minute or more."""
every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, mlflow_store, module_patch):
    """The notebooks' folder in a project whose trainings are short."""
    scratch = tmp_path_factory.mktemp("notebooks")
    project = make_small_project(scratch / "project", mlflow_store)
    (project / "conf/local").mkdir(exist_ok=True)
    (project / "conf/local/parameters.yml").write_text(yaml.safe_dump(QUICK))
    shutil.copytree(ROOT / "notebooks", project / "notebooks")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        module_patch.setenv(name, str(scratch / name.lower()))
    for name in ("MLFLOW_TRACKING_URI", "KEDRO_ENV"):
        module_patch.delenv(name, raising=False)
    module_patch.setenv("OMP_NUM_THREADS", "1")
    return project / "notebooks"


@pytest.mark.slow
@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem in LONG))
        for path in NOTEBOOKS
    ],
)
def test_notebook_runs(notebook, folder):
    cells = nbformat.read(notebook, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(cells, timeout=300, resources=resources).execute()  # the first error is raised


@every_notebook
def test_outputs_are_cleared(notebook):
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
