"""Public names are documented, and say what they raise."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator

import pytest

from extractkit import errors
from tests.contracts.source import Function, Module, modules, public_modules

_ENTRY = re.compile(r"^(\w+): \S", re.MULTILINE)


def _public_definitions(module: Module) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    exported = set(module.exported or ())
    for node in module.tree.body:
        is_definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if is_definition and node.name in exported:
            yield node.name, node
            yield from _members(node)


def _members(node: ast.ClassDef | Function) -> Iterator[tuple[str, Function]]:
    if isinstance(node, ast.ClassDef):
        for item in node.body:
            is_function = isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
            if is_function and not item.name.startswith("_"):
                yield f"{node.name}.{item.name}", item


def _is_overload(node: ast.ClassDef | Function) -> bool:
    return any(ast.unparse(item).endswith("overload") for item in node.decorator_list)


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_every_module_says_its_job(module: Module) -> None:
    """A module's docstring says its job."""
    assert ast.get_docstring(module.tree)


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.name)
def test_every_public_name_is_documented(module: Module) -> None:
    """All of them."""
    bare = [
        name
        for name, node in _public_definitions(module)
        if not _is_overload(node) and not ast.get_docstring(node)
    ]
    assert bare == []


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.name)
def test_every_raise_of_a_public_function_is_documented(module: Module) -> None:
    """`raise X` in the body, X or a parent of X under Raises."""
    silent = [
        f"{name} raises {raised.__name__}"
        for name, node in _public_definitions(module)
        if not _is_overload(node)
        for raised in _raised(node, module)
        if not any(issubclass(raised, said) for said in _documented(node))
    ]
    assert silent == []


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.name)
def test_every_documented_exception_exists(module: Module) -> None:
    """A Raises section names classes that a caller can catch."""
    for _, node in _public_definitions(module):
        _documented(node)


def _documented(node: ast.ClassDef | Function) -> list[type[BaseException]]:
    section = (ast.get_docstring(node) or "").partition("\nRaises:\n")[2]
    body = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    return [_exception(name) for name in _ENTRY.findall(body)]


def _raised(node: ast.ClassDef | Function, module: Module) -> list[type[BaseException]]:
    if isinstance(node, ast.ClassDef):
        # What making an instance raises belongs to the class.
        makers = [
            item
            for item in node.body
            if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "__post_init__")
        ]
        return [raised for maker in makers for raised in _raised(maker, module)]
    return [
        _exception(name)
        for statement in _own_statements(node)
        if isinstance(statement, ast.Raise) and (name := _raised_name(statement, module))
    ]


def _own_statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _own_statements(child)


def _raised_name(statement: ast.Raise, module: Module) -> str | None:
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    while isinstance(raised, ast.Attribute):  # Class.for_feature(...)
        raised = raised.value
    if not isinstance(raised, ast.Name):
        return None
    live = getattr(importlib.import_module(module.name), raised.id, None)
    is_class = isinstance(live or getattr(builtins, raised.id, None), type)
    is_ours = raised.id in errors.__all__
    # AttributeError in __getattr__ and the like are Python's own protocol.
    return raised.id if is_ours or (is_class and raised.id != "AttributeError") else None


def _exception(name: str) -> type[BaseException]:
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    assert isinstance(found, type) and issubclass(found, BaseException), f"{name} is no exception"
    return found
