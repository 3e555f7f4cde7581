"""Docstrings as the API pages show them: a Griffe extension that mkdocs.yml names."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^ *>>> .*(?:\n(?! *$).*)*", flags=re.MULTILINE)
ROLE = re.compile(r":\w+:(?=`)")


class Docstrings(griffe.Extension):
    """Fences doctests, drops roles, keeps what follows as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """A docstring whose doctests are blocks of code, and whose roles are plain code."""
    fenced = DOCTEST.sub(lambda block: f"```pycon\n{block[0]}\n```", docstring)
    return ROLE.sub("", fenced)
