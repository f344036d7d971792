"""What the tests of the cases ask of a compiled schema, and what they hold it to each time."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from extractkit.paths import is_object
from extractkit.schema import CompiledSchema, compile_schema
from tests.schema.engine import admits
from tests.schema.rules import violations
from tests.schema.rules.document import places

HOSTED = ("openai-strict", "anthropic", "anthropic-tool")
EVERY = (*HOSTED, "llguidance", "json-schema")
on_every = pytest.mark.parametrize("dialect", EVERY)
on_hosted = pytest.mark.parametrize("dialect", HOSTED)


def compiled_for(target: Any, dialect: str) -> CompiledSchema:
    compiled = compile_schema(target, dialect)
    assert violations(dialect, compiled.schema) == []
    return compiled


def accepts(compiled: CompiledSchema, wire: Any) -> bool:
    """Whether the target would let a model write `wire`."""
    if compiled.dialect == "llguidance":
        return admits(compiled.schema, wire)
    checker: Any = Draft202012Validator(compiled.schema)
    return bool(checker.is_valid(wire))


def dumped(compiled: CompiledSchema, value: Any) -> Any:
    assert compiled.adapter is not None
    return compiled.adapter.dump_python(value, mode="json")


def typed(compiled: CompiledSchema, wire: Any) -> Any:
    """Return the user's value in an answer."""
    assert compiled.adapter is not None
    return compiled.adapter.validate_json(json.dumps(compiled.lift(wire)))


def there_and_back(compiled: CompiledSchema, value: Any) -> Any:
    """Return what is sent for `value`, which must fit the schema and come back as it was."""
    document = dumped(compiled, value)
    wire = compiled.lower(document)
    assert accepts(compiled, wire), wire
    assert compiled.lift(wire) == document
    assert compiled.faults(wire) == ()
    assert typed(compiled, wire) == value
    return wire


def told(compiled: CompiledSchema) -> set[str]:
    """Return every place of the report."""
    changed = {item.pointer for item in compiled.rewritten}
    return changed | {item.pointer for item in compiled.unenforced}


def nodes(schema: Any) -> list[dict[str, Any]]:
    return [place.schema for place in places(schema) if is_object(place.schema)]


def keywords(schema: Any) -> set[str]:
    return {keyword for here in nodes(schema) for keyword in here}


def objects(schema: Any) -> list[dict[str, Any]]:
    return [here for here in nodes(schema) if "properties" in here]
