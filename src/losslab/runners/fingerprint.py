"""Fingerprints of nodes: a hash of code, parameters and inputs, and why two of them differ."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline.node import Node
from pydantic import BaseModel

from losslab.baselines import METHODS
from losslab.data.readers import READERS
from losslab.errors import LineageError
from losslab.manifest import Lineage, Provenance, hash_path
from losslab.parameters import LossSettings
from losslab.parameters.variants import flatten
from losslab.runners.code import code_hashes

PREFIX = "params:"
SHOWN_AS = {
    "recipe.": "",
    "features.": "",
    "frozen_encoder.": "model.",
    "bootstrap.": "report.",
    ".options.": ".",
}
"""Parts of the names of resolved parameters, and what a user knows them as."""
DERIVED = {"validation_rule": "primary_rule (on validation)"}
"""Parameters made of others, and what a reason names in their place."""
FILES = ("corpus.file", "model.vectors", "model.backbone")
"""Parameters that may name a file or folder, whose content counts, too."""
MAX_NAMED = 3
"""Differences named in a reason."""


@dataclass(frozen=True)
class Record:
    """A dataset as a run knows it: a hash of its content, and its whole upstream."""

    sha256: str
    lineage: Lineage


@dataclass(frozen=True)
class Procedure:
    """What a node does with its inputs: its parameters by dotted name, its code by module."""

    parameters: dict[str, Any]
    code: dict[str, str]

    @classmethod
    def of(cls, node: Node, catalog: DataCatalog) -> "Procedure":
        """That of a node with the parameters of ``catalog``."""
        values = {name: load(catalog, name) for name in node.inputs if is_parameter(name)}
        return cls(
            flatten_parameters({key.removeprefix(PREFIX): each for key, each in values.items()}),
            code_hashes(node.func, *_looked_up(values)),
        )


def flatten_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as plain data, by the dotted names a user knows; files with their content."""
    plain = {
        name: value.model_dump() if isinstance(value, BaseModel) else value
        for name, value in values.items()
    }
    flat = json.loads(json.dumps(flatten(plain), default=str))
    named = {_shown(name): value for name, value in flat.items()}
    for name in FILES:
        path = Path(named[name]) if isinstance(named.get(name), str) else None
        if path is not None and path.exists():
            named[f"content of {name}"] = hash_path(path)
    return named


def fingerprint(
    node: Node, procedure: Procedure, records: Mapping[str, Record], *, gathers: bool
) -> Provenance:
    """What the outputs of ``node`` would be made of; ``gathers``: its inputs need not agree."""
    parameters, code = procedure.parameters, procedure.code
    used = {name: records[name] for name in node.inputs if name in records}
    inputs = {name: record.sha256 for name, record in used.items()}
    function = getattr(node.func, "__qualname__", "")
    content = json.dumps([node.name, function, code, parameters, inputs], sort_keys=True)
    return Provenance(
        node=node.name,
        fingerprint=sha256(content.encode()).hexdigest(),
        code=code,
        parameters=parameters,
        inputs=inputs,
        lineage=_merge(used, parameters, node.name, gathers=gathers),
    )


def explain(old: Provenance, new: Provenance) -> str:
    """Why a node's saved outputs are not what it would make now."""
    reasons = [
        f"parameter {DERIVED.get(name, name)} {_value(old.parameters, name)} -> "
        f"{_value(new.parameters, name)}"
        for name in _differing(old.parameters, new.parameters)
    ]
    reasons += [f"input {name} changed" for name in _differing(old.inputs, new.inputs)]
    reasons += [f"code of {name} changed" for name in _differing(old.code, new.code)]
    more = f" and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    return ", ".join(reasons[:MAX_NAMED]) + more or "not made by an incremental run"


def refuse_other_parameters(dataset: str, lineage: Lineage, current: Mapping[str, Any]) -> None:
    """Raise LineageError if something upstream of ``dataset`` was made with other parameters."""
    for name, value in lineage.parameters.items():
        if name in current and current[name] != value:
            raise LineageError(
                f"{dataset} was made with {DERIVED.get(name, name)} {value}, this run has "
                f"{current[name]}: run the nodes before it as well (without --from-nodes and the "
                "like), or use the same parameters"
            )


def is_parameter(name: str) -> bool:
    """Whether an input of a node is a parameter."""
    return name.startswith(PREFIX) or name == "parameters"


def load(catalog: DataCatalog, name: str) -> Any:
    """Load a dataset without Kedro's log line."""
    dataset: Any = catalog.get(name)
    return dataset.load()


def _looked_up(values: Mapping[str, Any]) -> Iterable[Callable[..., Any]]:
    """The classes and functions a node picks from tables by the parameters it takes."""
    losses = [METHODS[value.name] for value in values.values() if isinstance(value, LossSettings)]
    if f"{PREFIX}reader" in values:
        reader = values[f"{PREFIX}reader"] or values[f"{PREFIX}dataset"]
        return [*losses, READERS[reader]]
    return losses


def _merge(
    used: Mapping[str, Record], parameters: Mapping[str, Any], node: str, *, gathers: bool
) -> Lineage:
    """The upstream of all inputs; raise LineageError if two were made of different things."""
    datasets: dict[str, str] = {}
    origin: dict[str, str] = {}
    known: dict[str, Any] = dict(parameters)
    for name, record in used.items():
        known = {**record.lineage.parameters, **known}
        for other, value in {**record.lineage.datasets, name: record.sha256}.items():
            if datasets.setdefault(other, value) != value and not gathers:
                raise LineageError(
                    f"{node}: {name} and {origin[other]} do not belong together, they were made "
                    f"with different {other}: run the nodes before {node} as well"
                )
            origin.setdefault(other, name)
    return Lineage(datasets, known)


def _shown(name: str) -> str:
    for part, shown in SHOWN_AS.items():
        name = name.replace(part, shown, 1) if part.startswith(".") else _without(name, part, shown)
    return name


def _without(name: str, prefix: str, shown: str) -> str:
    return shown + name.removeprefix(prefix) if name.startswith(prefix) else name


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = [*new, *(name for name in old if name not in new)]
    return [name for name in names if (name in old) != (name in new) or old[name] != new[name]]


def _value(values: Mapping[str, Any], name: str) -> str:
    return str(values[name]) if name in values else "(absent)"
