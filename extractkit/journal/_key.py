"""Which question a row answers.

Neighbours: `_line` writes keys, `_file` finds rows by their digests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
        parts: list[object] = [self.id, self.content, self.target, self.model, self.parameters]
        for place, value in enumerate(parts):
            if not isinstance(value, str):
                name = fields(self)[place].name
                raise UsageError(f"Key({name}={value!r:.60}): expected a text")
        # A JSON list has one reading: ("a", "bc") and ("ab", "c") are two keys.
        object.__setattr__(self, "digest", _digest(json.dumps(parts)))

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
        return cls.maker(target=target, model=model, parameters=parameters)(id, content)

    @classmethod
    def maker(
        cls, *, target: str, model: str, parameters: Mapping[str, Any]
    ) -> Callable[[str, str | bytes], Key]:
        """Return what makes the keys of questions that differ in id and content, as `of` does.

        Args:
            target: As of `of`.
            model: Likewise.
            parameters: Likewise; what they are now counts.

        Raises:
            UsageError: If the parameters are no plain JSON; while making one, as of `of`.
        """
        try:
            spelled = json.dumps(parameters, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as exc:
            raise UsageError(f"the parameters of a key must be plain JSON: {exc}") from exc
        digest = _digest(spelled).hex()

        def make(id: str, content: str | bytes) -> Key:
            told = _digest(content).hex()
            return cls(id=id, content=told, target=target, model=model, parameters=digest)

        return make


def _digest(content: str | bytes) -> bytes:
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).digest()
