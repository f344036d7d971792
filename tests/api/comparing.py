"""What results are compared by."""

from __future__ import annotations

import json
from typing import Any

from extractkit import ExtractionResult


def timeless(result: ExtractionResult[Any]) -> dict[str, Any]:
    """Return all of a result but how long things took."""
    plain: dict[str, Any] = json.loads(result.to_json())
    del plain["timing"]
    for attempt in plain["attempts"]:
        del attempt["seconds"]
    return plain
