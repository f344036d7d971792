"""Rules on objects as a whole: order, size, keys and values that nothing describes.

| rule | looks at |
|---|---|
| late-reasoning | a field for reasoning that stands behind the answers |
| too-many-fields | more than 30 fields in one object, more than 100 leaves in all |
| open-map | keys that are free text |
| untyped | a place where any JSON may stand |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from extractkit.fields import Mark
from extractkit.paths import Pointer, join
from extractkit.schema.lint.finding import LintFinding
from extractkit.schema.lint.spots import Meaning, Spot, meaning_of
from extractkit.schema.lint.words import words_of
from extractkit.schema.nodes import (
    AnyNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    ObjectNode,
    Property,
    SchemaTree,
    StringNode,
)

__all__ = [
    "is_reasoning",
    "late_reasoning",
    "open_map",
    "too_many_fields",
    "too_many_leaves",
    "untyped",
]

_MOST_FIELDS: Final = 30
_MOST_LEAVES: Final = 100

_REASONING: Final = frozenset(
    {
        "cot", "explanation", "justification", "rationale", "reasoning", "scratchpad", "thinking",
        "thought", "thoughts",
    }
)  # fmt: skip
_ABOUT_ANSWERS: Final = frozenset({"certainty", "confidence", "likelihood", "probability", "score"})


def late_reasoning(spot: Spot, tree: SchemaTree) -> Iterator[LintFinding]:
    """Yield the findings of reasoning that comes when the answer is given already."""
    for node in spot.meaning.alternatives:
        if isinstance(node, ObjectNode):
            yield from _late_fields(spot.pointer, node, tree)


def _late_fields(at: Pointer, node: ObjectNode, tree: SchemaTree) -> Iterator[LintFinding]:
    meanings = [(prop, meaning_of(prop.node, tree)) for prop in node.properties]
    reasons = [is_reasoning(prop, meaning) for prop, meaning in meanings]
    if not any(reasons):
        return
    answers = [
        index
        for index, (_, meaning) in enumerate(meanings)
        if not reasons[index] and not _is_constant(meaning)
    ]
    for index, (prop, meaning) in enumerate(meanings):
        late = reasons[index] and _answer_before(index, answers, meanings)
        if late:
            yield _late(join(at, prop.name), prop.name, late, marked=meaning.mark is Mark.REASONING)


def _late(at: Pointer, name: str, answer: str, *, marked: bool) -> LintFinding:
    if marked:
        reason = (
            f'"{name}" is declared after "{answer}"; it is written first all the same, so answers '
            "come in another order than the model shows"
        )
        fix = f'declare "{name}" before "{answer}"'
    else:
        reason = (
            f'"{name}" comes after "{answer}", so it can only defend an answer that is already '
            "given, not lead to it"
        )
        fix = f'put it before "{answer}", or write `{name}: Reasoning`, which is always first'
    return LintFinding(pointer=at, rule="late-reasoning", reason=reason, fix=fix)


def is_reasoning(prop: Property, meaning: Meaning) -> bool:
    """Whether a field is for the model's own thoughts: marked so, or a text named so."""
    if meaning.mark is Mark.REASONING:
        return True
    words = words_of(prop.name)
    texts = [node for node in meaning.answers if isinstance(node, StringNode)]
    return (
        bool(texts)
        and len(texts) == len(meaning.answers)
        and not _REASONING.isdisjoint(words)
        and meaning.mark is not Mark.VERBATIM
    )


def _is_constant(meaning: Meaning) -> bool:
    values = [node.values for node in meaning.alternatives if isinstance(node, ChoiceNode)]
    return len(values) == len(meaning.alternatives) and sum(map(len, values)) < 2


def _answer_before(
    index: int, answers: Sequence[int], meanings: Sequence[tuple[Property, Meaning]]
) -> str:
    """Return the name of the answer that the reasoning at `index` comes too late for, or ""."""
    prop, meaning = meanings[index]
    before = [place for place in answers if place < index]
    after = [place for place in answers if place > index and not _is_about(meanings[place][0])]
    if not before:
        return ""
    if meaning.mark is Mark.REASONING:
        return meanings[before[0]][0].name
    own = tuple(word for word in words_of(prop.name) if word not in _REASONING)
    if own:  # "price_reasoning" speaks of "price"
        meant = [place for place in answers if words_of(meanings[place][0].name) == own]
        if meant:
            return meanings[meant[0]][0].name if meant[0] < index else ""
    decided = [place for place in before if _is_decision(meanings[place][1])]
    if any(_is_decision(meanings[place][1]) for place in after):
        return ""
    if decided:
        return meanings[decided[0]][0].name
    return "" if after else meanings[before[0]][0].name


def _is_about(prop: Property) -> bool:
    return not _ABOUT_ANSWERS.isdisjoint(words_of(prop.name))


def _is_decision(meaning: Meaning) -> bool:
    """Whether it is concluded rather than copied: a choice, a yes or no, or marked so."""
    if meaning.mark is Mark.INFERRED:
        return True
    return bool(meaning.answers) and all(
        isinstance(node, ChoiceNode | BooleanNode) for node in meaning.answers
    )


def too_many_fields(spot: Spot) -> Iterator[LintFinding]:
    """Yield the finding of an object that is too wide to be answered well at once."""
    widest = max(
        (len(node.properties) for node in spot.meaning.answers if isinstance(node, ObjectNode)),
        default=0,
    )
    if widest > _MOST_FIELDS:
        yield LintFinding(
            pointer=spot.pointer,
            rule="too-many-fields",
            reason=(
                f"{widest} fields stand in one object (more than {_MOST_FIELDS}): models skip "
                "and mix up fields in long flat lists, and answers get long"
            ),
            fix="group fields that belong together into models of their own, or ask in several "
            "calls with a smaller model each",
        )


def too_many_leaves(count: int) -> Iterator[LintFinding]:
    """Yield the finding of a target that asks for too much in one call.

    Args:
        count: Places without parts, an item of a list counted once.
    """
    if count > _MOST_LEAVES:
        yield LintFinding(
            pointer="",
            rule="too-many-fields",
            reason=(
                f"one answer has {count:,} values to fill (more than {_MOST_LEAVES}), an item of a "
                "list counted once: models skip fields and reach the limit of output tokens"
            ),
            fix="ask in several calls, each with the part of the model that belongs together",
        )


def open_map(spot: Spot, tree: SchemaTree, *, is_type: bool) -> Iterator[LintFinding]:
    """Yield the finding of an object whose keys are free text."""
    for node in spot.meaning.answers:
        if not isinstance(node, ObjectNode) or not _has_free_keys(node, tree):
            continue
        if node.properties:
            reason = (
                "keys that are not declared are welcome here, so a model adds fields of its own "
                "under names that nobody reads"
            )
            forbid = 'extra="forbid"' if is_type else '"additionalProperties": false'
            fix = f"forbid them (`{forbid}`), or declare the fields that you read"
        else:
            untold = _is_any(meaning_of(node.extra, tree).alternatives)
            also = " and nothing says what the values are" if untold else ""
            reason = (
                f"the keys are free text{also}, so a model may name the same thing differently "
                "each time"
            )
            fix = _CLOSED_KEYS[is_type]
        yield LintFinding(pointer=spot.pointer, rule="open-map", reason=reason, fix=fix)
        return


_ENTRIES: Final = "or ask for a list of entries, each with a name and a value"
_CLOSED_KEYS: Final = {
    True: f"declare the fields, close the keys (`dict[Literal[...], ...]`), {_ENTRIES}",
    False: f'declare "properties", close the keys ("propertyNames" with an "enum"), {_ENTRIES}',
}


def _has_free_keys(node: ObjectNode, tree: SchemaTree) -> bool:
    if node.names is not None:
        names = meaning_of(node.names, tree).alternatives
        if any(isinstance(name, ChoiceNode) or _has_pattern(name) for name in names):
            return False
    if node.properties or node.patterns:
        return node.extra_stated and not isinstance(node.extra, NeverNode)
    return not isinstance(node.extra, NeverNode)


def _has_pattern(node: object) -> bool:
    return isinstance(node, StringNode) and bool(node.pattern or node.format)


def _is_any(nodes: Sequence[object]) -> bool:
    return any(isinstance(node, AnyNode) for node in nodes)


def untyped(spot: Spot) -> Iterator[LintFinding]:
    """Yield the finding of a place where anything may stand."""
    if _is_any(spot.meaning.alternatives):
        yield LintFinding(
            pointer=spot.pointer,
            rule="untyped",
            reason=(
                "any JSON may stand here, so nothing guides the model, and nothing can be enforced "
                "or checked"
            ),
            fix="write the type that you read: a model, a `str`, or the alternatives that occur",
        )
