"""Whether a schema is inside a dialect, judged by what providers.md says and by nothing else.

It shares no code and no table with the compiler, so that a slip in one shows in the other. Every
violation is a sentence that begins with the JSON Pointer into the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from extractkit.paths import JsonObject, JsonValue
from tests.schema.rules import anthropic, engines, openai_strict
from tests.schema.rules.document import Counts, counts

__all__ = ["Counts", "counts", "request_violations", "violations"]


def _openai_strict(schema: JsonValue) -> Iterator[str]:
    yield from openai_strict.at_root(schema)
    yield from openai_strict.everywhere(schema)
    yield from openai_strict.limits(counts(schema))


def _anthropic(schema: JsonValue) -> Iterator[str]:
    yield from anthropic.everywhere(schema, tool=False)
    yield from anthropic.limits(counts(schema))


def _anthropic_tool(schema: JsonValue) -> Iterator[str]:
    yield from anthropic.at_root_of_tool(schema)
    yield from anthropic.everywhere(schema, tool=True)
    yield from anthropic.limits(counts(schema))


_JUDGES: dict[str, Callable[[JsonValue], Iterable[str]]] = {
    "json-schema": engines.json_schema,
    "openai-strict": _openai_strict,
    "anthropic": _anthropic,
    "anthropic-tool": _anthropic_tool,
    "llguidance": engines.llguidance,
    "outlines-core": engines.outlines_core,
}


def violations(dialect: str, schema: JsonObject) -> list[str]:
    """Return the rules of `dialect` that `schema` breaks; the metaschema's come first.

    Raises:
        KeyError: If no rules are known for such a dialect.
    """
    judge = _JUDGES[dialect]
    general = [] if dialect == "json-schema" else list(engines.json_schema(schema))
    return list(dict.fromkeys([*general, *judge(schema)]))


def request_violations(dialect: str, schemas: Sequence[JsonObject]) -> list[str]:
    """Return what is wrong with several schemas that travel in one request.

    Each schema's own violations, then the limits that are summed over the request, then the limit
    on the number of tools. `dialect` is that of each schema.
    """
    found = [what for schema in schemas for what in violations(dialect, schema)]
    if dialect in ("anthropic", "anthropic-tool"):
        total = sum(map(counts, schemas), Counts())
        found += [f"{what} in one request" for what in anthropic.limits(total)]
    if dialect == "anthropic-tool" and len(schemas) > anthropic.TOOLS:
        found.append(f"(root): {len(schemas)} strict tools, more than {anthropic.TOOLS}")
    return found
