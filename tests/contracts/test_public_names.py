"""`__all__` says what is public, everywhere, and says it truly."""

from __future__ import annotations

import ast
import importlib
from types import FunctionType

import pytest

import extractkit
from tests.contracts.source import Module, modules, public_modules


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.name)
def test_every_public_module_lists_its_names_and_each_exists(module: Module) -> None:
    """What is not in `__all__` is private."""
    exported = module.exported
    assert exported is not None, f"{module.name} has no __all__"
    assert len(exported) == len(set(exported))
    live = importlib.import_module(module.name)
    assert [name for name in exported if not hasattr(live, name)] == []


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.name)
def test_every_public_definition_is_listed(module: Module) -> None:
    """A name without an underscore that is not listed would be public by accident."""
    exported = module.exported
    if exported is None:
        assert module.defined == set()
    else:
        assert module.defined - set(exported) == set()


def test_the_lazy_front_door_agrees_with_what_type_checkers_see() -> None:
    """Names under TYPE_CHECKING, the table of homes and `__all__` are the same."""
    front = next(module for module in modules() if module.name == "extractkit")
    seen: set[str] = set()
    for node in ast.walk(front.tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for imported in ast.walk(node):
                if isinstance(imported, ast.ImportFrom):
                    seen.update(alias.asname or alias.name for alias in imported.names)
    assert seen == set(extractkit.__all__)
    assert set(extractkit.__all__) <= set(dir(extractkit))


@pytest.mark.parametrize("name", extractkit.__all__)
def test_every_name_of_the_front_door_is_the_one_of_its_home(name: str) -> None:
    """A name that is loaded on first use is the very object of its room."""
    value = getattr(extractkit, name)
    if isinstance(value, (type, FunctionType)):
        assert value.__module__.startswith("extractkit.")
        assert getattr(importlib.import_module(value.__module__), name) is value
    else:
        assert getattr(importlib.import_module("extractkit.fields"), name) is value


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    """The front door behaves as a plain module does."""
    with pytest.raises(AttributeError, match="no attribute 'extrakt'"):
        extractkit.extrakt  # noqa: B018
