"""jsonschema_rs (the verdict) and jsonschema (the findings) agree over the official test suite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extractkit.checks._judge import Judge
from extractkit.errors import SchemaError

# Files where the two differ or where we mean to differ from the suite, with the reason.
_EXCEPTIONS = {
    "format.json": "formats are asserted here; the suite's default leaves them as annotations",
    "dependencies-compatibility.json": "2020-12 dropped `dependencies`; jsonschema_rs keeps it",
    "ecmascript-regex.json": "jsonschema reads patternProperties with Python's re",
    "patternProperties.json": "jsonschema reads patternProperties with Python's re",
}
# Groups that refer to schemas which only a server of the suite has.
_REMOTE = {"refRemote.json", "dynamicRef.json", "cross-draft.json"}


def _groups(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.rglob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            if isinstance(group["schema"], dict):
                yield path.name, group


@pytest.fixture(scope="module")
def suite(shared_data: Path) -> list[tuple[str, dict[str, Any]]]:
    folder = shared_data / "json_schema_test_suite" / "dev" / "tests" / "draft2020-12"
    if not folder.is_dir():
        pytest.skip(f"no JSON-Schema-Test-Suite at {folder}")
    return list(_groups(folder))


def test_both_validators_give_the_verdict_of_the_suite(suite: Any) -> None:
    tried, odd, remote = 0, set(), set()
    # That formats are asserted is a part of the suite of its own.
    assert {"date.json", "email.json", "ipv6.json", "uri.json", "uuid.json"} <= {
        name for name, _ in suite
    }
    for name, group in suite:
        judge = Judge(group["schema"], typed=False)
        for case in group["tests"]:
            try:
                findings = judge.findings(case["data"])
            except SchemaError:
                remote.add(name)
                continue
            tried += 1
            accepted = all(item.severity != "error" for item in findings)
            explained, stopped = judge._explained(case["data"])
            differ = any(item.code == "validators_disagree" for item in findings)
            if accepted != case["valid"] or bool(explained) == accepted or stopped or differ:
                odd.add(name)
    assert tried > 1000
    assert odd <= set(_EXCEPTIONS)
    assert remote <= _REMOTE
