"""The package's source as syntax trees, for the contracts that count and compare."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import extractkit

PACKAGE = Path(extractkit.__file__).parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def exported(self) -> list[str] | None:
        """What `__all__` says, or None where there is none."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and _names(node) == ["__all__"]:
                return list(ast.literal_eval(node.value))
        return None

    @property
    def defined(self) -> set[str]:
        """Public names that this file defines itself, type variables left out."""
        found: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not _is_type_variable(node):
                found.update(_names(node))
        return {name for name in found if not name.startswith("_")}


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_type_variable(node: ast.Assign | ast.AnnAssign) -> bool:
    value = node.value
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in ("TypeVar", "ParamSpec")
    )


@cache
def modules() -> tuple[Module, ...]:
    """Every file of the package, in order of its name."""
    found: list[Module] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["extractkit", *path.relative_to(PACKAGE).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        text = path.read_text(encoding="utf-8")
        found.append(Module(name=".".join(parts), path=path, text=text, tree=ast.parse(text)))
    return tuple(found)


def public_modules() -> list[Module]:
    """The files whose names users may import."""
    return [module for module in modules() if module.is_public]


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield every function under `tree` with its qualified name, methods and inner ones, too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def length(node: Function) -> int:
    """Lines of a function, without its docstring: documentation is never a reason to cut."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines
