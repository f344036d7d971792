"""What is made of a question once and serves all its texts.

Neighbours: `run` asks here, `setup` puts the question where nothing is kept. An Extractor asks the
same of text after text: schema, plan, instructions and examples are the same each time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

from extractkit import prompts
from extractkit.engine.coding import with_codes
from extractkit.engine.question import Question, require_text
from extractkit.engine.setup import Setup, prepare
from extractkit.errors import UnsupportedError
from extractkit.messages import Capabilities, changed
from extractkit.schema import compile_schema

__all__ = ["put"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A question as it was put to a model of these capabilities, about no text."""

    capabilities: Capabilities
    setup: Setup[Any]

    def serves(self, question: Question[Any], capabilities: Capabilities) -> bool:
        """Whether nothing has changed since: a schema is compiled anew when its model is."""
        if self.capabilities is not capabilities and self.capabilities != capabilities:
            return False
        compiled = self.setup.compiled
        plain = compile_schema(question.target, compiled.dialect)
        return with_codes(plain, question, capabilities) is compiled


def put(question: Question[T], capabilities: Capabilities) -> Setup[T]:
    """Return how `question` is put to a model of these capabilities, as `prepare` does.

    What it is put by is kept with the question, but where an answer is decoded in this process:
    there the text is a part of what is enforced.

    Raises:
        UsageError: If text, level or an example cannot be used as given.
        SchemaError: If the target cannot be expressed.
        UnsupportedError: If the provider cannot do what was wished.
    """
    place = f"{__name__} {capabilities.enforcement} {capabilities.json_mode}"
    kept: _Kept | None = question.kept.get(place)
    if kept is not None and kept.serves(question, capabilities):
        require_text(question.text)
        return _drawn(_about(kept.setup, question), capabilities)
    setup = prepare(question, capabilities)
    if setup.bounded is None:
        blank = _about(setup, question.about(""))
        question.kept[place] = _Kept(capabilities=capabilities, setup=blank)
    return _drawn(setup, capabilities)


def _about(setup: Setup[T], question: Question[T]) -> Setup[T]:
    request = prompts.about(setup.request, setup.compiled, question.text, question.task)
    return changed(setup, question=question, request=request)


def _drawn(setup: Setup[T], capabilities: Capabilities) -> Setup[T]:
    """Return how a question is put whose answer is drawn by a seed of its own, if it has one."""
    seed = setup.question.seed
    if seed is None:
        return setup
    if "seed" not in capabilities.sampling:
        raise UnsupportedError(f"seed={seed!r}: this model takes no seed; leave it out")
    sampling = dataclasses.replace(setup.request.sampling, seed=seed)
    return changed(setup, request=changed(setup.request, sampling=sampling))
