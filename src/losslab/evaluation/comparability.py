"""Comparability: results may differ in the loss and its options, in nothing else."""

import json
from collections.abc import Mapping
from typing import Any

from losslab.data.fingerprint import digest
from losslab.errors import IncomparableError
from losslab.parameters.variants import flatten


def fingerprint(conditions: Mapping[str, Any]) -> str:
    """A short hash of plain data; the order of keys is immaterial.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    return digest([json.dumps(conditions, sort_keys=True)])


def find_mismatches(
    metrics: Mapping[str, Mapping[str, Any]], reference: str
) -> dict[str, list[str]]:
    """By loss: the conditions that differ from the reference's; losses without any are left out.

    Seeds are compared where both have them: baselines are deterministic.
    """
    if reference not in metrics:
        raise IncomparableError(
            f"the reference {reference} is not among the losses {', '.join(metrics)}; "
            "set report.reference to one of them"
        )
    expected = flatten(metrics[reference]["conditions"])
    differences = {}
    for loss, result in metrics.items():
        conditions = flatten(result["conditions"])
        left_out = {"seeds"} - (conditions.keys() & expected.keys())
        differences[loss] = condition_differences(
            *(
                {k: v for k, v in each.items() if k not in left_out}
                for each in (conditions, expected)
            )
        )
    return {loss: names for loss, names in differences.items() if names}


def refuse_mismatches(mismatches: Mapping[str, list[str]], reference: str) -> None:
    """Raise an error that names each loss and the conditions it differs in, if there are any."""
    if mismatches:
        listed = "; ".join(f"{loss}: {', '.join(names)}" for loss, names in mismatches.items())
        raise IncomparableError(
            f"these losses differ from {reference} in more than the loss: {listed}. Run them again "
            "under the same conditions, or set report.on_mismatch=mark to have them marked"
        )


def refuse_other_scores(loss: str, scores: str, origin: Mapping[str, str]) -> None:
    """Raise an error if scores, by their hash, are not those that ``origin`` tells the making of."""
    if scores != origin["scores"]:
        raise IncomparableError(
            f"{loss}: the scores ({scores}) are not those made by model {origin['model']} of features "
            f"{origin['features']} ({origin['scores']}): score the loss again"
        )


def refuse_other_data(metrics: Mapping[str, Mapping[str, Any]], data: Mapping[str, str]) -> None:
    """Raise an error that names losses which were evaluated on other documents than ``data``'s.

    Plots are drawn from saved scores and the current documents, which must belong together.
    """
    changed = {
        loss: [name for name in data if result["conditions"]["data"].get(name) != data[name]]
        for loss, result in metrics.items()
    }
    listed = [f"{loss} ({', '.join(names)})" for loss, names in changed.items() if names]
    if listed:
        raise IncomparableError(
            "the current documents are not those that these losses were evaluated on: "
            f"{', '.join(listed)}. Run the losses again, or restore the data they were run on"
        )


def condition_differences(conditions: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """What differs, with both values; names are flat.

    >>> condition_differences({"seed": 1, "epochs": 3}, {"seed": 2, "epochs": 3})
    ['seed is 1, expected 2']
    """
    return [
        f"{name} is {_value(conditions, name)}, expected {_value(expected, name)}"
        for name in [*expected, *(name for name in conditions if name not in expected)]
        if (name in conditions) != (name in expected) or conditions[name] != expected[name]
    ]


def _value(conditions: Mapping[str, Any], name: str) -> str:
    return str(conditions[name]) if name in conditions else "absent"
