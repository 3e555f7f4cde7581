"""Explained predictions as a page: each text once per label, its words coloured by their effect."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from losslab.inference.classifier import Prediction, WordEffect
from losslab.inference.text_files import LabelledRow

MAX_TEXTS = 200
"""Texts on a page; the file of labels has them all."""
MAX_CHARACTERS = 3000
"""Characters of a text that are shown."""
SHADES = 5
"""Of the colour: the strongest word of a label has the last."""


def render_explanations(rows: Iterable[LabelledRow], *, title: str) -> str:
    """The page of the first explained predictions; all that comes from data is escaped."""
    environment = Environment(
        loader=PackageLoader("losslab.inference", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    explained = list(islice(_explained(rows), MAX_TEXTS + 1))
    return environment.get_template("explanation_page.html.j2").render(
        title=title, texts=explained[:MAX_TEXTS], shades=SHADES, more=len(explained) > MAX_TEXTS
    )


def _explained(rows: Iterable[LabelledRow]) -> Iterator[dict[str, Any]]:
    """What the template shows of each text that was labelled."""
    for row, prediction in rows:
        if prediction is not None:
            yield {
                "name": row.id or f"line {row.line}",
                "text": row.text[:MAX_CHARACTERS],
                "labels": list(_label_parts(row.text[:MAX_CHARACTERS], prediction)),
            }


def _label_parts(text: str, prediction: Prediction) -> Iterator[dict[str, Any]]:
    for label in prediction.labels:
        effects = prediction.words.get(label, ())
        yield {
            "name": label,
            "score": prediction.scores[label],
            "parts": list(shade_words(text, effects)),
            "words": effects,
        }


def shade_words(text: str, effects: Iterable[WordEffect]) -> Iterator[tuple[str, int, float]]:
    """A text in pieces, each with its shade (0: none) and the drop it causes.

    >>> list(shade_words("a red car", [WordEffect("red", 2, 5, 0.5)]))
    [('a ', 0, 0.0), ('red', 5, 0.5), (' car', 0, 0.0)]
    """
    listed = sorted(effects, key=lambda effect: effect.start)
    strongest, place = max((effect.drop for effect in listed), default=1.0), 0
    for effect in listed:
        if effect.end > len(text):
            break
        if effect.start > place:
            yield text[place : effect.start], 0, 0.0
        shade = max(1, round(SHADES * effect.drop / strongest))
        yield text[effect.start : effect.end], shade, effect.drop
        place = effect.end
    if place < len(text):
        yield text[place:], 0, 0.0
