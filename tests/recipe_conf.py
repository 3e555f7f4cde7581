"""Recipes of ``conf/``, with changes."""

from typing import Any

import yaml
from conftest import ROOT

from losslab.parameters import Recipe
from losslab.parameters.validation import complete_recipes

FILES = [ROOT / f"conf/base/parameters_{stage}.yml" for stage in ("training", "features")]
CONF = {name: value for file in FILES for name, value in yaml.safe_load(file.read_text()).items()}
RECIPES = complete_recipes(CONF)


def read_recipe(name: str, model: dict[str, Any] | None = None, **training: Any) -> Recipe:
    """The recipe ``name``; ``model`` and ``training`` are what differs from conf.

    No training is longer than its epochs or its patience say.
    """
    conf = RECIPES[name]
    return Recipe(
        name=name,
        model={**conf["model"], **(model or {})},
        training={**conf["training"], "min_steps": 0, "patience_steps": 0, **training},
    )
