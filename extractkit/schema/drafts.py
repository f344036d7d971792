"""Which draft of JSON Schema a document is written in, and which keywords that draft knows.

A keyword that a draft does not know says nothing in it. A document that names no draft is read
as 2020-12 with the spellings of all older ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject

__all__ = ["UNSTATED", "draft_of", "unknown_to"]

UNSTATED: Final = 0
"""The draft of a document that names none."""

_DRAFTS: Final[Mapping[str, int]] = {
    "json-schema.org/draft-03/schema": 3,
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
    "json-schema.org/schema": 2020,
    "": UNSTATED,
}
# First and last draft of keywords that not every draft has; jsonschema-rs reads them so, too.
_LATEST: Final = 2020
_KNOWN: Final[Mapping[str, tuple[int, int]]] = {
    "$anchor": (2019, _LATEST),
    "$dynamicAnchor": (2020, _LATEST),
    "$dynamicRef": (2020, _LATEST),
    "$recursiveAnchor": (2019, 2019),
    "$recursiveRef": (2019, 2019),
    "additionalItems": (3, 2019),
    "const": (6, _LATEST),
    "contains": (6, _LATEST),
    "dependentRequired": (2019, _LATEST),
    "dependentSchemas": (2019, _LATEST),
    "else": (7, _LATEST),
    "if": (7, _LATEST),
    "maxContains": (2019, _LATEST),
    "minContains": (2019, _LATEST),
    "prefixItems": (2020, _LATEST),
    "propertyNames": (6, _LATEST),
    "then": (7, _LATEST),
    "unevaluatedItems": (2019, _LATEST),
    "unevaluatedProperties": (2019, _LATEST),
}


def draft_of(schema: JsonObject) -> int:
    """Return the draft that a document names, as 3, 4, 6, 7, 2019 or 2020; UNSTATED for none.

    Raises:
        SchemaError: If it names something else: keywords then mean what only its author knows.
    """
    stated = schema.get("$schema", "")
    if isinstance(stated, str):
        place = stated.removeprefix("http://").removeprefix("https://").removesuffix("#")
        if place in _DRAFTS:
            return _DRAFTS[place]
    raise SchemaError(
        f'(root): "$schema" is {stated!r:.120}, expected one of the drafts 4, 6, 7, 2019-09 and '
        '2020-12, such as "https://json-schema.org/draft/2020-12/schema"; nothing is ever '
        "fetched, so name the draft that the keywords are meant in, or none",
        pointer="",
    )


@cache
def unknown_to(draft: int) -> frozenset[str]:
    """Return the keywords of other drafts that say nothing in this one."""
    if draft == UNSTATED:
        return frozenset()
    # With a list under "items", 2020-12 is not meant, whatever "$schema" says.
    kept = {"additionalItems"} if draft == _LATEST else set[str]()
    return frozenset(
        keyword
        for keyword, (first, last) in _KNOWN.items()
        if not first <= draft <= last and keyword not in kept
    )
