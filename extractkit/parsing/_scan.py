"""One run over a JSON value: its plain form, the place of its parts, and what is wrong with it.

Neighbours: the door of this room decides where a value begins and what its findings mean. The
scanner never recurses, never looks behind the value and never mends.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, NoReturn, TypeAlias

from extractkit.parsing._document import ParsedDocument, Places
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join
from extractkit.results import FieldState, Finding, PartialResult, Validity

MAX_DEPTH: Final = 200
"""Arrays and objects may stand inside each other this deep: no deeper than Pydantic reads and
writes, so that every answer that parses can be judged and every result be stored."""

MAX_DIGITS: Final = 4300
"""Digits that an integer may have; beyond, Python's conversion is no longer linear."""

_WS = r"[ \t\n\r]*+"
_PLAIN = r'"([^"\\\x00-\x1f\ud800-\udfff]*+)"'
_WHOLE = r"-?(?:0|[1-9][0-9]*+)"
_NO_MORE = r"(?![-+.0-9eE])"
_VALUE = (
    rf"(?:{_PLAIN}|({_WHOLE}){_NO_MORE}"
    rf"|({_WHOLE}(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?){_NO_MORE}"
    rf"|(true|false|null)(?![A-Za-z0-9_])|([\[{{])){_WS}"
)
# Both have the same groups: key, string, integer, fraction, literal, opening bracket.
_MEMBER = re.compile(rf"{_WS}{_PLAIN}{_WS}:{_WS}{_VALUE}").match
_ITEM = re.compile(rf"{_WS}(){_VALUE}").match
_STRING, _INTEGER, _LITERAL, _OPEN = 2, 3, 5, 6

_SPACE = re.compile(_WS)
_STRING_LIKE = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NUMBER_LIKE = re.compile(r"[-+]?[0-9.][-+.0-9eE]*+|[-+](?![A-Za-z])")
_NUMBER_BEGUN = re.compile(rf"-|{_WHOLE}(?:\.[0-9]*+|(?:\.[0-9]++)?[eE][-+]?[0-9]*+)?")
_NOT_FINITE = re.compile(r"-?(?:NaN|Infinity)(?![A-Za-z0-9_])")
_WORD = re.compile(r"-?[A-Za-z]*+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\.)|([\x00-\x1f])', re.DOTALL)
_LITERALS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_WORDS: Final = ("true", "false", "null", "NaN", "Infinity", "-NaN", "-Infinity")
_CLOSERS: Final = {"[": "]", "{": "}"}
_SURE_CHARS: Final = 15  # two numbers written in so few characters are never the same double
_TINY: Final = 1e-307  # ... unless they are smaller than this

_Span: TypeAlias = tuple[int, int]


class _Stop(Exception):  # noqa: N818  # a jump out of the scanner, not an error
    """Nothing more can be read."""


class Scan:
    """One run over the JSON value that begins at `start`, with a stack of its own.

    Attributes:
        start: Where the value begins, behind white space.
        end: Behind the value and the white space after it; where reading stopped, if the value is
            not complete.
        complete: Whether the outermost value was read to its end.
        at_end: Whether reading stopped because the text did.
        findings: What is wrong. Reading goes on after an error that leaves the structure clear,
            but not with `prefix`.
    """

    def __init__(self, text: str, start: int = 0, *, prefix: bool = False) -> None:
        self.text = text
        self.prefix = prefix
        self.start = self.end = self._space(start)
        self.complete = self.at_end = False
        self.findings: list[Finding] = []
        self._spans: dict[Pointer, _Span] = {}
        self._key_spans: dict[Pointer, _Span] = {}
        self._digits: dict[Pointer, str] = {}
        self._beyond = 0  # numbers that no double holds
        self._root: list[JsonValue] = []
        self._box: JsonValue = self._root
        self._in_object = False
        self._key = ""
        self._pointer: Pointer = ""
        self._stack: list[tuple[JsonValue, Pointer]] = []
        self._pending: Pointer | None = None
        with contextlib.suppress(_Stop):
            self._run()

    @property
    def fills_text(self) -> bool:
        """Whether one value, with findings or without, is all that the text holds."""
        return self.complete and self.end == len(self.text)

    @property
    def is_scalar(self) -> bool:
        """Whether the value is neither an array nor an object."""
        return not self.text.startswith(("[", "{"), self.start)

    @property
    def has_content(self) -> bool:
        """Whether anything was read behind the opening bracket."""
        return bool(self._spans or self._key_spans or len(self._stack) > 1)

    def parsed(self, *extra: Finding) -> ParsedDocument:
        """Return the document, or only the findings if one of them is an error."""
        findings = (*self.findings, *extra)
        errors = sum(finding.severity == "error" for finding in findings)
        if errors > self._beyond:
            return ParsedDocument(findings=findings)
        read = ParsedDocument(
            value=self._root[0],
            findings=tuple(map(_without_errors, findings)),
            digits=self._digits,
            places=Places(self.text, lambda: (self._spans, self._key_spans)),
        )
        return ParsedDocument(findings=findings, beyond=read) if errors else read

    def failure(self) -> tuple[Finding, ...]:
        """Return the findings of a text of which this value is not the whole."""
        if self.complete and not self.fills_text:
            found = self._shown(self.end)
            message = f"expected the end of the text, found {found}"
            self._note("trailing_text", self.end, "", message)
        return tuple(self.findings)

    def partial(self) -> PartialResult:
        """Return what is finished, with a state for everything that was begun."""
        states: dict[Pointer, FieldState] = {}
        waiting: list[tuple[Pointer, JsonValue]] = [("", item) for item in self._root]
        while waiting:
            here, value = waiting.pop()
            states[here] = FieldState.PRESENT
            waiting.extend(reversed(_children(here, value)))
        unfinished = [pointer for _, pointer in self._stack[1:]]
        unfinished += [self._pointer] if self._stack else []
        unfinished += [self._pending] if self._pending is not None else []
        states.update(dict.fromkeys(unfinished, FieldState.PENDING))
        return PartialResult(document=self._root[0] if self._root else None, states=states)

    # The run: one member or item per turn. `pos` always stands behind white space or before it.

    def _run(self) -> None:
        text, pos = self.text, self.start
        while True:
            if self._in_object:
                match = _MEMBER(text, pos)
                if match is not None:
                    here = self._begin(match[1], *match.span(1))
                else:
                    here, pos = self._odd_key(pos)
                    match = _ITEM(text, pos)
            else:
                here = f"{self._pointer}/{len(self._box)}" if self._stack else ""
                match = _ITEM(text, pos)
            if match is None:
                pos = self._odd_value(here, self._space(pos))
            elif match.lastindex == _OPEN:
                pos = self._open(here, match)
                if pos == match.end():
                    continue  # the first member or item comes next
            else:
                pos = self._scalar(here, match)
                if self._stack and text.startswith(",", pos):
                    pos += 1
                    continue
            pos = self._after(pos)
            if not self._stack:
                self.end, self.complete = pos, True
                return

    def _begin(self, key: str, start: int, end: int) -> Pointer:
        """Return the pointer of the value of `key`, which stands at start:end in its quotes."""
        here = f"{self._pointer}/{key}"
        if "/" in key or "~" in key:
            here = join(self._pointer, key)
        if key in self._box:
            message = f"the key {_short(key)} was already given in this object"
            self._note("duplicate_key", start - 1, here, message)
        self._key = key
        self._key_spans[here] = (start - 1, end + 1)
        return here

    def _store(self, value: JsonValue) -> None:
        if self._in_object:
            self._box[self._key] = value
        else:
            self._box.append(value)
        self._pending = None

    def _scalar(self, here: Pointer, match: re.Match[str]) -> int:
        """Store what the fast pattern found; return where the next token stands."""
        kind = match.lastindex or 0
        start, end = match.span(kind)
        value: JsonValue = match[kind]
        if kind == _STRING:
            start, end = start - 1, end + 1
        elif kind == _LITERAL:
            value = _LITERALS[value]
        elif kind == _INTEGER:
            value = self._integer(here, value, start)
        else:
            value = self._fraction(here, value, start)
        self._store(value)
        self._spans[here] = (start, end)
        return match.end()

    def _integer(self, here: Pointer, digits: str, start: int) -> int | None:
        self._guard_end(here, start + len(digits))
        with contextlib.suppress(ValueError):  # the interpreter's own limit may be lower
            if len(digits) <= MAX_DIGITS:
                return int(digits)
        message = f"an integer of {len(digits)} digits; at most {MAX_DIGITS} are read"
        self._note("number_too_long", start, here, message)
        return None

    def _fraction(self, here: Pointer, digits: str, start: int) -> float:
        self._guard_end(here, start + len(digits))
        number = float(digits)
        if math.isinf(number):
            message = f"{_short(digits)} is more than a double can hold; expected a finite number"
            self._digits[here] = digits
            self._beyond += _is_decimal(digits)
            self._note("not_finite", start, here, message)
        elif not is_exact(digits, number):
            self._digits[here] = digits
            message = f"{_short(digits)} has more digits than a float, which holds {number!r}"
            self._note("inexact_number", start, here, message, severity="note")
        return number

    def _open(self, here: Pointer, match: re.Match[str]) -> int:
        """Enter a container, or store an empty one; return where the next token stands."""
        start, pos = match.start(_OPEN), match.end()
        box: JsonValue = [] if match[_OPEN] == "[" else {}
        if len(self._stack) == MAX_DEPTH:
            self._stop("too_deep", start, here, f"nested deeper than {MAX_DEPTH} levels")
        self._store(box)
        if self.text.startswith(_CLOSERS[match[_OPEN]], pos):
            self._spans[here] = (start, pos + 1)
            return self._space(pos + 1)
        self._stack.append((self._box, self._pointer))
        self._box, self._pointer = box, here
        self._in_object = match[_OPEN] == "{"
        return pos

    def _after(self, pos: int) -> int:
        """Close what ends at `pos`; return where the next member or item begins."""
        text = self.text
        while self._stack:
            found = text[pos : pos + 1]
            if found == ",":
                return pos + 1
            closer = "}" if self._in_object else "]"
            if found != closer:
                self._take_back(pos)
                self._expected(f"',' or '{closer}'", pos, self._pointer)
            self._box, self._pointer = self._stack.pop()
            self._in_object = isinstance(self._box, dict)
            pos = self._space(pos + 1)
        return pos

    def _take_back(self, pos: int) -> None:
        """Take the last value out of an unfinished document where more follows it: 10 of 10:30."""
        if not self.prefix or pos == len(self.text):
            return
        if self._in_object:
            key, _ = self._box.popitem()
            self._pending = join(self._pointer, key)
        else:
            self._box.pop()
            self._pending = f"{self._pointer}/{len(self._box)}"

    # What the fast patterns do not know: escapes, errors, the end of the text.

    def _odd_key(self, pos: int) -> tuple[Pointer, int]:
        pos = self._space(pos)
        match = _STRING_LIKE.match(self.text, pos)
        if match is None:
            self._expected("a key in double quotes", pos, self._pointer)
        key = self._unescaped(match, self._pointer)
        here = self._begin(key or "", pos + 1, match.end() - 1)
        self._pending = here
        pos = self._space(match.end())
        if not self.text.startswith(":", pos):
            self._expected("':'", pos, here)
        return here, self._space(pos + 1)

    def _odd_value(self, here: Pointer, pos: int) -> int:
        """Read the value at `pos`, or stop; return where the next token stands."""
        text = self.text
        if pos < len(text):
            self._pending = here
        if match := _STRING_LIKE.match(text, pos):
            value: JsonValue = self._unescaped(match, here)
        elif match := _NOT_FINITE.match(text, pos):
            value = None
            message = f"{match[0]} is not JSON; expected a finite number"
            self._note("not_finite", pos, here, message)
        elif (match := _NUMBER_LIKE.match(text, pos)) and not self._is_cut(pos):
            value = None
            message = f"{_short(match[0])} is not a JSON number"
            self._note("bad_number", pos, here, message)
        else:
            self._expected("a value", pos, here)
        self._store(value)
        self._spans[here] = match.span()
        return self._space(match.end())

    def _unescaped(self, match: re.Match[str], here: Pointer) -> str | None:
        """Return the characters of a JSON string; None, with findings, where it is not one."""
        seen: set[str] = set()
        for odd in _ODD.finditer(match[0]):
            kind = "bad_escape" if odd[1] else "control_character"
            if odd.lastindex and kind not in seen:
                seen.add(kind)
                found = f"{_short(odd[0])} in a string"
                want = "one of JSON's escapes" if odd[1] else "it as an escape"
                message = f"{found}; expected {want}"
                self._note(kind, match.start() + odd.start(), here, message)
        if seen:
            return None
        value: str = json.loads(match[0])
        if lone := _SURROGATE.search(value):
            message = f"half of a surrogate pair, {_short(lone[0])}, in a string"
            self._note("lone_surrogate", match.start(), here, message)
            return None
        return value

    def _guard_end(self, here: Pointer, end: int) -> None:
        """Stop at a number that ends a prefix: more digits may come."""
        if self.prefix and end == len(self.text):
            self._pending, self.at_end = here, True
            raise _Stop

    def _expected(self, what: str, pos: int, here: Pointer) -> NoReturn:
        """Stop with a finding that says what should have stood at `pos`."""
        code = "byte_order_mark" if self.text.startswith("\ufeff", pos) else "not_json"
        if not self.text.strip(" \t\n\r"):
            code = "empty"
        elif self._is_cut(pos):
            self.at_end, code = True, "unexpected_end"
            what = f"{what} and the rest of a document that is not whole"
        self._stop(code, pos, here, f"expected {what}, found {self._shown(pos)}")

    def _is_cut(self, pos: int) -> bool:
        """Return whether the token at `pos` could still become JSON, had the text gone on."""
        text = self.text
        if pos == len(text) or (text[pos] == '"' and not _STRING_LIKE.match(text, pos)):
            return True
        if _NUMBER_BEGUN.fullmatch(text, pos):
            return True
        match = _WORD.match(text, pos)
        if match is None or match.end() < len(text):
            return False
        return any(word.startswith(match[0]) for word in _WORDS)

    def _stop(self, code: str, pos: int, here: Pointer, message: str) -> NoReturn:
        self.end = len(self.text) if self.at_end else pos
        self._note(code, pos, here, message)
        raise _Stop

    def _note(
        self,
        code: str,
        pos: int,
        here: Pointer,
        message: str,
        severity: Literal["error", "note"] = "error",
    ) -> None:
        self.findings.append(finding(code, f"character {pos}: {message}", here, severity))
        if self.prefix and severity == "error":
            raise _Stop

    def _space(self, pos: int) -> int:
        match = _SPACE.match(self.text, pos)
        return match.end() if match else pos

    def _shown(self, pos: int) -> str:
        rest = self.text[pos : pos + 21]
        return _short(rest) if rest else "the end of the text"


def _children(here: Pointer, value: JsonValue) -> list[tuple[Pointer, JsonValue]]:
    """Return the members or items of a container, none of a scalar."""
    if is_object(value):
        return [(join(here, key), item) for key, item in value.items()]
    if is_array(value):
        return [(join(here, index), item) for index, item in enumerate(value)]
    return []


def is_exact(digits: str, number: float) -> bool:
    """Return whether `number`, a finite one, says the same as `digits`."""
    if len(digits) <= _SURE_CHARS and abs(number) > _TINY:
        return True
    try:
        return Decimal(digits) == Decimal(repr(number))
    except InvalidOperation:  # an exponent beyond what Decimal reads: a double read it as 0
        return False


def _without_errors(item: Finding) -> Finding:
    """Return the error that a number is beyond a double as the note that it is for a Decimal."""
    if item.severity != "error":
        return item
    message = f"{item.message.partition(';')[0]}; the Decimal holds it as it was written"
    return replace(item, message=message, severity="note", code="inexact_number")


def _is_decimal(digits: str) -> bool:
    """Whether a Decimal holds the number without more digits than an integer may have."""
    try:
        return Decimal(digits).adjusted() < MAX_DIGITS
    except InvalidOperation:  # an exponent beyond what Decimal reads
        return False


def _short(text: str) -> str:
    """Return `text` quoted, at most some 20 characters of it, safe to print."""
    cut = text if len(text) <= 20 else f"{text[:20]}…"
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", repr(cut))


def finding(
    code: str,
    message: str,
    path: Pointer = "",
    severity: Literal["error", "warning", "note"] = "error",
) -> Finding:
    path = _SURROGATE.sub("\ufffd", path)
    return Finding(level=Validity.SYNTAX, path=path, message=message, severity=severity, code=code)
