"""Folder names of variants: other data or another model than the configuration files ask for."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Any

DATA_PARAMETERS = ("reader", "task", "corpus", "min_label_frequency", "split", "undersample")
"""The parameters that decide which documents, labels and splits there are."""
SAME_VARIANT = ("split.fold",)
"""Of these, any value: the folds of a cross-validation lie together."""
MAX_LENGTH = 80


def variant_name(
    name: str,
    changes: Mapping[str, Any],
    files: Mapping[str, Any],
    parameters: Iterable[str],
    defaults: Mapping[str, Any] | None = None,
) -> str:
    """``name``, followed by each of ``parameters`` that ``changes`` sets to another value.

    Results of a variant lie in a folder of their own, so that they never take the place of others.

    >>> variant_name("cmu_movie", {"corpus": {"part": "title"}}, {}, ["corpus"])
    'cmu_movie-part=title'
    >>> variant_name("own", {"corpus": {"file": "in/my.csv"}}, {}, ["corpus"])
    'own-in_my'
    >>> variant_name("cwe", {"seed": 2}, {"seed": 1}, ["corpus"])
    'cwe'
    """
    known = {**(defaults or {}), **flatten({key: files.get(key) for key in parameters})}
    asked = flatten({key: changes[key] for key in parameters if key in changes})
    parts = [
        _part(key, value)
        for key, value in asked.items()
        if known.get(key) != value and key not in SAME_VARIANT
    ]
    variant = "-".join([name, *parts])
    if len(variant) <= MAX_LENGTH:
        return variant
    return f"{name}-{sha256(variant.encode()).hexdigest()[:12]}"


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one with dotted names.

    >>> flatten({"training": {"epochs": 3}, "seed": 1})
    {'training.epochs': 3, 'seed': 1}
    """
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        inner = isinstance(value, Mapping)
        flat |= flatten(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return flat


def _part(key: str, value: Any) -> str:
    if key == "corpus.file":
        return _slug(str(PurePath(str(value)).with_suffix("")))
    return f"{key.removeprefix('corpus.').removeprefix('model.')}={_slug(str(value))}"


def _slug(text: str) -> str:
    """Letters, digits and dots; everything else an underscore."""
    return re.sub(r"[^\w.]+", "_", text).strip("_") or sha256(text.encode()).hexdigest()[:8]
