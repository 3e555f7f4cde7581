"""The soft-label page: documents with hard and soft labels, and each word's contribution."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from scipy import sparse

from losslab.supervision import SoftLabels, find_words, word_contributions

Words = list[tuple[str, int, int]]
"""Words with start and end."""
MAX_CANDIDATES = 2000
"""Documents that are searched for surprising ones: scoring all takes minutes on large corpora."""
MAX_CHARACTERS = 1500
MAX_LABELS = 6
SURPRISING, RANDOM = 16, 20
"""How many documents are shown of each kind."""


def build_soft_label_page(
    soft: SoftLabels,
    documents: pd.DataFrame,
    targets: sparse.csr_array,
    label_space: Sequence[str],
    vocabulary: Sequence[str],
    keyword_table: pd.DataFrame,
    *,
    tokenization: Mapping[str, Any],
    dataset: str,
) -> str:
    """The page on keyword soft labels: surprising documents, random ones, and all keywords."""
    find = partial(find_words, **tokenization)
    column = {word: index for index, word in enumerate(vocabulary)}
    surprising, drawn = choose_documents(soft, targets, surprising=SURPRISING, random=RANDOM)
    sections = {
        title: [
            {
                "id": documents["id"].iloc[row],
                **describe_document(
                    row, documents["text"].iloc[row], soft, targets, label_space, column, find
                ),
            }
            for row in rows
        ]
        for title, rows in {
            "Strongest label is not among the document's own": surprising,
            "Random documents": drawn,
        }.items()
    }
    counts = {"labels": len(label_space), "documents": len(soft)}
    return render_soft_labels(sections, keyword_table, dataset=dataset, **counts)


def choose_documents(
    soft: SoftLabels, targets: sparse.csr_array, *, surprising: int, random: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose strongest label is not among their own by the widest margin, and random ones."""
    rows = np.arange(len(soft)) if soft.rows is None else soft.rows
    order = np.random.default_rng(seed).permutation(rows)
    candidates = np.sort(order[:MAX_CANDIDATES])
    carried = targets[candidates].toarray() > 0
    strength = soft(candidates)
    others = np.where(carried, 0, strength).max(axis=1)
    margin = others - np.where(carried, strength, 0).max(axis=1)
    top = candidates[np.argsort(-margin, kind="stable")[:surprising]]
    return top, order[~np.isin(order, top)][:random]


def describe_document(
    row: int,
    text: str,
    soft: SoftLabels,
    targets: sparse.csr_array,
    labels: Sequence[str],
    column: dict[str, int],
    find: Callable[[str], Words],
) -> dict[str, Any]:
    """A document for the page: its text in pieces, its labels, each word's contribution.

    ``find`` gives the words of a text with their positions, ``column`` the index of each word.
    """
    strength = soft(np.array([row]))[0]
    low = strength.min()
    gold = set(targets[[row]].indices.tolist())
    best = np.argsort(-strength, kind="stable")[:MAX_LABELS].tolist()
    shown = best + sorted(gold - set(best), key=lambda label: -strength[label])
    document = soft.document(row)
    pieces = split_text(text[:MAX_CHARACTERS], find(text[:MAX_CHARACTERS]))
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
    return {"pieces": pieces, "truncated": len(text) > MAX_CHARACTERS, "bars": bars}


def split_text(text: str, words: Words) -> list[tuple[str, str]]:
    """The text in pieces, each with the word it is; an empty word for what lies between words.

    >>> split_text("A cat.", [("a", 0, 1), ("cat", 2, 5)])
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
        loader=PackageLoader("losslab.reporting", "template"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("soft_labels.html.j2").render(
        sections=sections,
        keywords=keywords.to_dict("records"),
        dataset=dataset,
        labels=labels,
        documents=documents,
    )
