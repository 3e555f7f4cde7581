"""Code fingerprints: what a function reaches, and nothing else."""

import importlib
import sys
from functools import partial
from textwrap import dedent

import pytest

from losslab.losses import LOSSES
from losslab.pipelines.data.nodes import parse_corpus
from losslab.pipelines.features.nodes import compute_features
from losslab.pipelines.training.nodes import train
from losslab.runners import code

SOURCES = {
    "__init__": "",
    "nodes": """
        from toy import tools
        from toy.library import area
        LIMIT = 3
        def draw(size):
            "Draw."
            return area(size) + LIMIT
        def other(size):
            return tools.scale(size)
        def late(size):
            from toy.tools import scale
            return scale(size)
        def page():
            return "page.html.j2"
        """,
    "library/__init__": "from toy.library.shapes import area, edge",
    "library/shapes": """
        class Base:
            factor = 2
        class Square(Base):
            def area(self, size): return self.factor * size
        def area(size): return Square().area(size)
        def edge(size): return size
        """,
    "tools": """
        def scale(size): return 2 * size
        def unused(): return 0
        """,
}

CACHES = (
    code._code_hashes,
    code._definition_hash,
    code._data,
    code._references,
    code._resolve,
    code._read,
    code._file,
)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package whose sources a test may change: a function from changes to hashes of a root."""
    monkeypatch.setattr(code, "PACKAGE", "toy")
    monkeypatch.setattr(code, "ROOT", tmp_path / "toy")
    monkeypatch.syspath_prepend(str(tmp_path))

    def hashes(root, data="", **changes):
        for name, text in {**SOURCES, **changes}.items():
            file = tmp_path / "toy" / f"{name.replace('__to__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text))
        (tmp_path / "toy/page.html.j2").write_text(data)
        for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
            del sys.modules[name]
        for each in CACHES:
            each.cache_clear()
        importlib.invalidate_caches()
        return code.code_hashes(getattr(importlib.import_module("toy.nodes"), root))

    yield hashes
    for each in CACHES:
        each.cache_clear()


def changed(toy, root, module, old, new):
    assert old in SOURCES[module]
    before = toy(root)
    after = toy(root, **{module: SOURCES[module].replace(old, new)})
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("library/shapes", "self.factor * size", "self.factor + size"),
        ("library/shapes", "factor = 2", "factor = 3"),
        ("nodes", "LIMIT = 3", "LIMIT = 4"),
        ("nodes", "area(size) + LIMIT", "area(size) - LIMIT"),
    ],
)
def test_change_in_what_a_function_reaches_counts(toy, module, old, new):
    assert changed(toy, "draw", module, old, new) == {f"toy.{module.replace('/', '.')}"}


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("library/shapes", "def edge(size): return size", "def edge(size): return 0"),
        ("tools", "2 * size", "3 * size"),
        ("nodes", '"Draw."', '"Draw a picture."'),
        ("nodes", "LIMIT = 3", "LIMIT = 3  # a comment"),
    ],
)
def test_change_elsewhere_and_in_words_does_not_count(toy, module, old, new):
    assert changed(toy, "draw", module, old, new) == set()


@pytest.mark.parametrize("root", ["other", "late"])
def test_modules_and_late_imports_are_followed(toy, root):
    assert changed(toy, root, "tools", "2 * size", "3 * size") == {"toy.tools"}
    assert changed(toy, root, "tools", "return 0", "return 1") == set()


def test_partial_is_the_function_it_calls():
    assert code.code_hashes(partial(train, seed=1)) == code.code_hashes(train)


def test_templates_beside_a_module_count(toy):
    assert toy("page", data="<p>") != toy("page", data="<b>")


def test_training_depends_on_its_own_loss_alone():
    shared, db = code.code_hashes(train), code.code_hashes(train, LOSSES["db"])
    assert set(db) - set(shared) >= {"losslab.losses.balanced"}
    assert "losslab.losses.balanced" not in code.code_hashes(train, LOSSES["zlpr"])
    assert {"losslab.training.trainer", "losslab.models.probe"} <= set(shared)


def test_features_and_documents_do_not_depend_on_training():
    for node in (compute_features, parse_corpus):
        assert not [
            name
            for name in code.code_hashes(node)
            if ".training" in name and "parameters" not in name
        ]
