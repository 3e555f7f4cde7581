"""The soft-label inspector: documents, their labels hard and soft, and the words that moved them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from scipy import sparse

from losslab.supervision import SoftLabels, word_contributions

Found = list[tuple[str, int, int]]
LOOKED_AT = 2000
"""Documents among which surprising ones are looked for: scoring all takes minutes on large corpora."""
LONGEST = 1500
"""Characters of a text that are shown."""
SHOWN_LABELS = 6


def choose_documents(
    soft: SoftLabels, targets: sparse.csr_array, *, surprising: int, random: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to look at: where a label not carried is strongest, and others drawn at random."""
    rows = np.arange(len(soft)) if soft.rows is None else soft.rows
    order = np.random.default_rng(seed).permutation(rows)
    looked = np.sort(order[:LOOKED_AT])
    carried = targets[looked].toarray() > 0
    strength = soft(looked)
    strangers = np.where(carried, 0, strength).max(axis=1)
    ahead = strangers - np.where(carried, strength, 0).max(axis=1)
    top = looked[np.argsort(-ahead, kind="stable")[:surprising]]
    return top, order[~np.isin(order, top)][:random]


def describe_document(
    row: int,
    text: str,
    soft: SoftLabels,
    targets: sparse.csr_array,
    labels: Sequence[str],
    column: dict[str, int],
    find: Callable[[str], Found],
) -> dict[str, Any]:
    """What the page shows of a document: its text in pieces, its labels, each word's share in them.

    ``find`` gives the words of a text with their places, ``column`` the number of each word.
    """
    strength = soft(np.array([row]))[0]
    low = strength.min()
    gold = set(targets[[row]].indices.tolist())
    best = np.argsort(-strength, kind="stable")[:SHOWN_LABELS].tolist()
    shown = best + sorted(gold - set(best), key=lambda label: -strength[label])
    document = soft.document(row)
    pieces = cut_text(text[:LONGEST], find(text[:LONGEST]))
    bars = []
    for label in shown:
        shares = word_contributions(document, soft.words, label)
        largest = max(shares.values(), default=1)
        heat = [shares.get(column.get(word, -1), 0) / largest for _, word in pieces if word]
        bars.append(
            {
                "label": labels[label],
                "gold": label in gold,
                "value": float(strength[label]),
                "share": float((strength[label] - low) / (strength.max() - low or 1)),
                "heat": [round(value, 2) for value in heat],
            }
        )
    return {"pieces": pieces, "cut": len(text) > LONGEST, "bars": bars}


def cut_text(text: str, words: Found) -> list[tuple[str, str]]:
    """The text in pieces, each with the word it is, or an empty one for what stands between.

    >>> cut_text("A cat.", [("a", 0, 1), ("cat", 2, 5)])
    [('A', 'a'), (' ', ''), ('cat', 'cat'), ('.', '')]
    """
    pieces, end = [], 0
    for word, start, stop in words:
        if start > end:
            pieces.append((text[end:start], ""))
        pieces.append((text[start:stop], word))
        end = stop
    return [*pieces, (text[end:], "")] if end < len(text) else pieces


def render_soft_labels(
    sections: dict[str, list[dict[str, Any]]],
    keywords: pd.DataFrame,
    *,
    dataset: str,
    labels: int,
    documents: int,
) -> str:
    """The page: documents by section, and the keywords of each label."""
    environment = Environment(
        loader=PackageLoader("losslab.reporting", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("soft_labels.html.j2").render(
        sections=sections,
        keywords=keywords.to_dict("records"),
        dataset=dataset,
        labels=labels,
        documents=documents,
    )
