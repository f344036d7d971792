"""What a JSON Schema validator objects to, in plain words and at the place in the document.

Neighbours: `_judge` runs the validator, `prompts` shows the sentences to a model, so each says
what was found and what is expected. Values are shown in at most SHOWN characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from extractkit.paths import JsonValue, Pointer, join

__all__ = ["NEARLY_FIT", "SEVERAL_FIT", "SHOWN", "describe", "shown"]

SHOWN: Final = 80
"""Characters of a value that a message shows."""

_Said: TypeAlias = tuple[Pointer, str, str]  # place, keyword, sentence

_KINDS: Final[tuple[tuple[type[object], str], ...]] = (
    (str, "the string "),
    (bool, ""),
    (int, "the number "),
    (float, "the number "),
    (list, "the array "),
    (dict, "the object "),
)
_EXPECTED: Final[Mapping[str, str]] = {
    "const": "expected exactly {limit}",
    "dependentRequired": "expected the fields that others of this object demand: {limit}",
    "exclusiveMaximum": "expected less than {limit}",
    "exclusiveMinimum": "expected more than {limit}",
    "format": "expected a string of format {limit}",
    "maxItems": "expected at most {limit} items",
    "maxLength": "expected at most {limit} characters",
    "maxProperties": "expected at most {limit} fields",
    "maximum": "expected at most {limit}",
    "minItems": "expected at least {limit} items",
    "minLength": "expected at least {limit} characters",
    "minProperties": "expected at least {limit} fields",
    "minimum": "expected at least {limit}",
    "multipleOf": "expected a multiple of {limit}",
    "not": "expected a value that {limit} does not admit",
    "pattern": "expected a string that matches {limit}",
    "uniqueItems": "expected no item twice",
}


class SchemaViolation(Protocol):
    """An error of jsonschema, as far as this file reads it."""

    validator: Any
    validator_value: Any
    instance: Any
    schema: Any
    message: Any
    context: Any

    @property
    def absolute_path(self) -> Sequence[str | int]:
        """Keys and positions in the document, outermost first."""
        ...

    @property
    def relative_path(self) -> Sequence[str | int]:
        """The same, from the place of the choice that the error belongs to."""
        ...

    @property
    def relative_schema_path(self) -> Sequence[str | int]:
        """Keywords and positions in the schema, from the place of that choice."""
        ...


def shown(value: JsonValue) -> str:
    """Return `value` as JSON with the kind before it, cut to SHOWN characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        text = f"of type {type(value).__name__}"
    kinds = (word for kind, word in _KINDS if isinstance(value, kind))
    return next(kinds, "") + _cut(text)


def describe(error: SchemaViolation) -> Iterator[_Said]:
    """Yield (place, keyword, sentence) for each thing that one validation error stands for.

    Of alternatives, only the one that was meant is spoken of, where that is clear.
    """
    describe_keyword = _KEYWORDS.get(str(error.validator))
    if describe_keyword is not None:
        yield from describe_keyword(error)
        return
    here = join("", *error.absolute_path)
    keyword = str(error.validator)
    if error.validator is None or (keyword == "not" and error.validator_value == {}):
        yield here, "false", f"expected nothing here, found {shown(error.instance)}"
        return
    expected = _EXPECTED.get(keyword)
    if expected is None:
        yield here, keyword, _cut(error.message, 3 * SHOWN)
        return
    limit = error.validator_value
    limit = limit if keyword in ("format", "pattern") else _cut(_json(limit))
    yield here, keyword, f"{expected.format(limit=limit)}, found {shown(error.instance)}"


def _required(error: SchemaViolation) -> Iterator[_Said]:
    here = join("", *error.absolute_path)
    for name in error.validator_value:
        if name not in error.instance:
            yield join(here, name), "required", f"the field {_json(name)} is missing"


def _additional(error: SchemaViolation) -> Iterator[_Said]:
    here = join("", *error.absolute_path)
    declared = error.schema.get("properties", {})
    patterns = error.schema.get("patternProperties")
    extra = [name for name in error.instance if name not in declared]
    if patterns or error.validator == "unevaluatedProperties":
        yield here, str(error.validator), _cut(error.message, 3 * SHOWN)
        return
    allowed = _cut(", ".join(map(str, declared)) or "no field", 2 * SHOWN)
    for name in extra:
        message = f"the field {_json(name)} is not declared; expected only: {allowed}"
        yield join(here, name), "additionalProperties", message


def _type(error: SchemaViolation) -> Iterator[_Said]:
    here = join("", *error.absolute_path)
    yield here, "type", f"expected {_either(_types([error]))}, found {shown(error.instance)}"


def _enum(error: SchemaViolation) -> Iterator[_Said]:
    here = join("", *error.absolute_path)
    options = _cut(", ".join(map(_json, error.validator_value)), 3 * SHOWN)
    yield here, "enum", f"expected one of {options}, found {shown(error.instance)}"


def _alternatives(error: SchemaViolation) -> Iterator[_Said]:
    """Speak of the alternative that was meant, or of the whole choice."""
    here = join("", *error.absolute_path)
    keyword = str(error.validator)
    branches = _branches(error)
    if not error.context:
        fit = f"{shown(error.instance)} fits more than one alternative; expected exactly one"
        yield here, SEVERAL_FIT, fit
        return
    meant = _meant(branches)
    if len(meant) == 1:
        for part in meant[0]:
            yield from describe(part)
        return
    if not meant:
        wanted = _either(_types(part for branch in branches for part in branch))
        code = "type" if _all_types(branches) else keyword
        yield here, code, f"expected {wanted}, found {shown(error.instance)}"
        return
    nearest = min(meant, key=len)
    place, _, why = next(describe(nearest[0]), (here, keyword, nearest[0].message))
    message = f"{NEARLY_FIT} {len(branches)} alternatives; the nearest fails at {place or '(root)'}"
    yield here, keyword, f"{message}: {why}"


NEARLY_FIT: Final = "fits none of"
"""How the message of a value begins that several alternatives could have been meant by."""

SEVERAL_FIT: Final = "oneOf_several"
"""Code of a value that fits several alternatives of a oneOf."""

_KEYWORDS: Final[Mapping[str, Callable[[SchemaViolation], Iterator[_Said]]]] = {
    "additionalProperties": _additional,
    "anyOf": _alternatives,
    "enum": _enum,
    "oneOf": _alternatives,
    "required": _required,
    "type": _type,
    "unevaluatedProperties": _additional,
}


def _branches(error: SchemaViolation) -> list[list[SchemaViolation]]:
    """Return the errors of each alternative, in order, but for those that are `false`."""
    branches: dict[object, list[SchemaViolation]] = {}
    for part in error.context or ():
        if part.relative_schema_path:
            branches.setdefault(part.relative_schema_path[0], []).append(part)
    return list(branches.values())


def _meant(branches: list[list[SchemaViolation]]) -> list[list[SchemaViolation]]:
    """Return the alternatives that the value can have been meant for.

    Not those of another type, nor those whose tag (a const or enum one level below) is another.
    """
    near = [
        branch
        for branch in branches
        if not any(_is_choice(part, "type") and not part.relative_path for part in branch)
    ]
    near = [
        branch
        for branch in near
        if not any(_is_choice(part, "const", "enum") and not part.relative_path for part in branch)
    ]
    same_tag = [
        branch
        for branch in near
        if not any(
            _is_choice(part, "const", "enum") and len(part.relative_path) == 1 for part in branch
        )
    ]
    return same_tag or near


def _is_choice(part: SchemaViolation, *keywords: str) -> bool:
    return part.validator in keywords


def _all_types(branches: list[list[SchemaViolation]]) -> bool:
    return all(part.validator == "type" for branch in branches for part in branch)


def _types(parts: Iterable[SchemaViolation]) -> list[str]:
    """Return what the errors at one place would have taken."""
    wanted: list[str] = []
    for part in parts:
        value = part.validator_value
        if part.validator == "type":
            wanted.extend([value] if isinstance(value, str) else value)
        elif part.validator == "enum":
            wanted.extend(map(_json, value))
        elif part.validator == "const":
            wanted.append(_json(value))
    return list(dict.fromkeys(wanted))


def _either(words: list[str]) -> str:
    return _cut(" or ".join(words) or "another value", 2 * SHOWN)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, limit: int = SHOWN) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
