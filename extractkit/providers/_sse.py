"""Server-sent events out of bytes that arrive in any pieces, by the WHATWG rules.

Neighbours: `_transport` feeds what the network gives, a StreamDecoder takes the events. This file
opens nothing, and reads the data of an event only where a stream ends in the middle of a line.
"""

from __future__ import annotations

from pydantic_core import from_json

from extractkit.providers._wire import ServerEvent

__all__ = ["EventDecoder"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventDecoder:
    """Takes the bytes of one stream in order; linear in their number, however they are cut.

    Lines end in CR, LF or CRLF, of which a cut can fall in the middle, as it can within a
    character. `id`, `retry`, unknown fields and comments are read over: nobody here reconnects.
    Bytes that are no UTF-8 become U+FFFD.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of a line whose end has not come yet
        self._event = ""
        self._data: list[str] = []
        self._is_first_line = True
        self._is_after_cr = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that `chunk` completes."""
        if self._is_after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")  # the second half of a CRLF: the first ended the line
            self._is_after_cr = False
        if b"\r" in chunk:
            self._is_after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines and (self._line or self._is_first_line):
            lines[0] = self._begun(lines[0])
        if rest:
            self._line.append(rest)
        return self._read(lines)

    def close(self) -> list[ServerEvent]:
        """Return the last event where only its blank line is missing, as some servers leave it.

        A line that has no end counts where it is a whole object or "[DONE]", which no cut leaves;
        else it is dropped.
        """
        is_cut = bool(self._line)
        events = self._read([self._begun(b""), b""] if is_cut else [b""])
        return [event for event in events if not is_cut or _is_whole(event.data)]

    def _begun(self, end: bytes) -> bytes:
        """Return the line that was begun, with its end."""
        line = b"".join([*self._line, end])
        self._line = []
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        return line

    def _read(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data: "):
                data.append(line[6:].decode("utf-8", "replace"))
            elif line:
                self._take(line.decode("utf-8", "replace"))
            elif data:
                events.append(ServerEvent(self._event, "\n".join(data)))
                data.clear()
                self._event = ""
            else:
                self._event = ""
        return events

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value


def _is_whole(data: str) -> bool:
    if data == "[DONE]":
        return True
    try:
        return isinstance(from_json(data), dict)
    except ValueError:
        return False
