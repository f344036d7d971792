r"""What regular expressions are made of, token by token, as far as providers speak of it.

look-around     (?=  (?!  (?<=  (?<!
back-reference  \1  \k<name>  (?P=name)
boundary        \b  \B  \A  \z  \Z
property        \p{..}  \P{..}
extension       another group that begins with (? and is neither (?: nor a named one
repeat          {n}  {n,}  {n,m}: `number` is the greatest number in it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of an expression that some provider cannot take."""

    kind: str
    text: str
    number: int = 0


_PIECE = re.compile(
    r"(?P<lookaround>\(\?<?[=!])"
    r"|(?P<group>\(\?(?::|P?<[A-Za-z_]\w*>))"
    r"|(?P<named_reference>\(\?P=\w+\))"
    r"|(?P<extension>\(\?)"
    r"|(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<repeat>\{(?P<low>\d+)(?:,(?P<high>\d*))?\})"
    r"|(?P<reference>\\(?:[1-9]\d*|k<\w+>))"
    r"|(?P<boundary>\\[bBAzZ])"
    r"|(?P<property>\\[pP]\{[^}]*\})"
    r"|(?:\\.|.)",
    re.DOTALL,
)
_KINDS = {
    "lookaround": "look-around",
    "named_reference": "back-reference",
    "reference": "back-reference",
    "boundary": "boundary",
    "property": "property",
    "extension": "extension",
    "repeat": "repeat",
}


def tokens(pattern: str) -> Iterator[Token]:
    """Yield the pieces of `pattern` that the table above names, from left to right."""
    for match in _PIECE.finditer(pattern):
        kind = next((name for name in _KINDS if match[name]), None)
        if kind is not None:
            numbers = [int(match[name]) for name in ("low", "high") if match[name]]
            yield Token(kind=_KINDS[kind], text=match[0], number=max(numbers, default=0))
        elif match["class"] and (inside := re.search(r"\\[pP]\{[^}]*\}", match[0])):
            yield Token(kind="property", text=inside[0])
