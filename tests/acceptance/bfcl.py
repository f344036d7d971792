"""The functions and calls of the Berkeley Function Calling Leaderboard, as tools.

    python -m tests.acceptance.bfcl [--show N]

Every function of `bfcl/dev` becomes a tool: its own words for types ("dict", "float", "HashMap")
are mapped to JSON Schema's, and a choice beside a list is one of its elements. For each API, the
definitions of a case compile together. The true arguments, one call with the first accepted value
of each and one with only the required ones, go out as the schema asks for them, come back exactly,
and reach CONSISTENT; `_WRONG_LABELS` says which labels do not fit their own schema, and why. An
argument that is not declared and one of a wrong type, both made of the true ones, are caught. All
calls of a case together, as an answer that lists them, go out and come back exactly as well.

Exits with 1 unless all of that holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from extractkit.api import parse_tool_calls
from extractkit.errors import SchemaError
from extractkit.schema import compile_schema
from extractkit.tools import Tool, ToolApi, ToolCall, answer_of, definitions
from tests.acceptance.shared_data import Bounds, data_folder, rows

_APIS: tuple[ToolApi, ...] = ("openai", "openai-chat", "anthropic", "compatible", "mcp")
_DIALECTS = {"openai": "openai-strict", "anthropic": "anthropic-tool", "mcp": "json-schema"}

_TYPES = {
    "dict": "object", "HashMap": "object", "Hashtable": "object",
    "float": "number", "double": "number", "long": "integer", "byte": "integer",
    "short": "integer", "String": "string", "char": "string", "Boolean": "boolean",
    "tuple": "array", "Array": "array", "ArrayList": "array", "Set": "array", "Queue": "array",
}  # fmt: skip
_VARIABLE = "a variable's name where the schema has "
_WRONG_LABELS: dict[str, str] = {
    # id -> why a true call does not fit its own schema
    "live_multiple_189-83-0": "the body has keys that the schema does not declare",
    "parallel_multiple_21": "an expression in Python where the schema has lists of numbers",
    "parallel_multiple_94": "texts to be sorted where the schema has integers",
    "simple_java_35": "one text where the schema has a list of texts",
    "simple_java_38": f"{_VARIABLE}a map",
    "simple_java_72": f"{_VARIABLE}a list of characters",
    "simple_java_82": f"{_VARIABLE}a list of texts",
    "simple_java_87": "a constant's name where the schema has an integer",
    "simple_javascript_19": f"{_VARIABLE}an object and a list",
    "simple_javascript_32": f"{_VARIABLE}a list",
    "simple_javascript_37": f"{_VARIABLE}a list",
    "simple_javascript_39": f"{_VARIABLE}a list",
    "simple_javascript_9": f"{_VARIABLE}an object",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """One true call: the case, its tools, the tool that is meant and its arguments."""

    id: str
    tools: tuple[Tool[..., Any], ...]
    tool: Tool[..., Any]
    arguments: dict[str, Any]


def _mapped(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of the data set as JSON Schema."""
    told: dict[str, Any] = {}
    for word, held in schema.items():
        if word == "type":
            if held != "any":
                told[word] = _TYPES.get(held, held)
        elif word == "properties":
            if held:  # an empty set of keys is a map
                told[word] = {name: _mapped(part) for name, part in held.items()}
        elif word in ("items", "additionalProperties") and isinstance(held, dict):
            told[word] = _mapped(held)
        elif word != "optional":  # what may be left out stands in `required`
            told[word] = held
    if told.get("type") == "array" and "enum" in told and _are_scalars(told["enum"]):
        told["items"] = {**told.get("items", {}), "enum": told.pop("enum")}
    return told


def _are_scalars(values: list[Any]) -> bool:
    """Whether a choice is one of elements, although it stands beside the list."""
    return not any(isinstance(value, list) for value in values)


def tool_of(function: dict[str, Any]) -> Tool[..., Any]:
    """Return a function of the data set as a tool."""
    schema = {"properties": {}, **_mapped(function["parameters"])}
    return Tool.of_schema(function["name"], schema, description=function.get("description", ""))


def _accepted(values: Any, schema: Any, *, is_required: bool) -> Iterator[Any]:
    """Yield the first accepted value that fits; nothing where it may be left out, and none does."""
    import jsonschema_rs

    if not isinstance(values, list):
        yield _plain(values)
        return
    may_be_left_out = "" in values and not is_required
    plain = [_plain(value) for value in values if value != "" or is_required]
    fitting = [value for value in plain if jsonschema_rs.is_valid(schema, value)]
    if fitting or (plain and not may_be_left_out):
        yield fitting[0] if fitting else plain[0]


def _plain(value: Any) -> Any:
    """Return a value of a label; each key of an object has a list of accepted values."""
    if isinstance(value, dict):
        found = {key: list(_accepted(held, True, is_required=False)) for key, held in value.items()}
        return {key: held[0] for key, held in found.items() if held}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def labelled_of(case: dict[str, Any], tools: dict[str, Tool[..., Any]]) -> Iterator[_Sample]:
    """Yield the true calls of a case: with all accepted arguments, and with only the required."""
    for label in case.get("ground_truth") or ():
        for name, accepted in label.items():
            tool = tools[name]
            required = set(tool.schema.get("required", ()))
            whole: dict[str, Any] = {}
            for key, values in accepted.items():
                schema = tool.schema["properties"].get(key, False)
                for value in _accepted(values, schema, is_required=key in required):
                    whole[key] = value
            least = {key: value for key, value in whole.items() if key in required}
            for arguments in (whole, least) if least != whole else (whole,):
                yield _Sample(
                    id=case["id"], tools=tuple(tools.values()), tool=tool, arguments=arguments
                )


def _response(api: ToolApi, name: str, arguments: Any) -> dict[str, Any]:
    """Return what an API answers that asks for one call."""
    text = json.dumps(arguments)
    if api == "openai":
        call = {"type": "function_call", "call_id": "1", "name": name, "arguments": text}
        return {"object": "response", "status": "completed", "output": [call]}
    if api == "anthropic":
        block = {"type": "tool_use", "id": "1", "name": name, "input": arguments}
        return {"type": "message", "stop_reason": "tool_use", "content": [block]}
    if api == "mcp":
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    function = {"name": name, "arguments": text}
    message = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    return {"choices": [{"finish_reason": "tool_calls", "message": message}]}


def _called(sample: _Sample, api: ToolApi, name: str, arguments: Any) -> ToolCall:
    tools = (sample.tool,)
    (call,) = parse_tool_calls(_response(api, name, arguments), tools, api=api)
    return call


def _wrong_types(tool: Tool[..., Any], sent: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments with one value of another type, for each argument that has a type."""
    for key, schema in tool.schema["properties"].items():
        if "type" in schema and sent.get(key) is not None:
            is_text = schema["type"] == "string"
            yield {**sent, key: 12345 if is_text else "no such value"}


def _try(sample: _Sample, api: ToolApi, counts: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with one sample on one API; count what was tried."""
    import jsonschema_rs

    compiled = compile_schema(sample.tool.target, _DIALECTS[api])
    try:
        sent = compiled.lower(sample.arguments)
    except SchemaError as error:
        yield f"not lowered: {error}"
        return
    if not jsonschema_rs.is_valid(compiled.schema, sent):
        yield "what is sent does not fit what is asked for"
    if _text(compiled.lift(sent)) != _text(sample.arguments):
        yield f"not lifted: {compiled.lift(sent)}"
    name = sample.tool.definition(api)
    called = name["function"]["name"] if "function" in name else name["name"]
    call = _called(sample, api, called, sent)
    if not call.ok or call.value != sample.arguments or call.name != sample.tool.name:
        yield f"not taken: {[str(item.message) for item in call.findings]}"
    counts["unknown arguments"] += 1
    unknown = _called(sample, api, called, {**sent, "no_such_argument": 1})
    if unknown.ok or not unknown.findings:
        yield "an unknown argument was not caught"
    for wrong in _wrong_types(sample.tool, sent):
        counts["wrong types"] += 1
        if _called(sample, api, called, wrong).ok:
            yield f"a wrong type was not caught: {wrong}"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _fits(sample: _Sample) -> bool:
    import jsonschema_rs

    return bool(jsonschema_rs.is_valid(sample.tool.target, sample.arguments))


def _try_listed(
    tools: list[Tool[..., Any]], samples: list[_Sample], counts: Counter[str]
) -> Iterator[str]:
    """Yield what is wrong with the calls of a case as an answer that lists them."""
    import jsonschema_rs

    called = [{"name": each.tool.name, "arguments": each.arguments} for each in samples]
    answer = answer_of(tuple(tools), least=0, most=len(called) or 1)
    for dialect in ("llguidance", "openai-strict"):
        counts["answers that list calls"] += 1
        compiled = compile_schema(answer, dialect)
        sent = compiled.lower({"calls": called})
        if not jsonschema_rs.is_valid(compiled.schema, sent):
            yield f"{dialect}: the calls do not fit the answer that lists them"
        if _text(compiled.lift(sent)) != _text({"calls": called}):
            yield f"{dialect}: the calls are not lifted: {compiled.lift(sent)}"


def main() -> int:
    """Print what holds, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=int, default=5, help="how many failures to print")
    show = parser.parse_args().show
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    misfits: dict[str, str] = {}
    for path in sorted((data_folder() / "bfcl" / "dev").glob("*.jsonl")):
        for case in rows("bfcl", "dev", path.name):
            counts["cases"] += 1
            tools = {function["name"]: tool_of(function) for function in case["function"]}
            counts["functions"] += len(tools)
            for api in _APIS:
                try:
                    definitions(tuple(tools.values()), api)
                    counts["definitions"] += len(tools)
                except SchemaError as error:
                    wrong.append(f"{case['id']} {api}: {error}")
            samples = list(labelled_of(case, tools))
            sound = list(filter(_fits, samples))
            misfits |= {
                each.id: json.dumps(each.arguments)[:300] for each in samples if each not in sound
            }
            listed = _try_listed(list(tools.values()), sound, counts)
            wrong += [f"{case['id']} {said}" for said in listed]
            for sample in sound:
                counts["samples"] += 1
                for api in ("openai", "anthropic", "mcp"):
                    wrong += [f"{sample.id} {api}: {said}" for said in _try(sample, api, counts)]
    for line in wrong[:show]:
        print(line)
    for id in sorted(misfits.keys() ^ _WRONG_LABELS.keys()):
        print(f"label: {id}: {misfits.get(id, 'fits, and is listed')}")
    bounds = Bounds()
    bounds.check(counts["cases"] == 1194, "all cases are read", counts["cases"])
    bounds.check(
        not wrong, "definitions compile, true calls come back, wrong ones do not", len(wrong)
    )
    bounds.check(misfits.keys() == _WRONG_LABELS.keys(), "labels that do not fit", len(misfits))
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
