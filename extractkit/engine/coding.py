"""The schema of a question: its own words, or codes for the members of closed choices.

Neighbours: `setup` and `kept` ask here; `schema` compiles, the model's capabilities say which codes
are one token of it. One letter is, to every model; of longer codes it is asked where a choice has
too many members for letters.
"""

from __future__ import annotations

import string
from typing import Any, Final

from extractkit.engine.question import Question
from extractkit.messages import Capabilities
from extractkit.paths import Pointer
from extractkit.results import Finding, Validity
from extractkit.schema import CompiledSchema, InWords, compile_coded

__all__ = ["LETTERS", "PAIRS", "notes_on_codes", "with_codes"]

LETTERS: Final = tuple(string.ascii_uppercase)
"""The codes of choices with up to 26 members."""
PAIRS: Final = tuple(one + other for one in LETTERS for other in LETTERS)
"""The codes of larger ones, as far as the model has them as tokens."""

_GUESSED: Final = (
    "label_codes: a choice has more members than there are letters, and the tokens of this model "
    "are not known: its codes of two letters may be two tokens each"
)
_DECIDED: Final = (
    "label_codes: nothing was asked for by codes, because this provider decides between the "
    "members themselves"
)
_NOTHING: Final = (
    "label_codes: the target has no closed choice of several members, so that nothing was asked "
    "for by codes"
)


def with_codes(
    plain: CompiledSchema, question: Question[Any], capabilities: Capabilities
) -> CompiledSchema:
    """Return the schema of a question in the form that it wishes: `plain`, or with codes.

    Args:
        plain: The target of the question, compiled; given back where nothing is coded.
        question: What is asked.
        capabilities: What the answering model can do.
    """
    if not question.decoding.label_codes or capabilities.enforcement == "decisions":
        return plain
    coded = _coded(question, plain.dialect, capabilities)
    return coded if coded.legend else plain


def notes_on_codes(
    question: Question[Any], dialect: str, capabilities: Capabilities
) -> tuple[Finding, ...]:
    """Return what there is to say where codes were wished for and are not, or may be, no help."""
    if not question.decoding.label_codes:
        return ()
    if capabilities.enforcement == "decisions":
        return (_note("", _DECIDED),)
    coded = _coded(question, dialect, capabilities)
    told = [
        _note(
            item.pointer,
            f"label_codes: asked for in words, because {item.why}{_known(item, capabilities)}",
        )
        for item in coded.in_words
    ]
    if capabilities.one_token is None and _longest(coded) > 1:
        told.append(_note("", _GUESSED))
    if not (coded.legend or told):
        told.append(_note("", _NOTHING))
    return tuple(told)


def _known(item: InWords, capabilities: Capabilities) -> str:
    """Return what is known of the codes that are too few."""
    return " of one token" if item.lacks_codes and capabilities.one_token is not None else ""


def _longest(coded: CompiledSchema) -> int:
    return max(
        (len(member.code) for choice in coded.legend for member in choice.members), default=0
    )


def _coded(question: Question[Any], dialect: str, capabilities: Capabilities) -> CompiledSchema:
    compiled = compile_coded(question.target, dialect, (LETTERS,))
    if not any(item.lacks_codes for item in compiled.in_words):
        return compiled
    return compile_coded(question.target, dialect, (LETTERS, _pairs(capabilities)))


def _pairs(capabilities: Capabilities) -> tuple[str, ...]:
    if capabilities.one_token is None:
        return PAIRS
    known = capabilities.one_token(PAIRS)
    return tuple(pair for pair in PAIRS if pair in known)


def _note(pointer: Pointer, message: str) -> Finding:
    return Finding(
        level=Validity.NONE, path=pointer, message=message, severity="note", code="not_coded"
    )
