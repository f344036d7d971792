"""What a command is asked about: a type in a module or a file, or a JSON Schema in a file.

Neighbours: `_arguments` reads files; `extract`, `schema` and `lint` take their target from here.
Loading a type runs the code of its module. Nothing is compiled but to name what could be meant.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Generator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from extractkit.cli._arguments import read_text
from extractkit.errors import UsageError
from extractkit.paths import JsonObject

__all__ = [
    "add_target_and_arguments",
    "add_target_arguments",
    "file_of",
    "load",
    "load_schema",
    "load_target",
    "target_and",
    "target_of",
]


def add_target_arguments(parser: argparse.ArgumentParser) -> None:
    """Add TARGET and --schema, of which a call gives one.

    Args:
        parser: The parser of a command that takes nothing else by position.
    """
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a type as module:Name or file.py:Name (left out with --schema)",
    )
    _add_schema_argument(parser)


def add_target_and_arguments(parser: argparse.ArgumentParser, other: str, meaning: str) -> None:
    """Add TARGET and --schema, of which a call gives one, and something else by position.

    Args:
        parser: The parser of a command.
        other: What else, such as "SOURCE".
        meaning: What that is, for help.
    """
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar=f"TARGET {other}",
        help=f"a type as module:Name or file.py:Name (left out with --schema), and {meaning}",
    )
    _add_schema_argument(parser)


def _add_schema_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", metavar="FILE", help="a JSON Schema instead of a type")


def target_and(arguments: argparse.Namespace, command: str, other: str) -> tuple[str | None, str]:
    """Return what `add_target_and_arguments` let a caller name: a type, if any, and the other.

    Raises:
        UsageError: If there is less or more.
    """
    inputs: list[str] = arguments.inputs
    expected = other if arguments.schema else f"TARGET and {other}"
    if len(inputs) != (1 if arguments.schema else 2):
        got = " ".join(repr(item) for item in inputs) or "nothing"
        raise UsageError(f"expected {expected}, got {got}; see 'extractkit {command} --help'")
    return (None, inputs[0]) if arguments.schema else (inputs[0], inputs[1])


def target_of(arguments: argparse.Namespace) -> Any:
    """Return the target that `add_target_arguments` let a caller name.

    Raises:
        UsageError: If none or two are named, or the one that is cannot be loaded.
    """
    if (arguments.target is None) == (arguments.schema is None):
        raise UsageError(
            "expected a TARGET as module:Name or file.py:Name, or --schema FILE, and not both"
        )
    return load(arguments.target, arguments.schema)


def load(name: str | None, schema: str | None) -> Any:
    """Return the target of a call that names one of the two.

    Raises:
        UsageError: If it cannot be loaded.
    """
    return load_schema(schema) if schema else load_target(name or "")


def file_of(name: str | None, schema: str | None) -> str:
    """Return the file that `load` reads, as it was typed; of a type in a module, no file's name."""
    return schema or (name or "").rpartition(":")[0] or name or ""


def load_target(name: str) -> Any:
    """Return what `name` names; the current folder is searched first.

    Args:
        name: "package.module:Name", "path/to/file.py:Name", or "path/to/schema.json".

    Raises:
        UsageError: If the module or file cannot be loaded, has no such name, or it is no type.
    """
    if name.endswith(".json"):
        return load_schema(name, option="")
    module_name, colon, attribute = name.rpartition(":")
    if not (colon and module_name and attribute):
        raise UsageError(
            f"{name!r} names no target; expected module:Name, such as my.models:Invoice, "
            "file.py:Name, or --schema FILE"
        )
    _search(Path.cwd())
    found: Any = _of_file(module_name) if module_name.endswith(".py") else _import(module_name)
    for part in attribute.split("."):
        found = _member(found, part, name)
    _require_type(found, name)
    return found


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _of_file(source: str) -> ModuleType:
    path = Path(source).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {source!r}; give the path of a Python file")
    _search(path.parent)  # as Python does for a program
    # Two files of one name are two modules.
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = f"{path.stem}_{digest}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # Pydantic looks names up there
    with _importing(source):
        SourceFileLoader(name, str(path)).exec_module(module)
    return module


_DEEPEST_SCHEMA = 128  # levels; `schema` refuses what is nested deeper, too


def load_schema(source: str, *, option: str = "--schema ") -> JsonObject:
    """Return the JSON Schema in a file.

    Args:
        source: The path of the file, or "-" for standard input.
        option: What was typed before it, for messages.

    Raises:
        UsageError: If it cannot be read, is not JSON, or is no object.
    """
    text = read_text(source, wanted="a file that holds a JSON Schema")
    try:
        schema = json.loads(text)
    except RecursionError:
        raise UsageError(
            f"{option}{source!r} is nested deeper than {_DEEPEST_SCHEMA} levels; write nested "
            'parts as "$defs" and refer to them'
        ) from None
    except ValueError as error:
        raise UsageError(f"{option}{source!r} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(
            f"{option}{source!r} holds a JSON {type(schema).__name__}; expected an object, "
            'such as {"type": "object", "properties": {...}}'
        )
    return schema  # pyright: ignore[reportUnknownVariableType]  # the JSON border


def _import(module_name: str) -> ModuleType:
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(
            f"{module_name!r} is no name of a module; for a file write its path with .py, as in "
            f"{module_name}.py:Name"
        )
    with _importing(module_name):
        return importlib.import_module(module_name)


@contextlib.contextmanager
def _importing(source: str) -> Generator[None]:
    """Tell whatever the user's own code raises while it is loaded."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and f"{source}.".startswith(f"{error.name}."):
            raise UsageError(
                f"there is no module {error.name!r}, in the current folder or installed; "
                "start in the folder that holds it"
            ) from error
        raise UsageError(f"importing {source!r} failed: {error}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"importing {source!r} failed: {type(error).__name__}: {error}") from error


def _member(holder: Any, part: str, name: str) -> Any:
    try:
        return getattr(holder, part)
    except AttributeError as error:
        targets = _targets_of(holder)
        more = ", ..." if len(targets) > _MOST_NAMES else ""
        known = f"; its own are {', '.join(targets[:_MOST_NAMES])}{more}" if targets else ""
        holds = getattr(holder, "__name__", type(holder).__name__)
        raise UsageError(f"{name!r}: {holds!r} has no {part!r}{known}") from error


_MOST_NAMES = 8


def _targets_of(holder: Any) -> list[str]:
    """Return the names of the classes that `holder` defines itself and that can be targets."""
    from extractkit.schema import compile_schema

    if not isinstance(holder, ModuleType | type):
        return []
    home = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    names: list[str] = []
    for name, item in vars(holder).items():
        if name.startswith("_") or not isinstance(item, type):
            continue
        # A package may take its models out of its own modules.
        if not f"{item.__module__}.".startswith(f"{home}."):
            continue
        with contextlib.suppress(UsageError):  # a class of another kind
            compile_schema(item)
            names.append(name)
    return names


def _article(word: str) -> str:
    return "an" if word[:1] in "aeiouAEIOU" else "a"


_NO_TYPES = (str, bytes, int, float, list, tuple, set, ModuleType)


def _require_type(found: object, name: str) -> None:
    kind = type(found).__name__
    # Pydantic takes a function for its arguments and a text for a forward reference.
    routine = callable(found) and inspect.isroutine(found)
    if found is None or routine or isinstance(found, _NO_TYPES):
        raise UsageError(
            f"{name!r} is {_article(kind)} {kind}, not a type; expected a Pydantic model, another "
            "type such as list[Model], or a dict that is a JSON Schema"
        )
