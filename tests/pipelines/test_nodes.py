"""What all nodes have in common."""

import ast
import re

import pytest
from conftest import ROOT

MODULES = sorted((ROOT / "src/losslab/pipelines").glob("*/nodes.py"))
PATH = re.compile(r"\.\./|\bdata/0|\.(csv|html|json|md|npz|parquet|safetensors)\b")


def strings(module):
    """Every string of a module but docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [c.value for c in constants if isinstance(c.value, str) and id(c) not in bare]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.parent.name)
def test_no_node_names_a_path(module):
    assert [text for text in strings(module) if PATH.search(text)] == []
