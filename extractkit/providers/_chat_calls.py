"""Tool calls of Chat Completions: whole ones, and those that arrive in pieces.

Neighbours: `openai_chat` feeds this. The index is the protocol's key and the id a call's identity;
some servers give every call the same index, and some give no id.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from extractkit.messages import RawToolCall
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.providers._openai import objects, read_call, read_text

__all__ = ["CallAssembler"]

_SPLIT = "split where one object of arguments ended and another began"


class CallAssembler:
    """Takes one whole message, or the deltas of one answer in order."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []  # in the order in which they began
        self._at: dict[int, _Call] = {}  # the one that is being written under an index
        self._old: _Call | None = None
        self._was_split = False

    def read(self, message: JsonObject) -> None:
        """Take the calls of a whole message, each of which is one whatever its index says.

        Raises:
            MalformedResponseError: If they are not what the API promises.
        """
        for position, piece in enumerate(objects(message.get("tool_calls"))):
            self._add({**piece, "index": position})
        self._add_old(message.get("function_call"))

    def feed(self, delta: JsonObject) -> None:
        """Take the pieces of calls that one delta holds.

        Raises:
            MalformedResponseError: If they are not what the API promises.
        """
        for piece in objects(delta.get("tool_calls")):
            self._add(piece)
        self._add_old(delta.get("function_call"))

    def _add(self, piece: JsonObject) -> None:
        """Take one piece: it goes on with the call of its index, or begins another one."""
        id = read_text(piece.get("id"))
        name, arguments = _function_of(piece)
        index: JsonValue = piece.get("index")
        if not isinstance(index, int):
            index = self._calls[-1].index if self._calls and not id else len(self._calls)
        call = self._at.get(index)
        if call is None or self._is_another(call, id, name, arguments):
            call = _Call(index, id, name or (call.name if call else ""))
            self._at[index] = call
            self._calls.append(call)
        elif name and not call.pieces and name != call.name:
            call.name += name
        call.id = call.id or id
        if arguments not in (None, ""):
            call.pieces.append(arguments)

    def _add_old(self, piece: JsonValue) -> None:
        """Take one piece of the old single call; some servers fill its place with empty texts."""
        if not is_object(piece):
            return
        name, arguments = read_text(piece.get("name")), piece.get("arguments")
        if not name and not arguments:
            return
        if self._old is None:
            self._old = _Call(0, "", "")
            self._calls.append(self._old)
        self._old.name += name
        if arguments:
            self._old.pieces.append(arguments)

    def _is_another(self, call: _Call, id: str, name: str, arguments: JsonValue) -> bool:
        if id and call.id:
            return id != call.id
        begins = isinstance(arguments, str) and arguments.lstrip().startswith("{")
        if (name or begins) and call.is_whole():
            self._was_split = True
            return True
        return False

    def close(self) -> tuple[tuple[RawToolCall, ...], dict[str, Any]]:
        """Return the calls in the order of their index, and what is worth a note."""
        ordered = sorted(self._calls, key=lambda call: call.index)
        notes = {"tool_calls": _SPLIT} if self._was_split else {}
        return tuple(call.read() for call in ordered), notes


class _Call:
    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.pieces: list[Any] = []

    def is_whole(self) -> bool:
        """Whether the arguments are one finished object: nothing can go on with that."""
        # All pieces are only read where the last of them may be the end.
        end = next((text for text in reversed(self.pieces) if not _is_blank(text)), None)
        if isinstance(end, str) and not end.rstrip().endswith("}"):
            return False
        try:
            return is_object(from_json(self.read().arguments))
        except ValueError:
            return False

    def read(self) -> RawToolCall:
        if len(self.pieces) == 1:
            return read_call(self.id, self.name, self.pieces[0])
        parts = (read_call("", "", piece).arguments for piece in self.pieces)
        return RawToolCall(id=self.id, name=self.name, arguments="".join(parts))


def _is_blank(piece: JsonValue) -> bool:
    return isinstance(piece, str) and not piece.strip()


def _function_of(piece: JsonObject) -> tuple[str, JsonValue]:
    """Return name and arguments of a function's call, or of a custom tool's with free text."""
    function: JsonValue = piece.get("function")
    custom: JsonValue = piece.get("custom")
    if is_object(custom) and custom.get("name") and piece.get("type") != "function":
        return read_text(custom["name"]), custom.get("input")
    if is_object(function):
        return read_text(function.get("name")), function.get("arguments")
    if is_object(custom):
        return "", custom.get("input")
    return "", None
