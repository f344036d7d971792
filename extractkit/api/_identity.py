"""What makes an answer another one: who is asked, how, and about what.

Neighbours: `evaluation` and `batch` find with it what their journals know already; `journal` has
the keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import CellType, CodeType
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from extractkit import prompts
from extractkit.checks import ReadyCheck
from extractkit.errors import UsageError
from extractkit.messages import Provider
from extractkit.paths import JsonObject

__all__ = ["facts_of"]

_SILENT: Final = frozenset({"cache", "model", "observers", "price", "timeout_s"})
"""Options that do not say how an answer comes about, or are told apart (`model`)."""


def facts_of(options: Mapping[str, Any], provider: Provider) -> JsonObject:
    """Return who is asked and how, as plain JSON that stays the same over processes.

    Two answers about one target and one text are worth the same where these are: `model` and
    `parameters` are those of a journal's Key.

    Args:
        options: The keywords of an Extractor, as they were given.
        provider: Whom it asks.

    Raises:
        UsageError: If an option has no such form.
    """
    told = {
        name: _plain(name, value) for name, value in sorted(options.items()) if name not in _SILENT
    }
    settings = _plain("model", getattr(provider, "settings", None))
    if settings:
        told["provider"] = settings
    own = f"{provider.name}:"  # that of a local model begins with it
    return {
        "model": own + provider.model.removeprefix(own),
        "parameters": {**told, "prompt": prompts.VERSION},
    }


def _plain(name: str, value: Any) -> Any:
    try:
        return to_jsonable_python(value, fallback=_named)
    except (ValueError, PydanticSerializationError) as exc:
        raise UsageError(
            f"the option {name!r} cannot be written down, so that a journal cannot tell whether it "
            f"changed: {exc}"
        ) from exc


def _named(value: Any) -> str:
    """Return a name for what is no data: a function is told by where it is defined.

    Of one scope there may be several lambdas, and what a function is made with differs: where the
    place is a function too, its code and what it holds are told besides.
    """
    if isinstance(value, ReadyCheck):
        return repr(value)
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if not module or not name:
        raise ValueError(f"found {value!r:.60}")
    code = getattr(value, "__code__", None)
    if "<" not in name or not isinstance(code, CodeType):
        return f"{module}.{name}"
    cells = getattr(value, "__closure__", None) or ()
    held = [_held(cell.cell_contents) for cell in cells if cell != CellType()]
    told = repr([_code(code), held, _held([value.__defaults__, value.__kwdefaults__])])
    return f"{module}.{name}:{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _code(code: CodeType) -> list[Any]:
    """Return what a function does, without where it stands."""
    return [code.co_code.hex(), code.co_names, [_constant(each) for each in code.co_consts]]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, frozenset):
        return sorted(map(repr, cast("frozenset[object]", value)))
    return repr(value)


def _held(value: Any) -> Any:
    """Return what a function was made with; of what is no data, its type."""
    return to_jsonable_python(value, fallback=lambda other: type(other).__qualname__)
