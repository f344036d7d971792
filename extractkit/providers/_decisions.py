"""What is asked of OpenAI's Decisions endpoint: a schema of closed sets, as questions.

Neighbours: `openai_decisions` posts the questions and has the answer written here again. A form
has the shape of the answer, with a Leaf at each place that is one of some values. Pure; nothing
here knows how a question travels.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from extractkit.errors import UnsupportedError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join, split

__all__ = ["Form", "Leaf", "asked_of", "json_text", "question", "read_form", "write"]

_MOST_QUESTIONS: Final = 400
_MOST_CHOICES: Final = 255
_ABSENT: Final = "the document does not say"
_UNDECIDABLE: Final = "the document leaves it open"
_WORD: Final = "unknown"
_UNKNOWN_OBJECT: Final[JsonObject] = {"unknown": True}
_UNKNOWN: Final[tuple[list[JsonValue], ...]] = ([_WORD], [_UNKNOWN_OBJECT])
"""Alternatives that are one value only and say UNKNOWN; a member among others is a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A place that holds one of a closed set.

    Attributes:
        pointer: Where it stands in the answer.
        values: What may stand there, all different, in the order of the schema.
        told: What the schema says of it and of the objects around it, outermost first.
        about: What the schema says of single values, by their JSON text.
    """

    pointer: Pointer
    values: tuple[JsonValue, ...]
    told: tuple[str, ...] = ()
    about: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The keys that lead to it, as they are told to a model."""
        return ".".join(split(self.pointer))

    @property
    def is_predicate(self) -> bool:
        """Whether it is true or false and nothing else."""
        return len(self.values) == 2 and all(isinstance(value, bool) for value in self.values)

    def choices(self) -> dict[str | bool, JsonValue]:
        """Return the value behind each choice that is sent: a text or a bool, all different.

        null and numbers are sent as texts; a text that reads like one of them stays itself.
        """
        sent: dict[str | bool, JsonValue] = {
            value: value for value in self.values if isinstance(value, str | bool)
        }
        for value in self.values:
            if not isinstance(value, str | bool):
                word = json_text(value)
                while word in sent:
                    word = f"({word})"
                sent[word] = value
        order = {json_text(value): number for number, value in enumerate(self.values)}
        return dict(sorted(sent.items(), key=lambda item: order[json_text(item[1])]))


Form: TypeAlias = "Leaf | dict[str, Form]"


def json_text(value: JsonValue) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_form(schema: Mapping[str, Any]) -> Form:
    """Return what `schema` asks for, as values to choose from.

    Args:
        schema: A JSON Schema of objects and closed sets, as strict mode writes it.

    Raises:
        UnsupportedError: If it has anything else, or more than the endpoint takes.
    """
    form = _Reader(schema).form(schema, "", ())
    count = sum(1 for _ in asked_of(form))
    if not 1 <= count <= _MOST_QUESTIONS:
        raise UnsupportedError(
            f"(root): there are {count} fields to decide; the Decisions endpoint takes 1 to "
            f"{_MOST_QUESTIONS} questions at once: "
            + ("split the target" if count else "there is nothing to choose, so do not ask")
        )
    return form


def asked_of(form: Form) -> Iterator[Leaf]:
    """Yield the leaves of which there is something to decide, in the order of the answer."""
    if not isinstance(form, Leaf):
        for part in form.values():
            yield from asked_of(part)
    elif len(form.values) > 1:
        yield form


def question(leaf: Leaf) -> JsonObject:
    """Return the question about a leaf as it is sent, without its name."""
    told = "\n".join(leaf.told)
    if leaf.is_predicate:
        words = f'The value of the field "{leaf.name}" is true.'
        return {"type": "predicate", "instructions": f"{words}\n{told}".strip()}
    words = f'Which value has the field "{leaf.name}"?'
    return {
        "type": "choice",
        "instructions": f"{words}\n{told}".strip(),
        "choices": [_choice(leaf, sent, value) for sent, value in leaf.choices().items()],
    }


def _choice(leaf: Leaf, sent: str | bool, value: JsonValue) -> JsonObject:
    told = leaf.about.get(json_text(value), "")
    if not told and value is None:
        told = _ABSENT
    return {"value": sent, "description": told} if told else {"value": sent}


def write(form: Form, values: Mapping[Pointer, JsonValue]) -> tuple[str, dict[Pointer, int]]:
    """Return the answer as JSON text, and the first byte of each value in it.

    Args:
        form: Its shape.
        values: What was decided, by pointer; a leaf with a choice that is not there is left out.
    """
    writer = _Writer(values)
    writer.add(form)
    return b"".join(writer.pieces).decode(), writer.starts


class _Writer:
    def __init__(self, values: Mapping[Pointer, JsonValue]) -> None:
        self._values = values
        self._size = 0
        self.pieces: list[bytes] = []
        self.starts: dict[Pointer, int] = {}

    def add(self, form: Form) -> None:
        if isinstance(form, Leaf):
            self.starts[form.pointer] = self._size
            value = form.values[0] if len(form.values) == 1 else self._values[form.pointer]
            self._put(json_text(value))
            return
        self._put("{")
        kept = {name: part for name, part in form.items() if self._is_known(part)}
        for number, (name, part) in enumerate(kept.items()):
            self._put(f"{',' if number else ''}{json_text(name)}:")
            self.add(part)
        self._put("}")

    def _is_known(self, form: Form) -> bool:
        return not isinstance(form, Leaf) or len(form.values) == 1 or form.pointer in self._values

    def _put(self, text: str) -> None:
        piece = text.encode()
        self.pieces.append(piece)
        self._size += len(piece)


class _Reader:
    """Reads one schema; keeps track of the definitions that are being read."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._open: list[str] = []

    def form(self, node: JsonValue, pointer: Pointer, told: tuple[str, ...]) -> Form:
        node, names = self._resolved(node)
        if pointer and (said := node.get("description")):
            told = (*told, f'"{".".join(split(pointer))}": {" ".join(str(said).split())}')
        self._open += names
        try:
            properties = node.get("properties")
            about: dict[str, str] = {}
            values = self._values(node, about)
            if values is not None:
                return _leaf(pointer, values, told, about)
            if is_object(properties):
                return {
                    name: self.form(part, join(pointer, name), told)
                    for name, part in properties.items()
                }
        finally:
            del self._open[len(self._open) - len(names) :]
        raise UnsupportedError(
            f"{pointer or '(root)'}: {json_text(node)[:80]} is no closed set; the Decisions "
            "endpoint takes bool, enum and const, with null or not, inside objects"
        )

    def _resolved(self, node: JsonValue) -> tuple[JsonObject, list[str]]:
        """Return what a reference leads to, with what is said beside it, and its names."""
        names: list[str] = []
        here: JsonObject = node if is_object(node) else {}
        while "$ref" in here:
            name = str(here["$ref"]).rpartition("/")[2]
            if name in self._open or name in names:
                return {"$ref": here["$ref"]}, []  # it holds itself: nothing closed
            names.append(name)
            beside = {key: value for key, value in here.items() if key != "$ref"}
            here = {**self._root.get("$defs", {}).get(name, {}), **beside}
        return here, names

    def _values(self, node: JsonObject, about: dict[str, str]) -> list[JsonValue] | None:
        """Return the values of a closed set; None where it is not closed."""
        if is_array(node.get("enum")):
            return list(node["enum"])
        if "const" in node:
            return [node["const"]]
        if is_array(node.get("anyOf")):
            return self._of_all(node["anyOf"], about)
        kind = node.get("type")
        if is_array(kind):
            return self._of_all([{**node, "type": one} for one in kind], about)
        if kind == "boolean":
            return [True, False]
        if kind == "null":
            return [None]
        return self._fixed(node) if kind == "object" else None

    def _of_all(self, nodes: list[JsonValue], about: dict[str, str]) -> list[JsonValue] | None:
        found: list[JsonValue] = []
        for node in nodes:
            inner, names = self._resolved(node)
            self._open += names
            values = self._values(inner, about)
            del self._open[len(self._open) - len(names) :]
            if values is None:
                return None
            if len(values) == 1 and inner.get("description"):
                about[json_text(values[0])] = " ".join(str(inner["description"]).split())
            elif values in _UNKNOWN and not names:
                about[json_text(values[0])] = _UNDECIDABLE
            found += values
        if _UNKNOWN_OBJECT in found and about.get(json_text(_WORD)) == _UNDECIDABLE:
            del about[json_text(_WORD)]  # where both may stand there, the word is a label
        return found

    def _fixed(self, node: JsonObject) -> list[JsonValue] | None:
        """Return the one value of an object whose keys have one value each."""
        properties = node.get("properties")
        fixed: JsonObject = {}
        for name, part in properties.items() if is_object(properties) else ():
            values = self._values(self._resolved(part)[0], {})
            if values is None or len(values) != 1:
                return None
            fixed[name] = values[0]
        return [fixed] if fixed else None


def _leaf(
    pointer: Pointer, values: list[JsonValue], told: tuple[str, ...], about: dict[str, str]
) -> Leaf:
    different = {json_text(value): value for value in values}
    if len(different) > _MOST_CHOICES:
        raise UnsupportedError(
            f"{pointer or '(root)'}: one of {len(different)} values; the Decisions endpoint takes "
            f"at most {_MOST_CHOICES} choices: let the model write the answer ('openai:<model>'), "
            "or ask in steps"
        )
    return Leaf(pointer=pointer, values=tuple(different.values()), told=told, about=about)
