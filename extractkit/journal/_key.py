"""Which question a row answers.

Neighbours: `_line` writes keys, `_file` finds rows by their digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any

from extractkit.errors import UsageError

__all__ = ["Key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Everything that makes one question another: change any of it, and it is a new row.

    Attributes:
        id: What the caller calls the input.
        content: Digest of the input.
        target: Fingerprint of what is asked for.
        model: Who is asked.
        parameters: Digest of how it is asked.
        digest: 16 bytes that stand for all of these.

    Raises:
        UsageError: If one of them is no text.
    """

    id: str
    content: str
    target: str
    model: str
    parameters: str
    digest: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        for name, value in parts.items():
            if not isinstance(value, str):
                raise UsageError(f"Key({name}={value!r:.60}): expected a text")
        # A JSON list has one reading: ("a", "bc") and ("ab", "c") are two keys.
        object.__setattr__(self, "digest", _digest(json.dumps([*parts.values()])))

    @classmethod
    def of(
        cls,
        id: str,
        content: str | bytes,
        *,
        target: str,
        model: str,
        parameters: Mapping[str, Any],
    ) -> Key:
        """Return the key of a question.

        Args:
            id: What the caller calls the input.
            content: The input itself; only its digest is kept.
            target: Fingerprint of what is asked for.
            model: Who is asked.
            parameters: How it is asked, as plain JSON; the order of the names says nothing.

        Raises:
            UsageError: If the parameters are no plain JSON, or another part is no text.
        """
        try:
            spelled = json.dumps(parameters, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as exc:
            raise UsageError(f"the parameters of a key must be plain JSON: {exc}") from exc
        return cls(
            id=id,
            content=_digest(content).hex(),
            target=target,
            model=model,
            parameters=_digest(spelled).hex(),
        )


def _digest(content: str | bytes) -> bytes:
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).digest()
