"""Groups of labels that are alike: what ``mask_label`` does not push apart.

A grouping is a mapping from a group's name to its labels. Groups may overlap where a file says so;
a label in no group is a group of its own.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.errors import SupervisionError

logger = logging.getLogger(__name__)
Grouping = Mapping[str, Sequence[str]]
POLARITY = re.compile(r"\b(negative|neutral|positive)\b", re.IGNORECASE)


def group_by_prefix(labels: Sequence[str], *, separator: str) -> dict[str, list[str]]:
    """By what stands before the first ``separator``; all of the label where there is none.

    >>> group_by_prefix(["cs.ai", "cs.lg", "quant-ph"], separator=".")
    {'cs': ['cs.ai', 'cs.lg'], 'quant-ph': ['quant-ph']}
    """
    return _collect(labels, [label.split(separator)[0] for label in labels])


def group_by_coarse_class(labels: Sequence[str], *, separator: str) -> dict[str, list[str]]:
    """By the next coarser class: what stands before the last ``separator``.

    >>> group_by_coarse_class(["NUM:date", "NUM:count", "LOC:city"], separator=":")
    {'NUM': ['NUM:date', 'NUM:count'], 'LOC': ['LOC:city']}
    """
    return _collect(labels, [label.rpartition(separator)[0] or label for label in labels])


def group_by_polarity(labels: Sequence[str]) -> dict[str, list[str]]:
    """By the word negative, neutral or positive in a label, however strong.

    >>> group_by_polarity(["very negative", "negative", "neutral"])
    {'negative': ['very negative', 'negative'], 'neutral': ['neutral']}
    """
    found = [POLARITY.search(label) for label in labels]
    if not any(found):
        raise SupervisionError(
            "no label names a polarity (negative, neutral, positive), found "
            f"{', '.join(labels[:5])}; set label_groups.by to another way of grouping"
        )
    names = [
        match[1].lower() if match else label for match, label in zip(found, labels, strict=True)
    ]
    return _collect(labels, names)


def group_by_communities(
    labels: Sequence[str], cooccurrence: sparse.csr_array, *, seed: int, resolution: float = 1.0
) -> dict[str, list[str]]:
    """By communities of the graph of labels that come together in documents (Louvain).

    An edge weighs ``n_ab / sqrt(n_a n_b)``, since counts alone would put each label beside the most
    frequent one. A group bears the name of its most frequent label.
    """
    import networkx as nx

    counts = sparse.coo_array(sparse.triu(cooccurrence, k=1))
    frequency = cooccurrence.diagonal().astype(np.float64)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(labels)))
    for a, b, n in zip(*counts.coords, counts.data, strict=True):
        graph.add_edge(int(a), int(b), weight=float(n / np.sqrt(frequency[a] * frequency[b])))
    found = nx.community.louvain_communities(graph, seed=seed, resolution=resolution)
    groups = {}
    for members in sorted((sorted(community) for community in found), key=lambda m: (-len(m), m)):
        leader = max(members, key=lambda label: (frequency[label], -label))
        groups[f"{labels[leader]} etc." if len(members) > 1 else labels[leader]] = [
            labels[label] for label in members
        ]
    return groups


def read_groups(path: Path) -> dict[str, list[str]]:
    """A YAML file of groups: each name with the list of its labels."""
    import yaml

    if not path.is_file():
        raise SupervisionError(f"no groups file {path}; label_groups.file says where it is")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SupervisionError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not content:
        raise SupervisionError(f"{path}: expected groups by name, each with a list of labels")
    for name, members in content.items():
        if not isinstance(members, list) or not all(isinstance(label, str) for label in members):
            raise SupervisionError(
                f"{path}, group {name!r}: expected a list of labels, found {members!r}"
            )
    return {str(name): list(dict.fromkeys(members)) for name, members in content.items()}


def complete_groups(groups: Grouping, labels: Sequence[str], source: str) -> dict[str, list[str]]:
    """``groups`` with each label that is in none as its own group; the log names them.

    Raises:
        SupervisionError: where a group names labels that are not among ``labels``.
    """
    named = {label for members in groups.values() for label in members}
    strange = sorted(named - set(labels))
    if strange:
        raise SupervisionError(
            f"{source} names {len(strange)} unknown labels: {', '.join(map(repr, strange[:10]))}"
            f"{', ...' if len(strange) > 10 else ''}; the corpus has {len(labels)}, such as "
            f"{', '.join(map(repr, labels[:3]))}"
        )
    alone = [label for label in labels if label not in named]
    if alone:
        logger.info(
            "%s: %d labels in no group stand alone: %s", source, len(alone), ", ".join(alone)
        )
    taken = [name for name in alone if name in groups]
    if taken:
        raise SupervisionError(
            f"{source}: {', '.join(map(repr, taken))} names both a group and a label outside it; "
            "rename the group"
        )
    return {**{name: list(members) for name, members in groups.items()}, **{a: [a] for a in alone}}


def group_membership(groups: Grouping, labels: Sequence[str]) -> sparse.csr_array:
    """Labels x groups, 1 where a label belongs to a group."""
    row = {label: index for index, label in enumerate(labels)}
    pairs = [(row[label], g) for g, members in enumerate(groups.values()) for label in members]
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    ones = np.ones(len(pairs), dtype=np.int8)
    return sparse.csr_array((ones, (rows, columns)), shape=(len(labels), len(groups)))


def tabulate_groups(groups: Grouping, frequencies: Mapping[str, int]) -> pd.DataFrame:
    """One row per group, largest first: its labels, and how often they are carried in training."""
    rows = [
        {
            "group": name,
            "labels": len(members),
            "occurrences": sum(frequencies[label] for label in members),
            "members": ", ".join(members),
        }
        for name, members in groups.items()
    ]
    table = pd.DataFrame(rows, columns=["group", "labels", "occurrences", "members"])
    return table.sort_values(["labels", "group"], ascending=[False, True], ignore_index=True)


def _collect(labels: Sequence[str], names: Sequence[Any]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for label, name in zip(labels, names, strict=True):
        groups.setdefault(name, []).append(label)
    return groups
