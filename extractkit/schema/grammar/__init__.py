"""A bounded schema -> a Lark grammar for local decoding, held to the source where marks say so.

    walk       nodes to rules
    objects    keys, commas and counts
    texts      JSON strings and runs of the source's words
    runs       where a run can begin and end
    stated     what marked leaves may say
    parts      rules to text; what cannot be filled

Neighbours: `engine` sends the text, the local provider compiles it. This room imports no engine,
so that the text can be looked at anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from extractkit.paths import Pointer
from extractkit.schema.bounds import BoundedSchema
from extractkit.schema.dialects import Dialect
from extractkit.schema.grammar.runs import Runs
from extractkit.schema.grammar.stated import Sourced
from extractkit.schema.grammar.walk import JSON_OPTIONS, Walk, is_marked

__all__ = ["JSON_OPTIONS", "Grammar", "Sourced", "is_marked", "write_grammar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A grammar, or why there is none.

    Attributes:
        text: The grammar in Lark; "" where no answer is possible.
        unfilled: Places of the user's document that must come from the source, that the source
            has nothing for, and that may be neither null nor UNKNOWN; "*" stands for any
            position or key. Empty where there is a grammar.
        bounded: The schema with the limits that hold under this grammar.
    """

    text: str
    bounded: BoundedSchema
    unfilled: tuple[Pointer, ...] = ()


def write_grammar(
    bounded: BoundedSchema, dialect: Dialect, sourced: Sourced | None = None
) -> Grammar:
    """Return the grammar of the answers to `bounded`.

    Args:
        bounded: A schema with a bound on everything.
        dialect: The one that it was compiled for.
        sourced: What the source states; None enforces no mark.
    """
    if sourced is not None:
        bounded = bounded.held(Runs(sourced.chunks).cut_at)
    text, unfilled = Walk(bounded.tree, dialect, sourced, bounded.limits).run()
    return Grammar(text=text, bounded=bounded, unfilled=unfilled)
