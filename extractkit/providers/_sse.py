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
        if not chunk:
            return []
        if self._is_after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the second half of a CRLF whose first half ended the line
        self._is_after_cr = chunk.endswith(b"\r")
        events: list[ServerEvent] = []
        for piece in chunk.splitlines(keepends=True):
            self._line.append(piece)
            if piece.endswith((b"\n", b"\r")):
                event = self._end_line(b"".join(self._line).rstrip(b"\r\n"))
                self._line = []
                if event is not None:
                    events.append(event)
        return events

    def close(self) -> list[ServerEvent]:
        """Return the last event where only its blank line is missing, as some servers leave it.

        A line that has no end counts where it is a whole object or "[DONE]", which no cut leaves;
        else it is dropped.
        """
        is_cut = bool(self._line)
        if is_cut:
            self._end_line(b"".join(self._line))
            self._line = []
        event = self._dispatch()
        return [] if event is None or (is_cut and not _is_whole(event.data)) else [event]

    def _end_line(self, raw: bytes) -> ServerEvent | None:
        if self._is_first_line:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not raw:
            return self._dispatch()
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        event = ServerEvent(event=self._event, data="\n".join(self._data)) if self._data else None
        self._event = ""
        self._data = []
        return event


def _is_whole(data: str) -> bool:
    if data == "[DONE]":
        return True
    try:
        return isinstance(from_json(data), dict)
    except ValueError:
        return False
