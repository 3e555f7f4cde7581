"""Under which conditions a loss was judged, so that only like is compared with like."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.errors import IncomparableError


def fingerprint_data(
    documents: pd.DataFrame, targets: sparse.csr_array, label_space: list[str]
) -> dict[str, str]:
    """A short hash each of ids, texts, splits, targets and label space."""
    matrix = sparse.csr_array(targets)
    matrix.sum_duplicates()
    return {
        **{name: _digest(documents[name].astype(str)) for name in ("id", "text", "split")},
        "targets": _digest([_figures(matrix.indptr), _figures(matrix.indices)]),
        "label_space": _digest(label_space),
    }


def fingerprint(conditions: Mapping[str, Any]) -> str:
    """A short hash of plain data; the order of keys is immaterial.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    return _digest([json.dumps(conditions, sort_keys=True)])


def find_mixtures(metrics: Mapping[str, Mapping[str, Any]], reference: str) -> dict[str, list[str]]:
    """By loss: what its conditions differ in from the reference's; losses that do not are left out."""
    if reference not in metrics:
        raise IncomparableError(
            f"the reference {reference} is not among the losses {', '.join(metrics)}; "
            "set report.reference to one of them"
        )
    expected = flatten(metrics[reference]["conditions"])
    found = {
        loss: _differences(flatten(result["conditions"]), expected)
        for loss, result in metrics.items()
    }
    return {loss: differences for loss, differences in found.items() if differences}


def refuse_mixtures(mixtures: Mapping[str, list[str]], reference: str) -> None:
    """Raise an error that names each loss and what it differs in, if there is one."""
    if mixtures:
        told = "; ".join(f"{loss}: {', '.join(found)}" for loss, found in mixtures.items())
        raise IncomparableError(
            f"these losses differ from {reference} in more than the loss: {told}. Run them again "
            "under the same conditions, or set report.mixtures=mark to have them marked"
        )


def refuse_other_data(metrics: Mapping[str, Mapping[str, Any]], data: Mapping[str, str]) -> None:
    """Raise an error that names losses which were judged on other documents than ``data``'s.

    Figures are drawn from saved scores and the documents at hand: they must be those of the scores.
    """
    unlike = {
        loss: [name for name in data if result["conditions"]["data"].get(name) != data[name]]
        for loss, result in metrics.items()
    }
    found = [f"{loss} ({', '.join(names)})" for loss, names in unlike.items() if names]
    if found:
        raise IncomparableError(
            "the documents at hand are not those that these losses were judged on: "
            f"{', '.join(found)}. Run the losses again, or pipeline prepare as it was for them"
        )


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} is {_tell(found, name)}, expected {_tell(expected, name)}"
        for name in [*expected, *(name for name in found if name not in expected)]
        if (name in found) != (name in expected) or found[name] != expected[name]
    ]


def _tell(conditions: Mapping[str, Any], name: str) -> str:
    return str(conditions[name]) if name in conditions else "absent"


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


def _figures(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()


def _digest(texts: Iterable[str]) -> str:
    """The lengths go in as well: texts that are cut elsewhere are other texts."""
    sha = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "little") + encoded)
    return sha.hexdigest()[:12]
