"""What in a target makes wrong answers likely, told before anything is asked.

    spots       the places of a target, in declared order
    required, listed, units, objects, shown, held       the rules
    words, notation                                     lists of words; how fixes are written

Neighbours: users and the command line call `lint`. It asks no model, changes no target and judges
no answer. Every finding is a warning: a rule looks at types, names and descriptions alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from extractkit.errors import UsageError
from extractkit.paths import Pointer
from extractkit.schema.compile import compile_schema
from extractkit.schema.lint import held, listed, objects, required, units
from extractkit.schema.lint.finding import LINT_RULES, LintFinding, LintRule
from extractkit.schema.lint.shown import Shown, documents, one_sided, shown_by
from extractkit.schema.lint.spots import Limit, Spot, Walk
from extractkit.schema.nodes import ArrayNode, ObjectNode, SchemaTree
from extractkit.schema.plain import with_article

__all__ = ["LINT_RULES", "LintFinding", "LintRule", "lint"]


def lint(
    target: Any, *, examples: Sequence[Any] = (), dialects: Sequence[str] = ()
) -> tuple[LintFinding, ...]:
    """Return what in a target makes wrong answers likely, in declared order.

    A definition that stands at several places is told at each of them, up to four; at most
    5,000 places are looked at. What was not looked at is a finding of its own ("incomplete").

    Args:
        target: A Pydantic model class, a type that a TypeAdapter takes, or a JSON Schema.
        examples: Example objects, or their values alone: instances, or plain documents.
        dialects: Names in DIALECTS; what one of them cannot hold is told, too.

    Raises:
        UsageError: If `target` is a value and not a type, or an example does not fit it.
        SchemaError: If the target cannot be described, or its JSON Schema is broken.
        UnsupportedError: If there is no such dialect.

    Examples:
        >>> from pydantic import BaseModel
        >>> class Parcel(BaseModel):
        ...     weight: float
        >>> [(finding.pointer, finding.rule) for finding in lint(Parcel)]
        [('/weight', 'required-value'), ('/weight', 'number-without-unit')]
    """
    _require_several("examples", examples, "[Example(text=..., value=...)]")
    _require_several("dialects", dialects, '["openai-strict"]')
    compiled = compile_schema(target, "json-schema")
    tree = compiled.tree
    shown = shown_by(documents(compiled, examples), tree) if examples else None
    walk = Walk(tree)
    findings: list[LintFinding] = []
    places: dict[Pointer, int] = {}
    leaves = 0
    for spot in walk.spots():
        places.setdefault(spot.pointer, len(places))
        leaves += _is_leaf(spot)
        findings += _of_spot(spot, tree, shown, is_type=compiled.adapter is not None)
    findings += objects.too_many_leaves(leaves)
    for dialect in dict.fromkeys(dialects):
        findings += held.not_held(target, dialect)
    for limit in walk.limits:
        findings += _incomplete(limit, findings)
    return _in_order(findings, places)


def _require_several(name: str, given: object, expected: str) -> None:
    if not isinstance(given, list | tuple):
        kind = type(given).__name__
        raise UsageError(
            f"{name} is {with_article(kind)}; expected a list or tuple such as {expected}"
        )


def _of_spot(
    spot: Spot, tree: SchemaTree, shown: Shown | None, *, is_type: bool
) -> Iterator[LintFinding]:
    yield from required.required_value(spot, tree, is_type=is_type)
    yield from required.closed_enum(spot, is_type=is_type)
    yield from listed.listed_in_prose(spot, is_type=is_type)
    yield from units.number_without_unit(spot, is_type=is_type)
    if spot.is_entered:
        yield from objects.late_reasoning(spot, tree)
        yield from objects.too_many_fields(spot)
        yield from objects.open_map(spot, tree, is_type=is_type)
    yield from objects.untyped(spot)
    if shown is not None:
        yield from one_sided(spot, shown)


def _is_leaf(spot: Spot) -> bool:
    return not any(isinstance(node, ObjectNode | ArrayNode) for node in spot.meaning.alternatives)


def _incomplete(limit: Limit, findings: Sequence[LintFinding]) -> Iterator[LintFinding]:
    if limit.definition is None:
        yield LintFinding(
            pointer=limit.pointer,
            rule="incomplete",
            reason="the target has more places than lint looks at, so from here on nothing is told",
            fix="lint its parts one by one",
        )
    elif any(_lies_in(item.pointer, limit.told_at) for item in findings):
        # Where the definition has no finding, its other places have none either.
        yield LintFinding(
            pointer=limit.pointer,
            rule="incomplete",
            reason=(
                f'"{limit.definition}" stands at more places than lint tells; its findings are the '
                f"same here and further on as at {limit.told_at[0] or '(root)'}"
            ),
            fix="mend it there",
        )


def _lies_in(pointer: Pointer, places: Sequence[Pointer]) -> bool:
    return any(pointer.startswith(f"{place}/") for place in places)


def _in_order(
    findings: Sequence[LintFinding], places: dict[Pointer, int]
) -> tuple[LintFinding, ...]:
    """Return findings by place, then by rule; one rule tells the same of a place only once."""

    def rank(finding: LintFinding) -> tuple[int, int]:
        at = finding.pointer
        while at and at not in places:
            at = at.rpartition("/")[0]
        return places.get(at, 0), LINT_RULES.index(finding.rule)

    kept: dict[object, LintFinding] = {}
    for finding in findings:
        # Several dialects, and the two limits on size, may each speak of one place.
        several = finding.rule in ("unenforced", "refused", "too-many-fields")
        own = finding.reason if several else ""
        kept.setdefault((finding.pointer, finding.rule, own), finding)
    return tuple(sorted(kept.values(), key=rank))
