"""How many of several answers hold the same value: for providers that give no log-probabilities.

Neighbours: `engine` asks several times and hands the documents in. No token is looked at.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from extractkit.confidence._options import ABSENT, json_text
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, get
from extractkit.results import Confidence

__all__ = ["agreement"]


def agreement(
    documents: Sequence[JsonValue], leaves: Sequence[Pointer], *, asked: int | None = None
) -> Mapping[Pointer, Confidence]:
    """Return the share of answers that hold the same value at each leaf of the first one.

    Texts are the same if they differ in case, white space or compatible characters only, numbers
    if they are equal. A place that another answer lacks is another value there: elements of
    lists are compared by position.

    Args:
        documents: Answers in the user's form; the first is the one that is given out.
        leaves: The pointers of its leaves.
        asked: How often was asked, where some answers are no documents; None: as often as there
            are documents. Those that are none agree with nothing.

    Raises:
        UsageError: If there are fewer than two answers, or fewer than documents.
    """
    count = len(documents) if asked is None else asked
    if not documents or count < max(2, len(documents)):
        raise UsageError(
            f"found {len(documents)} documents of {count} answers; expected at least two answers, "
            "one of them a document, and no more documents than answers"
        )
    return {pointer: _at(documents, pointer, count) for pointer in leaves}


def _at(documents: Sequence[JsonValue], pointer: Pointer, count: int) -> Confidence:
    labels: dict[str, str] = {}
    found: Counter[str] = Counter()
    first = ""
    for place, document in enumerate(documents):
        key, label = _key(document, pointer)
        labels.setdefault(key, label)
        found[key] += 1
        first = key if place == 0 else first
    failed = count - len(documents)
    return Confidence(
        kind="agreement",
        probability=found[first] / count,
        alternatives={labels[key]: times / count for key, times in found.items()},
        reason=f"{found[first]} of {count} answers agree"
        + (f"; {failed} are no documents" if failed else ""),
    )


def _key(document: JsonValue, pointer: Pointer) -> tuple[str, str]:
    """Return what is compared, and the value as JSON text."""
    try:
        value = get(document, pointer)
    except KeyError:
        return ABSENT, ABSENT
    if isinstance(value, str):
        plain = " ".join(unicodedata.normalize("NFKC", value).split()).casefold()
        return json_text(plain), json_text(value)
    if isinstance(value, float) and value.is_integer():
        return json_text(int(value)), json_text(value)
    return json_text(value), json_text(value)
