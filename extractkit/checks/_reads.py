"""Which keys each class of a target reads, by Pydantic's own description of it.

Neighbours: `_kept` compares documents with values by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard, cast

from pydantic_core import CoreSchema

__all__ = ["Reads", "reads_of"]

_Part: TypeAlias = Mapping[str, Any]

_BEFORE: Final = ("function-before", "function-wrap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a class reads.

    Attributes:
        keys: Each key with the attribute that it fills; "" where it only leads further in.
        ranks: Of several keys for one attribute, how late each is looked for.
        keeps_others: Keys besides are kept.
        is_prepared: Code of the user's sees the object first, and may read other keys.
    """

    keys: Mapping[str, str]
    ranks: Mapping[str, int]
    keeps_others: bool
    is_prepared: bool


def reads_of(schema: CoreSchema) -> tuple[dict[type[Any], Reads], dict[str, str], bool]:
    """Return what each class reads, the keys of TypedDicts by their aliases, and one thing more.

    That is whether a value holds iterators, as for `Iterable[int]`, which can be read once.

    Args:
        schema: Pydantic's description of the target.
    """
    classes: dict[type[Any], Reads] = {}
    aliases: dict[str, str] = {}
    prepared: set[int] = set()
    has_iterators = False
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list | tuple):
            pending += cast("list[Any]", part)
        elif _is_part(part):
            kind = part.get("type")
            if kind in ("model", "dataclass"):
                reads = _reads(part, is_prepared=id(part) in prepared)
                if reads is not None:
                    classes[part["cls"]] = reads
            elif kind == "typed-dict":
                for name, field in part["fields"].items():
                    aliases.update((way[0], name) for way in _ways(field) if len(way) == 1)
            elif kind in _BEFORE:
                prepared.add(id(part["schema"]))
            has_iterators = has_iterators or kind == "generator"
            pending += [part[key] for key in part if key not in ("metadata", "serialization")]
    return classes, aliases, has_iterators


def _is_part(part: Any) -> TypeGuard[_Part]:
    return isinstance(part, Mapping)


def _reads(owner: _Part, *, is_prepared: bool) -> Reads | None:
    described: _Part = owner["schema"]
    while described.get("type") not in ("model-fields", "dataclass-args"):
        is_prepared = is_prepared or described.get("type") in _BEFORE
        inner: Any = described.get("schema")
        if not _is_part(inner):
            return None
        described = inner
    config: dict[str, Any] = {**described.get("config", {}), **owner.get("config", {})}
    listed: Any = described["fields"]
    named: _Part = listed if _is_part(listed) else {each["name"]: each for each in listed}
    others = described.get("extra_behavior") or config.get("extra_fields_behavior")
    keys, ranks = _read_keys(named, config)
    return Reads(keys=keys, ranks=ranks, keeps_others=others == "allow", is_prepared=is_prepared)


def _read_keys(fields: _Part, config: _Part) -> tuple[dict[str, str], dict[str, int]]:
    keys: dict[str, str] = {}
    ranks: dict[str, int] = {}
    by_name = config.get("validate_by_name") or config.get("populate_by_name")
    by_alias = config.get("validate_by_alias", True)
    for name, field in fields.items():
        ways = _ways(field) if by_alias else []
        if by_name or not ways:
            ways = [*ways, [name]]
        for rank, way in enumerate(ways):
            keys.setdefault(way[0], name if len(way) == 1 else "")
            if len(ways) > 1:
                ranks[way[0]] = rank
    return keys, ranks


def _ways(field: _Part) -> list[list[Any]]:
    """Return the ways to a field: keys and positions, outermost first."""
    alias = field.get("validation_alias")
    if alias is None:
        return []
    if not isinstance(alias, list):
        return [[alias]]
    return cast("list[list[Any]]", alias if isinstance(alias[0], list) else [alias])
