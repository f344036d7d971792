"""One way to ask, by a name; and what makes it another way.

Neighbours: `_evaluate` asks with it; `api` has the options, and what makes an answer another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from extractkit.api import Extractor, facts_of
from extractkit.errors import UsageError
from extractkit.evaluation._cases import Case
from extractkit.journal import Key
from extractkit.messages import Sampling, require_number
from extractkit.paths import JsonObject
from extractkit.providers import shared

__all__ = ["Configuration", "Way", "key_of"]

_ANY_TEXT: Final = "a text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to ask.

    Attributes:
        name: What it is called in a report, once in an evaluation.
        samples: How many answers are drawn for each input. With a temperature above 0, and where
            the model takes a seed, each answer has its own, made of that of the options, the id
            and the number of the sample, so that a rerun gives the same.
        options: The keywords of Extractor: model, sampling, strategy, decoding, ...
        stream: Read answers as they come, which tells the time to their first token.

    Raises:
        UsageError: If the name is no text, `samples` is below 1, `options` is no mapping, or
            `stream` is neither True nor False.
    """

    name: str
    samples: int = 1
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise UsageError(f"Configuration(name={name!r:.60}): expected a text")
        require_number("Configuration", "samples", self.samples, low=1, whole=True)
        options: Any = self.options
        if not isinstance(options, Mapping):
            raise UsageError(f"Configuration(options={options!r:.60}): expected a mapping")
        stream: Any = self.stream
        if not isinstance(stream, bool):
            raise UsageError(f"Configuration(stream={stream!r:.60}): expected True or False")


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
        self._first = self._made()
        self._provider = self._first.provider

    def extractor(self, id: str, sample: int) -> Extractor[Any]:
        """Return what asks for one of the answers to an input."""
        seed = _seed_of(self._seed(), id, sample)
        return self._first if seed is None else self._first.seeded(seed)

    def rehearse(self) -> None:
        """Put the question, without sending it.

        Raises:
            UsageError: If it cannot be asked in this way, whatever the text.
        """
        extractor = self._made(observers=())  # there is nothing for them to see
        try:
            if self.configuration.stream:
                extractor.stream(_ANY_TEXT)
            with closing(extractor.flow(_ANY_TEXT)) as flow:
                next(flow, None)
        except UsageError as error:
            raise UsageError(
                f"the configuration {self.configuration.name!r} cannot be asked: {error.message}",
                pointer=error.pointer,
            ) from error

    def facts(self) -> JsonObject:
        """Return what is told of it beside its answers, as plain JSON.

        Raises:
            UsageError: If an option has no form that stays the same from one process to another.
        """
        facts = facts_of(self._options, self._provider)
        facts["parameters"] |= {"sample": 0, "seed": self._seed()}  # that theirs come from
        if self.configuration.stream:
            facts["parameters"]["stream"] = True  # other answers have no time to the first token
        return {**facts, "samples": self.configuration.samples}

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

    def _made(self, **changes: Any) -> Extractor[Any]:
        options = {**self._options, **changes}
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
