"""Whether a value that Pydantic made is what a JSON scalar says.

Neighbours: `_kept` walks containers and words what is found here. Values of classes that are not
known here count as the same: nothing can be told of them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from extractkit.checks._call import attempt
from extractkit.fields import Unknown
from extractkit.paths import JsonValue

__all__ = ["Likeness", "likeness"]

Likeness: TypeAlias = Literal["number", "close", "other"]
"""How a value differs: the same number of another type; less exact; something else."""

# Classes of these modules are made anew of what they were made of, and compared.
_REMADE: Final = frozenset(
    {"fractions", "ipaddress", "pathlib", "pydantic", "pydantic_core", "uuid"}
)
_BEYOND_MICROSECONDS: Final = re.compile(r"[.,]\d{6}\d*[1-9]")


def likeness(made: Any, said: JsonValue) -> Likeness | None:
    """Return how `made` differs from the scalar `said`, or None where it does not.

    Args:
        made: What Pydantic made.
        said: A JSON scalar of the document.
    """
    own = _KINDS.get(made.__class__)
    if own is not None:
        return own(made, said)
    if isinstance(made, Unknown):
        return None if said == "unknown" else "other"
    if isinstance(made, Enum):
        return None if isinstance(made.value, tuple | list | dict) else likeness(made.value, said)
    for kind, compare in _KINDS.items():  # of a subclass
        if isinstance(made, kind):
            return compare(made, said)
    if type(made).__module__.partition(".")[0] in _REMADE and isinstance(said, str):
        again = attempt(lambda: type(made)(said) == made)
        return None if isinstance(again, Exception) or again else "other"
    return "other" if said is None else None


def _number(made: float, said: JsonValue) -> Likeness | None:
    if isinstance(said, bool) or not isinstance(said, int | float):
        return "other"
    if made == said:
        return "number" if isinstance(made, int) and isinstance(said, float) else None
    return "close" if attempt(lambda: float(said) == float(made)) is True else "other"


def _decimal(made: Decimal, said: JsonValue) -> Likeness | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return "other"
    meant = attempt(partial(Decimal, said if isinstance(said, int) else str(said)))
    return None if meant == made else "other"


def _truth(made: bool, said: JsonValue) -> Likeness | None:
    if made is said:
        return None
    is_number = isinstance(said, int | float) and not isinstance(said, bool) and made == said
    return "number" if is_number else "other"


def _text(made: str, said: JsonValue) -> Likeness | None:
    return None if isinstance(said, str) and made == said else "other"


def _bytes(made: bytes, said: JsonValue) -> Likeness | None:
    if not isinstance(said, str):
        return "other"
    readings: tuple[Callable[[str], bytes], ...] = (
        lambda text: text.encode("utf-8", "surrogatepass"),
        base64.standard_b64decode,
        base64.urlsafe_b64decode,
        bytes.fromhex,
    )
    return None if any(attempt(partial(read, said)) == made for read in readings) else "other"


def _moment(made: Any, said: JsonValue) -> Likeness | None:
    if not isinstance(said, str):
        return "other"
    if _BEYOND_MICROSECONDS.search(said):
        return "close"
    if isinstance(made, timedelta):
        return None  # in one of many spellings; Pydantic has read it exactly
    read: Callable[[str], Any] = made.fromisoformat
    meant = attempt(lambda: read(said))
    if isinstance(meant, Exception):
        return None
    return None if meant == made else "other"


def _nothing(made: None, said: JsonValue) -> Likeness | None:
    del made
    return None if said is None else "other"


_KINDS: Final[Mapping[type[Any], Callable[[Any, JsonValue], Likeness | None]]] = {
    str: _text,
    bool: _truth,
    int: _number,
    float: _number,
    Decimal: _decimal,
    datetime: _moment,
    date: _moment,
    time: _moment,
    timedelta: _moment,
    type(None): _nothing,
    bytes: _bytes,
}
