"""What the functions of this room are given, looked at before anything is asked.

Neighbours: `_evaluate`, `_recall`, `_report` and `_schema_cost` ask here. Callers without a type
checker give anything; what cannot be used is told with what to give in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from extractkit.errors import UsageError
from extractkit.evaluation._configuration import Configuration
from extractkit.evaluation._dataset import Dataset

__all__ = [
    "require_configurations",
    "require_dataset",
    "require_journal",
    "require_mapping",
    "require_progress",
]


def require_configurations(given: Any) -> tuple[Configuration, ...]:
    """Return configurations that can be told apart by their names.

    Raises:
        UsageError: If it is no list of Configuration objects, is empty, or has a name twice.
    """
    try:
        configs: tuple[Any, ...] = tuple(given)
    except TypeError:
        raise UsageError(
            f"configs is {given!r:.60}; expected a list: configs=[Configuration(name=...)]"
        ) from None
    for config in configs:
        if not isinstance(config, Configuration):
            raise UsageError(f"configs holds {config!r:.60}; expected Configuration objects")
    names = [config.name for config in configs]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"configs are named {names}; expected at least one, each name once")
    return configs


def require_dataset(given: Any) -> None:
    """Return if it is a Dataset.

    Raises:
        UsageError: If it is none.
    """
    if not isinstance(given, Dataset):
        raise UsageError(f"found {given!r:.60} for data; expected a Dataset (Dataset.of(rows))")


def require_journal(given: Any) -> None:
    """Return if it is the path of a file.

    Raises:
        UsageError: If it is none.
    """
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"journal={given!r:.60}: expected the path of a file")


def require_mapping(name: str, given: Any) -> None:
    """Return if it is a mapping, or None.

    Raises:
        UsageError: If it is neither.
    """
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{name}={given!r:.60}: expected a mapping, such as a dict")


def require_progress(given: Any) -> None:
    """Return if it can be told something, or is None.

    Raises:
        UsageError: If it is neither.
    """
    if given is not None and not callable(given):
        raise UsageError(f"progress={given!r:.60}: expected a function of one Progress")
