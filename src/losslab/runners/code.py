"""Fingerprints of code: a function and every definition of this package that it reaches.

Read from the source: names are followed through modules, imports and re-exports. Formatting,
comments and docstrings do not count.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from inspect import unwrap
from pathlib import Path
from typing import Any, TypeGuard

from losslab.manifest import hash_path

PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
TABLES = {
    ("losslab.losses.registry", "LOSSES"),
    ("losslab.baselines", "BASELINES"),
    ("losslab.data.readers", "READERS"),
    ("losslab.data.download.sources", "SOURCES"),
}
"""Tables that are looked up by name; a node depends on the entry it asks for, not on all of them."""
Name = tuple[str, str]
"""A module and a name defined there; the empty name is the whole module."""


@dataclass(frozen=True)
class Module:
    """The source of a module: statements by the name they define, and imported names.

    Statements that define nothing stand under the empty name.
    """

    name: str
    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, Name] = field(default_factory=dict)


def code_hashes(*roots: Callable[..., Any]) -> dict[str, str]:
    """By module: a hash of the definitions that ``roots``, functions or classes, reach."""
    functions = [unwrap(_without_arguments(root)) for root in roots]
    return dict(_code_hashes(tuple((each.__module__, each.__qualname__) for each in functions)))


def _without_arguments(root: Any) -> Any:
    """The function of a ``functools.partial``."""
    return _without_arguments(root.func) if isinstance(root, partial) else root


@cache
def _code_hashes(roots: tuple[Name, ...]) -> dict[str, str]:
    reached: dict[str, set[str]] = {}
    todo = [name for root in roots for name in _resolve(*root)]
    while todo:
        module, name = todo.pop()
        names = reached.setdefault(module, set())
        if name not in names:
            names.add(name)
            todo += _references(module, name)
    return {module: _hash(module, names) for module, names in sorted(reached.items())}


def _hash(module: str, names: Iterable[str]) -> str:
    parts = (f"{name} {_definition_hash(module, name)}" for name in sorted({"", *names}))
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


@cache
def _definition_hash(module: str, name: str) -> str:
    """A hash of a definition, and of the templates and tables it names."""
    statements = [_plain(part) for part in _read(module).statements.get(name, ())]
    named = {part.value for each in statements for part in ast.walk(each) if _is_text(part)}
    data = [f"{text} {hash_path(path)}" for text in sorted(named) if (path := _data(module, text))]
    return sha256("\n".join([*map(ast.dump, statements), *data]).encode()).hexdigest()


def _is_text(part: ast.AST) -> TypeGuard[Any]:
    return isinstance(part, ast.Constant) and isinstance(part.value, str)


@cache
def _data(module: str, name: str) -> Path | None:
    """The file or folder of package data that lies under ``name`` beside a module."""
    if not name.replace("_", "").replace(".", "").isalnum() or name in (".", ".."):
        return None
    path = (_file(module) or Path()).with_name(name)
    return path if path.exists() and not path.with_suffix(".py").exists() else None


@cache
def _references(module: str, name: str) -> set[Name]:
    """Where everything is defined that the definition of ``name`` mentions."""
    return {
        reference
        for statement in _read(module).statements.get(name, ())
        for path in _paths(statement)
        for reference in _resolve(module, *path)
    }


@cache
def _resolve(module: str, name: str, *attributes: str) -> list[Name]:
    """Where ``name.attribute`` as seen in ``module`` is defined; nothing if not in this package.

    A module that is mentioned as a whole stands for everything in it.
    """
    known = _read(module)
    if (module, name) in TABLES:
        return []
    if name in known.statements:
        return [(module, name)]
    if name not in known.imports:
        return []
    target, original = known.imports[name]
    if original:
        inner = f"{target}.{original}"
        return _of_module(inner, attributes) if _file(inner) else _resolve(target, original)
    return _of_module(target, attributes)


def _of_module(module: str, attributes: tuple[str, ...]) -> list[Name]:
    if attributes and _file(f"{module}.{attributes[0]}"):
        return _of_module(f"{module}.{attributes[0]}", attributes[1:])
    if attributes:
        return _resolve(module, *attributes)
    return [(module, name) for name in _read(module).statements]


def _paths(statement: ast.AST) -> Iterator[tuple[str, ...]]:
    """Every name of a statement, with the attributes asked of it: ``("nodes", "train")``."""
    inner = {id(part.value) for part in ast.walk(statement) if isinstance(part, ast.Attribute)}
    for part in ast.walk(statement):
        attributes: list[str] = []
        if id(part) in inner:
            continue
        while isinstance(part, ast.Attribute):
            attributes.insert(0, part.attr)
            part = part.value
        if isinstance(part, ast.Name) and (attributes or isinstance(part.ctx, ast.Load)):
            yield (part.id, *attributes)


@cache
def _read(name: str) -> Module:
    module = Module(name)
    file = _file(name)
    if file is None:
        return module
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for statement in tree.body:
        for defined in _defined(statement):
            module.statements.setdefault(defined, []).append(statement)
    for part in ast.walk(tree):
        module.imports.update(_imported(part))
    return module


def _defined(statement: ast.stmt) -> list[str]:
    """The names a statement of a module defines; none of an import, ``""`` of anything else."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            return []
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Assign(targets=targets):
            return [
                part.id
                for target in targets
                for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            ]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return []
        case _:
            return [""]


def _imported(part: ast.AST) -> dict[str, Name]:
    """Names that an import binds, as far as they are of this package; imports are absolute here."""
    if isinstance(part, ast.ImportFrom) and _ours(part.module or ""):
        return {each.asname or each.name: (part.module or "", each.name) for each in part.names}
    if isinstance(part, ast.Import):
        return {each.asname or PACKAGE: (each.name, "") for each in part.names if _ours(each.name)}
    return {}


def _ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


@cache
def _file(module: str) -> Path | None:
    """The source file of a module of this package; None of anything else.

    Looked up by its path: ``find_spec`` would import the packages around it, torch and all.
    """
    first, *parts = module.split(".")
    path = ROOT.joinpath(*parts)
    files = (path / "__init__.py", path.parent / f"{path.name}.py")
    return next((file for file in files if first == PACKAGE and file.is_file()), None)


def _plain(statement: ast.stmt) -> ast.AST:
    """A statement without docstrings."""
    for part in ast.walk(statement):
        body = getattr(part, "body", None)
        match body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest] if isinstance(body, list):
                part.body = rest or [ast.Pass()]  # type: ignore[attr-defined]
    return statement
