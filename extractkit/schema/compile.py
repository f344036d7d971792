"""Target -> CompiledSchema: the order of the steps, the cache and the fingerprint.

    describe -> read -> lowerings of the dialect -> write

What is compiled of a class is kept on the class itself, so that both end together: a model made
at run time can be collected although it was compiled. Other types are kept by equality and JSON
Schemas by their text, the 256 last used of all dialects together: a class inside one of them, as in
list[Made] or Made | None, lives as long as that. Safe to call from several threads.
"""

from __future__ import annotations

import copyreg
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from pydantic import TypeAdapter

from extractkit.errors import SchemaError, UnsupportedError
from extractkit.paths import JsonObject
from extractkit.schema.compiled import CompiledSchema
from extractkit.schema.convert import Lifter
from extractkit.schema.describe import adapter, bare, copy_json, describe
from extractkit.schema.dialects import DIALECTS, Dialect
from extractkit.schema.extent import check_extent
from extractkit.schema.legend import CodedChoice, legend_of
from extractkit.schema.lowerings import lower_stage
from extractkit.schema.nodes import SchemaTree
from extractkit.schema.places import reachable
from extractkit.schema.quotas import Counts, check_counts, count, refuse_impossible
from extractkit.schema.read import read
from extractkit.schema.report import Report
from extractkit.schema.scope import Scope
from extractkit.schema.write import write

__all__ = ["Codes", "compile_coded", "compile_request", "compile_schema", "compile_uncached"]

Codes: TypeAlias = tuple[tuple[str, ...], ...]
"""What may stand for members of closed choices: groups of equal length, the shortest first."""

_KEPT: Final = 256
_DROPS: Final = frozenset({"codes", "intersections", "losses", "recursion"})
"""Lowerings after which a definition may be referred to no more. So may it before `refs`, the last
one: others drop a reference now and then."""
_NAME: Final = "__extractkit_compiled__"
"""The attribute of a class that holds what was compiled of it, by dialect."""

_others: OrderedDict[Hashable, CompiledSchema] = OrderedDict()
_lock = threading.RLock()


def compile_schema(target: Any, dialect: str = "json-schema") -> CompiledSchema:
    """Return `target` compiled for one dialect.

    What is compiled of a class ends with the class. Of any other target the 256 last used are kept,
    and with them the classes in it: a program that makes classes as it runs compiles the class
    itself, or a RootModel of list[Made], where they should be collected.

    Args:
        target: A Pydantic model class, a type that a TypeAdapter takes, or a JSON Schema.
        dialect: A name in DIALECTS.

    Raises:
        UsageError: If `target` is a value and not a type.
        SchemaError: If the target cannot be described, or its JSON Schema is broken.
        UnsupportedError: If there is no such dialect.

    Examples:
        >>> compiled = compile_schema(dict[str, int], "openai-strict")
        >>> compiled.lift(compiled.lower({"mugs": 7}))
        {'mugs': 7}
        >>> compiled.schema["type"], len(compiled.rewritten)
        ('object', 2)
    """
    if not isinstance(cast("object", dialect), str) or dialect not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise UnsupportedError(f"dialect {dialect!r:.80} is not known; the dialects are {known}")
    if isinstance(target, type) and (kept := _kept_of(target)) is not None:
        compiled = kept.get(dialect)
        if compiled is None:
            compiled = _keep(kept, dialect, _build(target, DIALECTS[dialect]))
        return compiled
    key = _key(target, dialect)
    with _lock:
        if key is not None and key in _others:
            _others.move_to_end(key)
            return _others[key]
    compiled = _build(target, DIALECTS[dialect])
    if key is None:
        return compiled
    return _remember(key, compiled)


def compile_coded(target: Any, dialect: str, codes: Codes) -> CompiledSchema:
    """Return the same as `compile_schema`, with codes in place of the members of closed choices.

    Args:
        target: As for `compile_schema`.
        dialect: A name in DIALECTS.
        codes: Texts of letters and digits, all different in any letter case. A choice takes all
            of its codes from one group: the first that has enough of them.

    Raises:
        UsageError: If `target` is a value and not a type.
        SchemaError: If the target cannot be described, or its JSON Schema is broken.
        UnsupportedError: If there is no such dialect.
    """
    plain = compile_schema(target, dialect)  # also where the dialect is not known
    kept = _kept_of(target) if isinstance(target, type) else None
    if kept is not None:
        compiled = kept.get((dialect, codes))
        if compiled is None:
            compiled = _keep(kept, (dialect, codes), _build(target, _coded(plain.table, codes)))
        return compiled
    key = (_key(target, dialect), codes)
    with _lock:
        if key[0] is not None and key in _others:
            _others.move_to_end(key)
            return _others[key]
    compiled = _build(target, _coded(plain.table, codes))
    return compiled if key[0] is None else _remember(key, compiled)


@lru_cache(maxsize=64)
def _coded(table: Dialect, codes: Codes) -> Dialect:
    """Return a dialect in which choices have codes, given before anything hangs on their values.

    What is merged of several schemas is merged before, while members can be compared.
    """
    stages = table.lowerings
    at = 1 if stages[0] == ("intersections",) else 0
    return replace(table, codes=codes, lowerings=(*stages[:at], ("codes",), *stages[at:]))


def compile_request(targets: Sequence[tuple[Any, str]]) -> tuple[CompiledSchema, ...]:
    """Return several targets compiled for one request: an output format and tools beside it.

    Where a dialect's limits count over the whole request and the schemas break them together,
    each is compiled again for its share of them, with lists in place of optional keys and unions.

    Args:
        targets: (target, dialect) of each schema, as `compile_schema` takes them. Each one for
            "anthropic-tool" is one strict tool.

    Raises:
        UsageError: If a target is a value and not a type.
        SchemaError: If a target does not compile, or even so they are too much for one request.
        UnsupportedError: If there is no such dialect.
    """
    compiled = tuple(compile_schema(target, dialect) for target, dialect in targets)
    shared = [each for each in compiled if each.table.limits_are_shared]
    if not shared:
        return compiled
    try:
        _check_together(shared)
    except SchemaError:
        parts = len(shared)
        compiled = tuple(
            _share_of(target, each.table, parts) if each.table.limits_are_shared else each
            for each, (target, _) in zip(compiled, targets, strict=True)
        )
        _check_together([each for each in compiled if each.table.limits_are_shared])
    return compiled


def _check_together(schemas: Sequence[CompiledSchema]) -> None:
    tools = sum(each.table.is_tool for each in schemas)
    total = sum((count(each.lowered) for each in schemas), Counts(tools=tools))
    names = ", ".join(each.name for each in schemas)
    check_counts(total, DIALECTS[schemas[0].dialect], f"{names} together")


def _share_of(target: Any, whole: Dialect, parts: int) -> CompiledSchema:
    limits = replace(
        whole.limits,
        optional=(whole.limits.optional or 0) // parts,
        unions=(whole.limits.unions or 0) // parts,
    )
    return _build(target, replace(whole, limits=limits))


def compile_uncached(target: Any, dialect: str) -> CompiledSchema:
    """Return the same as `compile_schema`, made anew: for measurements of what that costs.

    Raises:
        UsageError: If `target` is a value and not a type.
        SchemaError: If the target cannot be described or sent, or its JSON Schema is broken.
    """
    return _build(target, DIALECTS[dialect])


def _reduce(compiled: CompiledSchema) -> tuple[Any, ...]:
    codes = compiled.table.codes
    if codes:
        return compile_coded, (compiled.target, compiled.dialect, codes)
    return compile_schema, (compiled.target, compiled.dialect)


# What is unpickled is compiled again, or found in the cache.
copyreg.pickle(CompiledSchema, _reduce)


class _Kept(dict[Hashable, CompiledSchema]):
    """What was compiled of a class; it is not pickled with it.

    A class that is pickled as a whole, as cloudpickle does with those of a script, has no fields
    yet when this comes back.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, ()


def _kept_of(target: type[Any]) -> dict[Hashable, CompiledSchema] | None:
    """Return what the class keeps; None if nothing can be kept on it, as on those in C."""
    kept = target.__dict__.get(_NAME)
    if kept is not None:
        return cast("dict[Hashable, CompiledSchema]", kept)
    with _lock:
        try:
            if _NAME not in target.__dict__:
                setattr(target, _NAME, _Kept())
        except (AttributeError, TypeError):
            return None
        return cast("dict[Hashable, CompiledSchema]", target.__dict__[_NAME])


def _keep(
    kept: dict[Hashable, CompiledSchema], key: Hashable, compiled: CompiledSchema
) -> CompiledSchema:
    with _lock:
        return kept.setdefault(key, compiled)


def _remember(key: Hashable, compiled: CompiledSchema) -> CompiledSchema:
    with _lock:
        compiled = _others.setdefault(key, compiled)
        if len(_others) > _KEPT:
            _others.popitem(last=False)
    return compiled


def _key(target: Any, dialect: str) -> Hashable | None:
    """Return what equal targets have in common, or None if that cannot be told.

    Unions and Literals are equal in any order, but the order is part of the schema: hence repr.
    """
    if isinstance(target, dict):
        check_extent(cast("JsonObject", target))
        return dialect, json.dumps(target)
    try:
        hash(target)
    except TypeError:
        return None
    return dialect, repr(target), target


def _build(target: Any, dialect: Dialect) -> CompiledSchema:
    if isinstance(target, dict):
        reading, target = None, copy_json(cast("JsonObject", target))
    else:
        reading = adapter(target)
    try:
        return _compiled(target, reading, dialect)
    except RecursionError:
        raise SchemaError(
            f"(root): the target is nested too deeply to be rewritten for {dialect.name}; write "
            "nested parts as definitions and refer to them",
            pointer="",
        ) from None


def _compiled(target: Any, reading: TypeAdapter[Any] | None, dialect: Dialect) -> CompiledSchema:
    described = describe(target)
    tree = read(described.schema)
    report = Report()
    lowered = _lower(tree, dialect, report, is_type=not isinstance(target, dict))
    schema = write(lowered, dialect)
    encoded = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    legend = legend_of(lowered) if dialect.codes else ()
    return CompiledSchema(
        target=target,
        adapter=reading,
        dialect=dialect.name,
        table=dialect,
        name=described.name,
        schema=schema,
        encoded=encoded.encode("utf-8", "surrogatepass"),
        user_schema=cast("JsonObject", bare(described.schema)),
        tree=tree,
        lowered=lowered,
        lifter=Lifter(lowered),
        unenforced=report.unenforced(tree.places),
        rewritten=report.rewritten(tree.places),
        fingerprint=_fingerprint(encoded, dialect, legend),
        legend=legend,
        in_words=report.in_words(tree.places) if dialect.codes else (),
    )


def _lower(tree: SchemaTree, dialect: Dialect, report: Report, *, is_type: bool) -> SchemaTree:
    for stage in dialect.lowerings:
        scope = Scope(dialect=dialect, tree=tree, report=report, is_type=is_type)
        lowered = lower_stage(stage, tree, scope)
        may_drop = "refs" in stage or (lowered is not tree and not _DROPS.isdisjoint(stage))
        tree = _without_unused(lowered) if may_drop else lowered
    if not dialect.open_objects:
        refuse_impossible(tree, dialect)
        check_counts(count(tree), dialect, "(root)")
    return tree


def _without_unused(tree: SchemaTree) -> SchemaTree:
    """Return `tree` without definitions that were merged into others or lost."""
    if not tree.definitions:
        return tree
    used = reachable(tree)
    if len(used) == len(tree.definitions):
        return tree
    kept = {name: node for name, node in tree.definitions.items() if name in used}
    return replace(tree, definitions=kept)


def _fingerprint(encoded: str, dialect: Dialect, legend: Sequence[CodedChoice]) -> str:
    text = f"{dialect.name}:{encoded}"
    if legend:  # the same codes can stand for other members
        text += repr([each.members for each in legend])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
