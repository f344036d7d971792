"""A JSON Schema as a judge of documents: a quick verdict, and findings where it is no.

`jsonschema_rs` gives the verdict, in microseconds; `jsonschema` gives the findings, in
milliseconds, only where the verdict is no. Formats and patterns are read by jsonschema_rs in
both, so that they cannot differ there. Neighbours: `_words` puts errors into plain words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final, Literal, TypeAlias

from extractkit.checks._words import describe
from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, join
from extractkit.results import Finding, Validity

_FORMATS: Final = (
    *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
    *("ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid"),
    *("json-pointer", "relative-json-pointer", "regex"),
)
# ISO 8601, wider than RFC 3339: Pydantic writes a sign, fractions, and years beside days.
_DURATION: Final = re.compile(
    r"[-+]?P(?!\Z)(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?"
    r"(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?\Z",
    re.ASCII,
)

_Formats: TypeAlias = Mapping[str, Callable[[object], bool]]


class Judge:
    """What one JSON Schema says of documents; may be shared between threads.

    Draft 2020-12, unless the schema names another. Formats are asserted; "date-time" and "time"
    may lack their offset, which a source seldom states: where the type demands one, Pydantic
    says so. Nothing is fetched.

    Raises:
        SchemaError: If neither validator can read the schema.
    """

    def __init__(self, schema: JsonObject, *, typed: bool) -> None:
        """Prepare the verdict.

        Args:
            schema: The user's own JSON Schema.
            typed: Whether Pydantic judges the types after it; then a duration may have every
                form that Pydantic writes.
        """
        self._schema = schema
        self._formats = _formats(typed=typed)
        self._refused = ""
        try:
            self._verdict = _rs_validator(self._schema, self._formats)
        except ValueError as error:
            self._verdict = None
            self._refused = _first_line(error)
            self._require_readable()

    def findings(self, document: JsonValue) -> tuple[Finding, ...]:
        """Return what keeps `document` from conforming, as errors; none if it conforms.

        Raises:
            SchemaError: If the schema refers to what is not in it.
        """
        if self._verdict is None:
            note = f"jsonschema_rs cannot read this schema ({self._refused}); jsonschema judged"
            found, why = self._explained(document)
            failed = (_finding("", "not_judged", why),) if why else ()
            return (*found, *failed, _finding("", "one_validator", note, "note"))
        try:
            if self._verdict.is_valid(document):
                return ()
        except ValueError as error:
            return (_finding("", "not_judged", f"jsonschema_rs cannot judge it: {error}"),)
        found, why = self._explained(document)
        if found and not why:
            return found
        message = f"jsonschema_rs says no, and {why or 'jsonschema yes'}; the document is refused"
        said = (
            _finding(join("", *error.instance_path), error.kind.name, error.message[:300])
            for error in self._verdict.iter_errors(document)
        )
        return (*said, _finding("", "validators_disagree", message))

    def _explained(self, document: JsonValue) -> tuple[tuple[Finding, ...], str]:
        """Return the findings of jsonschema, and why it stopped, if it did."""
        from referencing.exceptions import Unresolvable

        found: list[Finding] = []
        try:
            found.extend(self._explain(document))
        except Unresolvable as error:
            raise SchemaError(
                f"the JSON Schema refers to {error.ref!r}, which is not in it, and nothing is "
                "fetched; put what it refers to under $defs"
            ) from error
        except (re.error, RecursionError, ValueError) as error:
            return tuple(found), f"jsonschema fails with {type(error).__name__}: {error}"
        return tuple(found), ""

    def _explain(self, document: JsonValue) -> Iterator[Finding]:
        seen: set[tuple[str, str, str]] = set()
        for error in _py_validator(self._schema, self._formats).iter_errors(document):
            for path, code, message in describe(error):
                if (path, code, message) not in seen:
                    seen.add((path, code, message))
                    yield _finding(path, code, message)

    def _require_readable(self) -> None:
        from jsonschema.exceptions import SchemaError as Unreadable

        try:
            _py_validator(self._schema, self._formats).check_schema(self._schema)
        except Unreadable as error:
            pointer = join("", *error.absolute_path)
            raise SchemaError(
                f"not a JSON Schema: {error.message} at {pointer or '(root)'}; "
                f"jsonschema_rs says: {self._refused}",
                pointer=pointer,
            ) from error


def _finding(
    path: str, code: str, message: str, severity: Literal["error", "note"] = "error"
) -> Finding:
    return Finding(level=Validity.SCHEMA, path=path, message=message, severity=severity, code=code)


def _first_line(error: ValueError) -> str:
    return str(error).split("\n", maxsplit=1)[0]


# --- what the two validators share ---------------------------------------------------------------


@cache
def _native(name: str) -> Callable[[object], bool]:
    """Return jsonschema_rs's own reading of one format."""
    import jsonschema_rs

    validator = jsonschema_rs.validator_for({"format": name}, validate_formats=True, offline=True)
    return validator.is_valid


def _with_offset_optional(name: str) -> Callable[[object], bool]:
    native = _native(name)
    return lambda value: native(value) or (isinstance(value, str) and native(f"{value}Z"))


def _is_duration(value: object) -> bool:
    return not isinstance(value, str) or _DURATION.match(value) is not None


@cache
def _formats(*, typed: bool) -> _Formats:
    """Return the formats that are not as jsonschema_rs has them."""
    formats = {name: _with_offset_optional(name) for name in ("date-time", "time")}
    return {**formats, "duration": _is_duration} if typed else formats


def _rs_validator(schema: JsonObject, formats: _Formats) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        schema, formats=dict(formats), validate_formats=True, offline=True
    )


def _py_validator(schema: JsonObject, formats: _Formats) -> Any:
    from jsonschema import FormatChecker, validators
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # has none

    tools: Any = validators
    draft = tools.validator_for(schema, default=tools.Draft202012Validator)
    checker: Any = FormatChecker(formats=())
    for name in _FORMATS:
        checker.checks(name)(formats.get(name) or _native(name))
    extended = tools.extend(draft, {"pattern": _pattern, "properties": _properties})
    # A registry of its own: without one, jsonschema fetches what the schema refers to.
    return extended(schema, format_checker=checker, registry=REGISTRY)


@lru_cache(maxsize=256)
def _searcher(pattern: str) -> Callable[[object], bool]:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"pattern": pattern}, offline=True).is_valid


def _pattern(validator: Any, pattern: str, value: JsonValue, schema: JsonObject) -> Iterator[Any]:
    """Report what jsonschema_rs's regular expressions do not find, in jsonschema's form."""
    from jsonschema.exceptions import ValidationError

    del schema
    if validator.is_type(value, "string") and not _searcher(pattern)(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _properties(
    validator: Any, properties: JsonObject, value: JsonValue, schema: JsonObject
) -> Iterator[Any]:
    """Report as jsonschema does, but for `false`, of which it forgets the place."""
    del schema
    if not validator.is_type(value, "object"):
        return
    for name, below in properties.items():
        if name in value:
            rule: JsonValue = {"not": {}} if below is False else below
            yield from validator.descend(value[name], rule, path=name, schema_path=name)
