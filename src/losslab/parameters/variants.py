"""Folder names of variants: other data or another model than base and the dataset's file ask for."""

import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

CORPUS_PARAMETERS = ("reader", "corpus")
"""The parameters that decide which documents there are."""
DATA_PARAMETERS = (
    *("reader", "task", "corpus", "min_label_frequency", "split", "undersample"),
    "question_split",
)
"""The parameters that decide which documents, labels and splits there are."""
_OF_TEXTS = ("backbone", "pooling", "max_length", "truncation")
ENCODER_PARAMETERS = {
    "probe": _OF_TEXTS,
    "hybrid": _OF_TEXTS,
    "image_probe": ("backbone", "image_size"),
}
"""The parameters that decide on frozen embeddings, by the kind of the model that reads them."""
FOLD_PARAMETERS = ("split.folds", "split.fold")
"""They name the folders of a cross-validation and its folds, whatever variant it is of."""
MAX_LENGTH = 80


def variant_name(
    name: str,
    values: Mapping[str, Any],
    declared: Mapping[str, Any],
    parameters: Collection[str],
    defaults: Mapping[str, Any] | None = None,
) -> str:
    """``name``, followed by each of ``parameters`` whose value is neither declared nor the default.

    Results of a variant lie in a folder of their own, so that they never take the place of others.

    >>> variant_name("cmu_movie", {"corpus": {"part": "title"}}, {}, ["corpus"])
    'cmu_movie-part=title'
    >>> variant_name("own", {"corpus": {"file": "my.csv"}}, {}, ["corpus"])
    'own-my'
    >>> variant_name("cwe", {"seed": 2}, {"seed": 1}, ["corpus"])
    'cwe'
    """
    expected = {**(defaults or {}), **_select(declared, parameters)}
    parts = [
        _part(key, value)
        for key, value in _select(values, parameters).items()
        if (key not in expected or expected[key] != value) and key not in FOLD_PARAMETERS
    ]
    variant = "-".join([name, *parts])
    if len(variant) <= MAX_LENGTH:
        return variant
    return f"{name}-{sha256(variant.encode()).hexdigest()[:12]}"


def cross_validation_name(name: str, folds: Any) -> str:
    """The folder of a cross-validation on the dataset or variant ``name``; without folds, its own.

    >>> cross_validation_name("cmu_movie-part=title", 4)
    'cmu_movie-part=title-folds=4'
    """
    return f"{name}-folds={_slug(str(folds))}" if folds else name


def embeddings_name(model: Mapping[str, Any]) -> str:
    """The folder of a model's frozen embeddings, whatever the recipe; ``none`` without.

    >>> encoder = {"backbone": "minilm", "pooling": "mean", "max_length": 256, "truncation": "head"}
    >>> embeddings_name({"kind": "probe", "hidden_dim": 64, **encoder})
    'embeddings-minilm-mean-256-head'
    """
    names = ENCODER_PARAMETERS.get(str(model.get("kind")), ())
    parts = [_slug(_plain(model.get(name))) for name in names] or ["none"]
    return "-".join(["embeddings", *parts])


def _plain(value: Any) -> str:
    """A value as a part of a name: a size as ``224x160``."""
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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


def _select(values: Mapping[str, Any], parameters: Collection[str]) -> dict[str, Any]:
    return flatten({key: values[key] for key in parameters if key in values})


def _part(key: str, value: Any) -> str:
    if key == "corpus.file" and str(value).endswith(".csv"):
        return _slug(str(value).removesuffix(".csv"))
    return f"{key.removeprefix('corpus.').removeprefix('model.')}={_slug(str(value))}"


def _slug(text: str) -> str:
    """Letters, digits, underscores and dots; where others are replaced, a hash keeps texts apart.

    >>> _slug("in/my"), _slug("in_my")
    ('in_my+cb6404', 'in_my')
    """
    slug = re.sub(r"[^\w.]+", "_", text).strip("_")
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return slug if slug and slug == text else f"{slug}+{digest}"
