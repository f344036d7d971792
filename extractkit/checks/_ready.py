"""What ready checks have in common: they know their places, and say so before an answer comes.

They look at the document, so that models and JSON Schemas are the same to them. Neighbours:
`_patterns` finds places; `_sums`, `_bounds` and `_fields` judge them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from extractkit.checks._context import CheckContext
from extractkit.checks._patterns import ABSENT, Binding, Pattern, Place, require_alike
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Finding, Validity
from extractkit.schema import CompiledSchema

__all__ = [
    "ReadyCheck",
    "Said",
    "Severity",
    "no_quantity",
    "not_compared",
    "rows_of",
    "written",
]

Severity: TypeAlias = Literal["error", "warning", "note"]
_Judge: TypeAlias = "Callable[[Sequence[list[Place]]], Iterator[Said]]"
_SEVERITIES: Final = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a check has to say of one place."""

    path: Pointer
    message: str
    code: str
    is_note: bool = False


class ReadyCheck:
    """A check that knows which places of the target it looks at.

    Attributes:
        name: The name of its factory with its pointers.
    """

    def __init__(
        self,
        name: str,
        patterns: Sequence[Pattern],
        judge: _Judge,
        *,
        severity: Severity,
        kinds: frozenset[str] = frozenset(),
        alike: bool = False,
    ) -> None:
        """Prepare the check; `adds_up` and the others do.

        Args:
            name: The name of its factory.
            patterns: The places that it looks at.
            judge: Says what is wrong with what stands there.
            severity: Of what it finds.
            kinds: Of which one must be possible at each place; none where nothing is compared.
            alike: Whether one and the same must be possible at all places.

        Raises:
            UsageError: If the severity is none.
        """
        if severity not in _SEVERITIES:
            raise UsageError(f"{name}(severity={severity!r}): expected one of {_SEVERITIES}")
        self.name = f"{name}({', '.join(pattern.text for pattern in patterns)})"
        self.__qualname__ = self.name
        self._patterns = tuple(patterns)
        self._judge = judge
        self._severity: Severity = severity
        self._kinds = kinds
        self._alike = alike

    def require_fit(self, compiled: CompiledSchema) -> None:
        """Return if the target has every place that the check looks at.

        Raises:
            UsageError: If it does not, or no value there could be compared.
        """
        for pattern in self._patterns:
            pattern.require_in(compiled, self._kinds)
        if self._alike:
            require_alike(self._patterns, compiled)

    def __call__(self, context: CheckContext) -> Iterator[Finding]:
        """Yield what the check has to say of one answer."""
        self.require_fit(context.compiled)
        compiled, document = context.compiled, context.document
        places = [pattern.places(document, compiled) for pattern in self._patterns]
        for said in self._judge(places):
            yield Finding(
                level=Validity.CONSISTENT,
                path=said.path,
                message=said.message,
                severity="note" if said.is_note else self._severity,
                code=said.code,
            )

    def __repr__(self) -> str:
        return self.name


def rows_of(patterns: Sequence[Pattern], places: Sequence[list[Place]]) -> list[list[Place]]:
    """Return the places that belong together, one of each pattern, for each one of the widest."""
    tables: list[Mapping[Binding, Place]] = [
        {place.binding: place for place in each} for each in places
    ]
    widest = max(range(len(patterns)), key=lambda at: patterns[at].stars)
    rows: list[list[Place]] = []
    for binding in tables[widest]:
        row = [
            table.get(binding[: pattern.stars])
            for pattern, table in zip(patterns, tables, strict=True)
        ]
        rows.append([place for place in row if place is not None])
    return rows


def no_quantity(place: Place, expected: str) -> Said:
    """Return that what stands at `place` is nothing that has an order."""
    message = f"{written(place.value)} cannot be compared: expected a {expected}"
    return Said(path=place.pointer, message=message, code="not_comparable")


def not_compared(path: Pointer, message: str) -> Said:
    """Return the note that nothing was compared, and why."""
    return Said(path=path, message=message, code="not_compared", is_note=True)


def written(value: JsonValue) -> str:
    """Return a value for a message."""
    if value is ABSENT:
        return "null"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
