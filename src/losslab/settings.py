"""Project settings, read by Kedro."""

from losslab.hooks import ParameterCheck

HOOKS = (ParameterCheck(),)

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft"},
}
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)
