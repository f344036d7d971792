"""What of a document did not come into the value, or came into it as something else.

Walks value and document side by side. Neighbours: `_types` has made the value; what it had to
take in lax mode is told there. Spellings of one value (2.50 and "2.50" for a Decimal, Z and
+00:00 for an offset) are no change. Values of classes that are not known here, and what a model
makes of defaults, are not compared.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic import RootModel, TypeAdapter
from pydantic_core import to_jsonable_python

from extractkit.checks._call import attempt
from extractkit.checks._reads import Reads, reads_of
from extractkit.checks._same import Likeness, likeness
from extractkit.checks._words import shown
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.results import Finding, Validity

__all__ = ["Keeper", "dropped"]

_Place: TypeAlias = "tuple[_Place, str | int] | None"
_Pair: TypeAlias = tuple[_Place, Any, JsonValue]

_SAYS: Final[Mapping[Likeness, tuple[str, Literal["warning", "note"], str]]] = {
    "number": ("coerced", "warning", "the same number, as another type"),
    "close": ("inexact", "warning", "the type keeps no more of it"),
    "other": ("changed", "note", "a validator or a setting of the model made it so"),
}


class Keeper:
    """Compares values of one target with their documents. Safe between threads.

    Args:
        adapter: Pydantic's reading of the target.

    Attributes:
        has_iterators: Whether values hold what can be read once; whoever reads it uses it up.
    """

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        self._classes, self._aliases, self.has_iterators = reads_of(adapter.core_schema)
        self._write = partial(
            adapter.serializer.to_json,
            by_alias=True,
            exclude_unset=True,
            round_trip=True,
            warnings=False,
        )

    def write(self, value: Any) -> bytes | Exception:
        """Return `value` as JSON, as far as its document set it, or why it cannot be written."""
        return attempt(lambda: self._write(value))

    def compare(self, value: Any, document: JsonValue, written: bytes) -> list[Finding]:
        """Return a finding for each place of `document` that is not in `value` as it stands there.

        Linear in the document, but for sets of values that Python cannot compare with JSON.

        Args:
            value: What Pydantic made.
            document: What it was made of.
            written: The document as JSON, without spaces.
        """
        # Where both are written alike, they are alike: a tenth of the time of the walk.
        if self.write(value) == written:
            return []
        findings: list[Finding] = []
        pending: list[_Pair] = [(None, value, document)]
        while pending:
            place, made, said = pending.pop()
            kind = made.__class__
            if kind is said.__class__ and kind is not dict and kind is not list:
                if made != said:
                    findings.append(_unlike(place, made, said, "other"))
            elif isinstance(made, RootModel):
                pending.append((place, cast("Any", made).root, said))
            elif is_object(said):
                self._members(place, made, said, pending, findings)
            elif is_array(said):
                findings += _items(place, made, said, pending)
            elif (how := likeness(made, said)) is not None:
                findings.append(_unlike(place, made, said, how))
        return findings

    def _members(
        self,
        place: _Place,
        made: Any,
        said: JsonObject,
        pending: list[_Pair],
        findings: list[Finding],
    ) -> None:
        fields = self._fields_of(made.__class__)
        if fields is not None:
            beaten = _beaten(fields, said) if fields.ranks else {}
            for key, part in reversed(said.items()):
                name = fields.keys.get(key)
                if key in beaten:
                    findings.append(_beaten_by(_pointer((place, key)), beaten[key]))
                elif name:
                    value = getattr(made, name, part)
                    kind = part.__class__
                    if kind is dict or kind is list or kind is not value.__class__ or value != part:
                        pending.append(((place, key), value, part))
                elif name is None and not fields.keeps_others:
                    pointer = _pointer((place, key))
                    findings.append(_unread(pointer) if fields.is_prepared else dropped(pointer))
        elif isinstance(made, Mapping):
            self._entries(place, cast("Any", made), said, pending, findings)

    def _fields_of(self, cls: type[Any]) -> Reads | None:
        found = self._classes.get(cls)
        if found is None:
            known = (self._classes[base] for base in cls.__mro__ if base in self._classes)
            found = next(known, None)
        return found

    def _entries(
        self,
        place: _Place,
        made: Mapping[Any, Any],
        said: JsonObject,
        pending: list[_Pair],
        findings: list[Finding],
    ) -> None:
        """Compare a map with a map; keys that are no texts stand in the order of the document."""
        if any(not isinstance(key, str) or isinstance(key, Enum) for key in made):
            if len(made) == len(said):
                pairs = zip(said.items(), made.values(), strict=True)
                pending += [((place, key), value, part) for (key, part), value in pairs]
            else:
                findings += _merged(place, made, said)
            return
        if len(made) == len(said) and not (made.keys() <= said.keys() | self._aliases.keys()):
            for (key, part), name in zip(said.items(), made, strict=True):
                if key != name:
                    findings.append(_unlike((place, key), name, key, "other"))
                pending.append(((place, key), made[name], part))
            return
        for key, part in reversed(said.items()):
            name = key if key in made else self._aliases.get(key)
            if name in made:
                pending.append(((place, key), made[name], part))
            else:
                findings.append(dropped(_pointer((place, key))))


def _beaten(fields: Reads, said: JsonObject) -> dict[str, str]:
    """Return the keys of `said` whose attribute another key of it fills, with that key."""
    first: dict[str, str] = {}
    present = [key for key in said if fields.keys.get(key)]
    for key in sorted(present, key=lambda key: fields.ranks.get(key, 0)):
        first.setdefault(fields.keys[key], key)
    return {key: first[fields.keys[key]] for key in present if first[fields.keys[key]] != key}


def _items(
    place: _Place, made: Any, said: list[JsonValue], pending: list[_Pair]
) -> Iterator[Finding]:
    if isinstance(made, Set):
        yield from _members_of_set(place, cast("Any", made), said)
    elif isinstance(made, list | tuple | deque):
        items = cast("list[Any]", made)
        if len(items) == len(said):
            pairs = reversed(list(enumerate(zip(items, said, strict=True))))
            pending += [((place, at), value, part) for at, (value, part) in pairs]
        else:
            yield _finding(
                _pointer(place),
                f"the value has {len(items)} items where the answer has {len(said)}: "
                f"{_SAYS['other'][2]}",
                "changed",
                "note",
            )


def _members_of_set(place: _Place, made: Set[Any], said: list[JsonValue]) -> Iterator[Finding]:
    if len(made) != len(said):
        message = f"the value has {len(made)} items where the answer has {len(said)}"
        yield _finding(_pointer(place), f"{message}: equal ones are one", "changed", "warning")
        return
    by_writing = {_written(member): member for member in made}
    for at, part in enumerate(said):
        if isinstance(part, dict | list):
            continue  # made of them is something that can be hashed, and is not known here
        twins = [by_writing[part]] if part in by_writing else made
        unlike = [each for member in twins if (each := likeness(member, part)) is not None]
        if len(unlike) == len(twins):
            how: Likeness = "number" if "number" in unlike else "other"
            code, severity, why = _SAYS[how]
            message = f"nothing in the value is {shown(part)} as it stands there: {why}"
            yield _finding(_pointer((place, at)), message, code, severity)


def _written(member: Any) -> JsonValue:
    """Return a member of a set as JSON writes it, if that can be looked up; else None."""
    written = attempt(lambda: to_jsonable_python(member))
    return written if isinstance(written, str | int | float) else None


def _merged(place: _Place, made: Mapping[Any, Any], said: JsonObject) -> Iterator[Finding]:
    """Yield an error for each key that another one of the same meaning has overwritten."""
    last: dict[Any, str] = {}
    is_told = False
    for key in said:
        alike = (name for name in made if likeness(name, _unwritten(key, name)) is None)
        meant = next(alike, key)
        if meant in last:
            message = (
                f"the keys {json.dumps(last[meant])} and {json.dumps(key)} are one to the type"
            )
            yield _finding(
                _pointer((place, last[meant])),
                f"{message}; expected each once: the value of the first is lost",
                "duplicate_key",
                "error",
            )
            is_told = True
        last[meant] = key
    if not is_told:
        message = f"of {len(said)} keys the type makes {len(made)}; expected each once"
        yield _finding(_pointer(place), message, "duplicate_key", "error")


def _unwritten(key: str, like: Any) -> JsonValue:
    """Return what a key says where keys are numbers or booleans, which JSON writes as texts."""
    if isinstance(like, Enum):
        like = like.value
    if isinstance(like, bool):
        return key.lower() in ("1", "on", "t", "true", "y", "yes") if key else key
    read: Callable[[str], Any] | None = next(
        (kind for kind in (int, float) if isinstance(like, kind)), None
    )
    if read is None:
        return key
    number = attempt(lambda: read(key))
    return key if isinstance(number, Exception) else number


# --- words ---------------------------------------------------------------------------------------


def _unlike(place: _Place, made: Any, said: JsonValue, how: Likeness) -> Finding:
    code, severity, why = _SAYS[how]
    written = attempt(lambda: to_jsonable_python(made, fallback=str))
    has = f"of type {type(made).__name__}" if isinstance(written, Exception) else shown(written)
    message = f"the value is {has} where the answer says {shown(said)}: {why}"
    return _finding(_pointer(place), message, code, severity)


def dropped(pointer: Pointer) -> Finding:
    """Return the warning that the target leaves out what stands at `pointer`."""
    return _finding(
        pointer,
        "the target declares no such field and drops it; it is not in the value",
        "undeclared_field",
        "warning",
    )


def _beaten_by(pointer: Pointer, key: str) -> Finding:
    message = f"the field is filled from {json.dumps(key)} beside it; this value is left out"
    return _finding(pointer, message, "undeclared_field", "warning")


def _unread(pointer: Pointer) -> Finding:
    message = "the target declares no such field; only a validator of the model may have read it"
    return _finding(pointer, message, "undeclared_field", "note")


def _finding(
    path: Pointer, message: str, code: str, severity: Literal["error", "warning", "note"]
) -> Finding:
    return Finding(level=Validity.SCHEMA, path=path, message=message, code=code, severity=severity)


def _pointer(place: _Place) -> Pointer:
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key)
    return join("", *reversed(keys))
