"""Dialects that have a judge of their own: two engines that compile, and the metaschema."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from extractkit.paths import JsonValue, is_object, join
from tests.schema.engine import grammar
from tests.schema.rules.document import DEFINITIONS, places, resolves


def llguidance(schema: JsonValue) -> Iterator[str]:
    """Yield what the installed llguidance says when it compiles `schema`; warnings count."""
    try:
        grammar(schema)
    except pytest.fail.Exception as exc:
        yield f"(root): {exc.msg}"


_ASK = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
from outlines_core import json_schema
try:
    json_schema.build_regex_from_schema(sys.stdin.read())
except (TypeError, ValueError) as exc:
    print(exc)
"""


def outlines_core(schema: JsonValue) -> Iterator[str]:
    """Yield why the installed outlines-core gives no expression for `schema`.

    It is asked in a process of its own, with 512 MB and 10 s: without memory it ends the process.
    """
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _ASK],
        input=json.dumps(schema),
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        yield f"(root): outlines-core ends with {asked.returncode}: {asked.stderr:.200}"
    elif asked.stdout:
        yield f"(root): outlines-core: {asked.stdout:.200}"


def json_schema(schema: JsonValue) -> Iterator[str]:
    """Yield where `schema` is not valid 2020-12, and references that lead nowhere."""
    checker: Any = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for error in checker.iter_errors(schema):
        yield f"{join('', *error.absolute_path) or '(root)'}: {error.message:.200}"
    for place in places(schema):
        if is_object(place.schema) and "$ref" in place.schema:
            reference = place.schema["$ref"]
            if not resolves(schema, reference, definitions=DEFINITIONS):
                yield f"{place}: the reference {reference!r} names no definition at the root"
