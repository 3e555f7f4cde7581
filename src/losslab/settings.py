"""Project settings, read by Kedro."""

import os
import warnings
from pathlib import Path

from kedro.utils import find_kedro_project

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")  # its import overrides conf/logging.yml
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

warnings.filterwarnings(  # omegaconf, on calls of Kedro and kedro-mlflow
    "ignore", message=r"register_new_resolver\(\) is deprecated", module="kedro"
)
with warnings.catch_warnings(record=True) as caught:  # MLflow sets a filter of its own here
    import kedro_mlflow.mlflow  # noqa: F401
for warning in caught:
    if "Add type hints to the `predict` method" not in str(warning.message):  # of kedro-mlflow
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)

from losslab.config_loader import LosslabConfigLoader  # noqa: E402
from losslab.hooks import PipelineSelection, Summary, Tracking  # noqa: E402

PROJECT = find_kedro_project(Path.cwd()) or Path.cwd()

tracking = Tracking()
HOOKS = (PipelineSelection(), tracking, Summary(tracking))


def tracking_uri() -> str:
    """The MLflow store: the one of the environment, else a file of the project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{PROJECT}/mlflow.db"


def artifact_location() -> str | None:
    """Where figures and reports go: a folder of the project, unless a server decides."""
    return None if os.environ.get("MLFLOW_TRACKING_URI") else "mlruns"


CONFIG_LOADER_CLASS = LosslabConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft"},
    "config_patterns": {
        "mlflow": ["mlflow*", "mlflow*/**", "**/mlflow*"],
        "parameters": ["parameters*", "parameters*/**", "**/parameters*", "sweeps*"],
    },
    "custom_resolvers": {
        "losslab.tracking_uri": tracking_uri,
        "losslab.artifact_location": artifact_location,
    },
}
