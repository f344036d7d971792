"""The limits of size, counted. An exception may be removed, never added or enlarged."""

from __future__ import annotations

import ast

import pytest

import extractkit
from tests.contracts.source import Module, functions, length, modules

_FILE_LINES = 500
_FUNCTION_LINES = 60
_FUNCTION_P90 = 35
_PARAMETERS = 10
_PUBLIC_METHODS = 12

# Dated tables are exempt from the limit on files.
_TABLES = {"extractkit.schema.dialects"}

# module:function -> the number that it has; anything smaller must be written down here.
_LONG_FUNCTIONS: dict[str, int] = {}
_MANY_PARAMETERS: dict[str, int] = {
    "extractkit.api._extractor:Extractor.__init__": 16,
}


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_no_file_outgrows_its_room(module: Module) -> None:
    """At most 500 lines, but for tables."""
    if module.name not in _TABLES:
        assert len(module.text.splitlines()) <= _FILE_LINES


def test_no_function_outgrows_a_screen() -> None:
    """At most 60 lines."""
    long = {
        f"{module.name}:{name}": length(node)
        for module in modules()
        for name, node in functions(module.tree)
        if length(node) > _FUNCTION_LINES
    }
    assert long == _LONG_FUNCTIONS


def test_most_functions_are_short() -> None:
    """Nine of ten functions have at most 35 lines."""
    lengths = sorted(length(node) for module in modules() for _, node in functions(module.tree))
    assert lengths[int(0.9 * len(lengths))] <= _FUNCTION_P90


def test_no_function_takes_more_than_a_reader_can_hold() -> None:
    """Ten parameters, but for `extract` and its twins."""
    many = {
        f"{module.name}:{name}": count
        for module in modules()
        for name, node in functions(module.tree)
        if (count := _parameters(node.args)) > _PARAMETERS
    }
    assert many == _MANY_PARAMETERS


def _parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named) - (
        # The target and the text are what the call is about, not options of it.
        2 if {"target", "text"} <= {argument.arg for argument in named} else 0
    )


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_no_class_does_everything(module: Module) -> None:
    """Twelve public methods."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            methods = [
                item.name
                for item in node.body
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
                and not item.name.startswith("_")
            ]
            assert len(methods) <= _PUBLIC_METHODS, node.name


def test_the_front_door_stays_small() -> None:
    """At most 120 lines and 40 names."""
    front = next(module for module in modules() if module.name == "extractkit")
    assert len(front.text.splitlines()) <= 120
    assert len(extractkit.__all__) <= 40


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_no_module_is_named_after_nothing(module: Module) -> None:
    """A module is named after its job."""
    vague = {"utils", "helpers", "core", "base", "common", "manager", "handler", "v2"}
    assert not vague & {part.strip("_") for part in module.name.split(".")}
