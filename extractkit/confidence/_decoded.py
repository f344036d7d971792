"""JSON inside of a JSON string: its bytes without their escapes, and which tokens wrote them.

Neighbours: `_alignment` says which tokens wrote the string, `_score` weighs what stands in it like
any other document. A token that only began an escape goes together with the one that ends it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Final

from extractkit.confidence._alignment import Alignment
from extractkit.messages import TokenAlternative, TokenLogprob

__all__ = ["decoded"]

_PLAIN: Final = {
    b"\\" + bytes([name]): bytes([byte])
    for name, byte in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True)
}
_ESCAPE: Final = re.compile(rb'\\(?:["\\/bfnrt]|u([0-9a-fA-F]{4}))')
_PART: Final = re.compile(rb"[^\\]+")


def decoded(run: Alignment, start: int, end: int) -> Alignment | None:
    """Return what the JSON string at [start, end) holds, with its tokens.

    Args:
        run: The answer and its tokens.
        start: The string's opening quote.
        end: The byte behind its closing quote.

    Returns:
        None where bytes of it have no token.
    """
    first, last = start + 1, end - 1
    if run.missing(first, last):
        return None
    data = bytearray()
    tokens: list[TokenLogprob] = []
    starts: list[int] = []
    held, begun = b"", None
    for index in run.over(first, last):
        token, at = run.tokens[index], run.starts[index]
        before = token.token[: max(0, first - at)]
        inside = token.token[len(before) : last - at]
        part, rest = _unescaped(held + inside)
        here = _of_inside(token, before, part, held)
        here = here if begun is None else _joined(begun, here)
        if not part:
            held, begun = rest, here
            continue
        starts.append(len(data))
        tokens.append(here)
        data += part
        held, begun = rest, None
    if not tokens:
        return None
    return dataclasses.replace(
        run,
        data=bytes(data),
        tokens=tuple(tokens),
        starts=tuple(starts),
        ends=(*starts[1:], len(data)),
        holes=(),
        unplaced=(),
        end=None,
    )


def _of_inside(token: TokenLogprob, before: bytes, part: bytes, held: bytes) -> TokenLogprob:
    """Return a token with its bytes and those of its alternatives as they are without escapes.

    An alternative that leaves the string, or only begins an escape, is left out: its mass is then
    among what is not visible.
    """
    beside: list[TokenAlternative] = []
    for other in token.alternatives:
        if not other.token.startswith(before):
            continue
        piece = other.token[len(before) :]
        inner, _ = _unescaped(held + piece)
        if inner and not _has_end(held + piece):
            beside.append(dataclasses.replace(other, token=inner))
    return dataclasses.replace(token, token=part, alternatives=tuple(beside))


def _has_end(piece: bytes) -> bool:
    """Whether a piece of a JSON string ends it."""
    return b'"' in _ESCAPE.sub(b"", piece)


def _joined(first: TokenLogprob, second: TokenLogprob) -> TokenLogprob:
    """Return two tokens as one, with what could have stood in place of both."""
    lowest = max(_lowest(first.alternatives), first.logprob + _lowest(second.alternatives))
    beside = [
        *first.alternatives,
        *(_after(first, other) for other in second.alternatives),
    ]
    removed = [each.removed_mass for each in (first, second) if each.removed_mass is not None]
    return dataclasses.replace(
        second,
        logprob=first.logprob + second.logprob,
        raw_logprob=_sum(first.raw_logprob, second.raw_logprob),
        removed_mass=max(removed) if removed else None,
        # Below this one not all are visible, so that none of them would bound what is not.
        alternatives=tuple(other for other in beside if other.logprob >= lowest),
        forced=first.forced and second.forced,
    )


def _after(first: TokenLogprob, other: TokenAlternative) -> TokenAlternative:
    return dataclasses.replace(
        other,
        logprob=first.logprob + other.logprob,
        raw_logprob=_sum(first.raw_logprob, other.raw_logprob),
    )


def _lowest(alternatives: Sequence[TokenAlternative]) -> float:
    return min((other.logprob for other in alternatives), default=math.inf)


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _unescaped(piece: bytes) -> tuple[bytes, bytes]:
    """Return the bytes that a piece of a JSON string stands for, and what is left unfinished."""
    found = bytearray()
    at = 0
    while at < len(piece):
        plain = _PART.match(piece, at)
        if plain:
            found += plain[0]
            at = plain.end()
            continue
        escape = _ESCAPE.match(piece, at)
        if escape is None:
            return bytes(found), piece[at:]
        end = escape.end()
        if escape[1] is None:
            found += _PLAIN[escape[0]]
        else:
            units = [int(escape[1], 16)]
            if 0xD800 <= units[0] < 0xDC00:  # the first half of a character
                second = _ESCAPE.match(piece, end)
                if second is None or second[1] is None:
                    return bytes(found), piece[at:]
                units.append(int(second[1], 16))
                end = second.end()
            wide = b"".join(unit.to_bytes(2, "little") for unit in units)
            found += wide.decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass")
        at = end
    return bytes(found), b""
