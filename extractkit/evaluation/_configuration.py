"""One way to ask, by a name; and what makes it another way.

Neighbours: `_evaluate` asks with it; `api` has the options.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CellType, CodeType
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from extractkit import prompts
from extractkit.api import Extractor
from extractkit.checks import ReadyCheck
from extractkit.errors import UsageError
from extractkit.evaluation._cases import Case
from extractkit.journal import Key
from extractkit.messages import Sampling, require_number
from extractkit.paths import JsonObject
from extractkit.providers import shared

__all__ = ["Configuration", "Way", "key_of"]

_SILENT: Final = frozenset({"model", "observers", "price", "timeout_s"})
"""Options that do not say how an answer comes about, or are told apart (`model`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to ask.

    Attributes:
        name: What it is called in a report, once in an evaluation.
        samples: How many answers are drawn for each input. With a temperature above 0, and where
            the model takes a seed, each answer has its own, made of that of the options, the id
            and the number of the sample, so that a rerun gives the same.
        options: The keywords of Extractor: model, sampling, strategy, decoding, ...

    Raises:
        UsageError: If the name is no text, `samples` is below 1, or an option is no mapping.
    """

    name: str
    samples: int = 1
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise UsageError(f"Configuration(name={name!r:.60}): expected a text")
        require_number("Configuration", "samples", self.samples, low=1, whole=True)
        options: Any = self.options
        if not isinstance(options, Mapping):
            raise UsageError(f"Configuration(options={options!r:.60}): expected a mapping")


class Way:
    """A configuration of one target, ready to ask.

    Args:
        target: What is extracted.
        configuration: How.

    Raises:
        UsageError: If an option is none, or out of its range.
    """

    def __init__(self, target: Any, configuration: Configuration) -> None:
        self.configuration = configuration
        self._target = target
        self._options = dict(configuration.options)
        self._options["model"] = shared(self._options.get("model"))
        self._first = self._made(None)
        self._provider = self._first.provider

    @property
    def model(self) -> str:
        """Who is asked."""
        return f"{self._provider.name}:{self._provider.model}"

    def extractor(self, id: str, sample: int) -> Extractor[Any]:
        """Return what asks for one of the answers to an input."""
        return self._made(_seed_of(self._seed(), id, sample))

    def facts(self) -> JsonObject:
        """Return what is told of it beside its answers, as plain JSON.

        Raises:
            UsageError: If an option has no form that stays the same from one process to another.
        """
        return {
            "model": self.model,
            "samples": self.configuration.samples,
            "parameters": self.parameters(),
        }

    def parameters(self) -> JsonObject:
        """Return all that makes answers other ones, with the seed that theirs come from.

        Raises:
            UsageError: If an option has no form that stays the same from one process to another.
        """
        told = {
            name: _plain(name, value)
            for name, value in sorted(self._options.items())
            if name not in _SILENT
        }
        settings = _plain("model", getattr(self._provider, "settings", None))
        if settings:
            told["provider"] = settings
        return {**told, "sample": 0, "seed": self._seed(), "prompt": prompts.VERSION}

    def close(self) -> None:
        """Release what was made for it."""
        self._first.close()

    def _seed(self) -> int | None:
        """Return the seed that those of answers come from, where one says anything."""
        sampling = self._options.get("sampling")
        if not isinstance(sampling, Sampling) or not sampling.temperature:
            return None
        if "seed" not in self._provider.capabilities.sampling:
            return None
        return sampling.seed or 0

    def _made(self, seed: int | None) -> Extractor[Any]:
        options = dict(self._options)
        if seed is not None:
            options["sampling"] = dataclasses.replace(options["sampling"], seed=seed)
        try:
            return Extractor(self._target, **options)
        except TypeError as exc:
            raise UsageError(
                f"the configuration {self.configuration.name!r} has an option that Extractor does "
                f"not have: {exc}"
            ) from exc


def key_of(case: Case, sample: int, *, target: str, facts: JsonObject) -> Key:
    """Return which row of a journal holds an answer.

    Args:
        case: The input.
        sample: Which of the answers to it, from 0.
        target: Fingerprint of what is extracted.
        facts: Of the configuration, as `Way.facts` has them.
    """
    told: JsonObject = facts["parameters"]
    seed = _seed_of(told["seed"], case.id, sample)
    return Key.of(
        case.id,
        case.text,
        target=target,
        model=facts["model"],
        parameters={**told, "sample": sample, "seed": seed},
    )


def _seed_of(base: int | None, id: str, sample: int) -> int | None:
    """Return the seed of an answer to an input; None where seeds say nothing.

    Answers that share a seed share their luck: were it the same for all inputs, the inputs would
    no longer be independent, and every interval over them too narrow.
    """
    if base is None:
        return None
    digest = hashlib.sha256(f"{base} {sample} {id}".encode("utf-8", "backslashreplace"))
    return int.from_bytes(digest.digest()[:4], "big") >> 1  # every provider takes 31 bits


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
