"""Recipes of ``conf/``, with changes."""

from typing import Any

import yaml
from conftest import ROOT

from losslab.parameters import Recipe
from losslab.parameters.validation import extend_recipes

CONF = yaml.safe_load((ROOT / "conf/base/parameters_training.yml").read_text())
RECIPES = extend_recipes(CONF["recipes"])


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
