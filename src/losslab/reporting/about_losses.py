"""What the page tells of a loss behind its ``?``: when to choose it, formula, options, paper."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

from losslab.baselines import METHODS

DOCTEST = re.compile(r"^>>> .*", flags=re.DOTALL | re.MULTILINE)
ROLE = re.compile(r":\w+:(?=`)")
CODE = re.compile(r"``?(.+?)``?", flags=re.DOTALL)


def about_losses(options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Facts by loss.

    Args:
        options: the values that hyperparameters had, by loss; a loss may have none.

    Returns ``title choose_when paper``; ``paragraphs`` of its class's description, each a list of
    pieces ``(text, is_code)``; ``options``: name, value, and whether it is the default.
    """
    return {loss: _about(loss, values) for loss, values in options.items()}


def _about(loss: str, values: Mapping[str, Any]) -> dict[str, Any]:
    method = METHODS.get(loss)
    facts: dict[str, Any]
    if method is None:
        facts = {"title": loss, "choose_when": "", "paper": "", "paragraphs": []}
        defaults: Mapping[str, Any] = {}
    else:
        facts = {key: getattr(method, key) for key in ("title", "choose_when", "paper")}
        facts["paragraphs"] = describe(inspect.getdoc(method) or "")
        defaults = method.defaults()
    used = [(name, str(value), value == defaults.get(name)) for name, value in values.items()]
    return {**facts, "options": used}


def describe(docstring: str) -> list[list[tuple[str, bool]]]:
    """The paragraphs of a docstring but shapes and doctests, in pieces: text, and whether it is code.

    >>> describe("BCE.\\n\\n``-log p`` (eq. 1), of :class:`Loss`.\\n\\nShapes: B x C.\\n\\n>>> 1")
    [[('BCE.', False)], [('-log p', True), (' (eq. 1), of ', False), ('Loss', True), ('.', False)]]
    """
    text = ROLE.sub("", DOCTEST.sub("", docstring))
    kept = [part for part in text.split("\n\n") if part.strip() and not part.startswith("Shapes:")]
    return [_pieces(" ".join(part.split())) for part in kept]


def _pieces(paragraph: str) -> list[tuple[str, bool]]:
    pieces = [(piece, place % 2 == 1) for place, piece in enumerate(CODE.split(paragraph))]
    return [(piece, is_code) for piece, is_code in pieces if piece]
