"""`extractkit extract`: what is printed where, and how it ends."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from extractkit import ExtractionResult
from extractkit.cli._wording import calls_as_options, with_options
from extractkit.errors import (
    ConnectError,
    DeadlineExceededError,
    MissingDependencyError,
    NotFoundError,
)
from extractkit.messages import Capabilities, ModelResponse, StopReason
from extractkit.testing import FakeProvider
from tests.cli.conftest import Run, Script

_OSLO = '{"name": "Oslo", "kind": null}'


def test_a_value_is_printed_for_people_with_all_that_is_known(
    run: Run, script: Script, folder: Path
) -> None:
    script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 0
    assert "City(name='Oslo', kind=None)" in ran.out
    assert "GROUNDED" in ran.out
    assert "ok; stop reason stop" in ran.out
    assert "14:18" in ran.out
    assert "A letter from [[Oslo]]." in ran.out
    assert "scripted" in ran.out
    assert "s CPU" in ran.out
    assert "\x1b" not in ran.out


def test_json_is_pure_and_can_be_read_back(run: Run, script: Script, folder: Path) -> None:
    script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt", "--json")
    from shop.models import City

    result = ExtractionResult.from_json(City, ran.out)
    assert ran.code == 0
    assert result.value == City(name="Oslo")
    assert json.loads(ran.out)["raw"] is None


def test_raw_keeps_the_response(run: Run, script: Script, folder: Path) -> None:
    script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt", "--json", "--raw")
    assert json.loads(ran.out)["raw"]["text"] == _OSLO


def test_a_page_is_written_beside_the_result(run: Run, script: Script, folder: Path) -> None:
    script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt", "--json", "--html", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert ran.code == 0
    assert json.loads(ran.out)["value"]["name"] == "Oslo"
    assert "<h1>text.txt: scripted</h1>" in page
    assert '<span id="place-1"></span>Oslo</a>' in page


def test_a_page_is_written_where_there_is_no_value_too(
    run: Run, script: Script, folder: Path
) -> None:
    script('{"name": 3}', '{"name": 3}')
    assert run("extract", "shop.models:City", "text.txt", "--html", "page.html").code == 1
    assert "expected string, found the number 3" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("goal", "why"),
    [("shop", "that is a folder"), ("nowhere/page.html", "there is no folder nowhere")],
)
def test_a_page_that_cannot_be_written_ends_the_command_before_the_model_is_asked(
    goal: str, why: str, run: Run, script: Script, folder: Path
) -> None:
    provider = script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt", "--html", goal)
    assert ran.code == 2
    assert why in ran.err
    assert provider.requests == []


@pytest.mark.parametrize(
    ("arguments", "goal"),
    [
        (["shop.models:City", "text.txt"], "text.txt"),
        (["shop.models:City", "text.txt"], "./shop/../text.txt"),
        (["shop.models:City", "text.txt"], "link.txt"),
        (["city.py:City", "text.txt"], "city.py"),
        (["city.json", "text.txt"], "city.json"),
        (["--schema", "city.json", "text.txt"], "city.json"),
    ],
)
def test_a_page_never_overwrites_what_the_command_reads(
    arguments: list[str], goal: str, run: Run, script: Script, folder: Path
) -> None:
    (folder / "link.txt").symlink_to("text.txt")
    (folder / "city.py").write_text("from shop.models import City\n")
    (folder / "city.json").write_text('{"type": "object"}')
    before = (folder / goal).read_bytes()
    provider = script(_OSLO)
    ran = run("extract", *arguments, "--html", goal)
    assert (ran.code, ran.out, provider.requests) == (2, "", [])
    assert "that would overwrite" in ran.err
    assert (folder / goal).read_bytes() == before


def test_a_page_never_overwrites_the_file_that_standard_input_is(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = script(_OSLO, _OSLO)
    (folder / "old.html").write_text("an older page")
    for goal, code in (("text.txt", 2), ("old.html", 0)):
        with (folder / "text.txt").open(encoding="utf-8") as typed:
            monkeypatch.setattr("sys.stdin", typed)
            assert run("extract", "shop.models:City", "-", "--html", goal).code == code
    assert len(provider.requests) == 1
    assert (folder / "text.txt").read_text() == "A letter from Oslo."


def test_a_page_does_not_go_to_standard_output(run: Run, script: Script, folder: Path) -> None:
    provider = script(_OSLO, _OSLO)
    ran = run("extract", "shop.models:City", "text.txt", "--html", "-")
    assert (ran.code, ran.out, provider.requests) == (2, "", [])
    assert "--html -: a page goes to a file; name one" in ran.err
    assert not (folder / "-").exists()
    assert run("extract", "shop.models:City", "text.txt", "--html", "./-").code == 0
    assert (folder / "-").read_text().startswith("<!doctype html>")


def test_a_page_may_be_written_again_and_beside_a_text_from_standard_input(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(_OSLO, _OSLO)
    for source in ("text.txt", "-"):
        typed = io.TextIOWrapper(io.BytesIO(b"A letter from Oslo."))
        monkeypatch.setattr("sys.stdin", typed)
        assert run("extract", "shop.models:City", source, "--html", "page.html").code == 0
        assert "Oslo</a>" in (folder / "page.html").read_text()


def _denied(*_: object) -> bool:
    return False


def test_a_page_without_permission_is_refused_before_the_model_is_asked(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = script(_OSLO)
    monkeypatch.setattr("os.access", _denied)
    ran = run("extract", "shop.models:City", "text.txt", "--html", "page.html")
    assert (ran.code, provider.requests) == (2, [])
    assert "cannot be written" in ran.err


def test_a_disk_that_is_full_loses_the_page_but_not_the_result(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    script(_OSLO)
    monkeypatch.setattr("pathlib.Path.write_text", full)
    ran = run("extract", "shop.models:City", "text.txt", "--json", "--html", "page.html")
    assert ran.code == 3
    assert "--html page.html: No space left on device" in ran.err
    assert json.loads(ran.out)["value"]["name"] == "Oslo"


def test_options_may_stand_between_the_arguments(run: Run, script: Script, folder: Path) -> None:
    script(_OSLO)
    ran = run("extract", "shop.models:City", "--json", "text.txt")
    assert json.loads(ran.out)["document"]["name"] == "Oslo"


def test_a_text_can_come_from_standard_input(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\ufeffAus Köln.".encode())))
    provider = script('{"name": "Köln"}')
    ran = run("extract", "shop.models:City", "-", "--json")
    assert json.loads(ran.out)["value"]["name"] == "Köln"
    assert "Aus Köln." in provider.requests[0].messages[-1].content
    assert "\ufeff" not in provider.requests[0].messages[-1].content


def test_a_json_schema_file_is_a_target(run: Run, script: Script, folder: Path) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    (folder / "city.json").write_text(json.dumps(schema))
    script('{"name": "Oslo"}')
    ran = run("extract", "--schema", "city.json", "text.txt", "--json")
    assert json.loads(ran.out)["value"] == {"name": "Oslo"}


@pytest.mark.parametrize("target", ["Outer.Inner", "SCHEMA", "City"])
def test_nested_classes_and_schema_dicts_are_targets(
    target: str, run: Run, script: Script, folder: Path
) -> None:
    script('{"name": "Oslo"}')
    assert run("extract", f"shop.models:{target}", "text.txt").code == 0


def test_a_list_is_a_target(run: Run, script: Script, folder: Path) -> None:
    script(f"[{_OSLO}]")
    assert run("extract", "shop.models:Cities", "text.txt").code == 0


def test_the_options_reach_the_request(run: Run, script: Script, folder: Path) -> None:
    provider = script("nonsense", _OSLO)
    ran = run(
        "extract", "shop.models:City", "text.txt", "--json", "--strategy", "prompt",
        "--instructions", "Be brief.", "--temperature", "0.5", "--seed", "7",
        "--max-output-tokens", "90", "--retries", "1", "--require", "SCHEMA", "--timeout", "0",
    )  # fmt: skip
    request = provider.requests[0]
    assert ran.code == 0
    assert len(provider.requests) == 2
    assert "Be brief." in request.messages[0].content
    assert (request.sampling.temperature, request.sampling.seed) == (0.5, 7)
    assert request.sampling.max_output_tokens == 90


def test_a_result_that_is_not_ok_is_exit_code_1_and_says_why(
    run: Run, script: Script, folder: Path
) -> None:
    script('{"name": 3}', '{"name": 3}')
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 1
    assert "no value; the best answer was" in ran.out
    assert "invalid" in ran.out
    assert "/name" in ran.out


def test_an_answer_that_is_no_json_is_shown_as_it_came(
    run: Run, script: Script, folder: Path
) -> None:
    script("I like [bold]Oslo\x1b[2J", "I like [bold]Oslo\x1b[2J")
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 1
    assert "I like [bold]Oslo␛[2J" in ran.out
    assert "\x1b" not in ran.out


def test_a_cut_answer_shows_what_was_read(run: Run, script: Script, folder: Path) -> None:
    script(
        ModelResponse(text='{"name": "Oslo", "ki', stop=StopReason.LENGTH, stop_detail="limit=9")
    )
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 1
    assert "truncated; stop reason length (limit=9)" in ran.out
    assert '"name": "Oslo"' in ran.out


def test_a_refusal_is_shown(run: Run, script: Script, folder: Path) -> None:
    script(ModelResponse(text="", stop=StopReason.STOP, refusal="I would rather not."))
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 1
    assert "I would rather not." in ran.out


def test_a_long_source_is_not_printed_and_this_is_said(
    run: Run, script: Script, folder: Path
) -> None:
    (folder / "long.txt").write_text("Oslo\n" * 200)
    script(_OSLO)
    ran = run("extract", "shop.models:City", "long.txt")
    assert "source (201 lines, not shown)" in ran.out


def test_the_source_can_be_left_out(run: Run, script: Script, folder: Path) -> None:
    script(_OSLO)
    assert "[[" not in run("extract", "shop.models:City", "text.txt", "--no-source").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop.models:City"], "expected TARGET and SOURCE, got 'shop.models:City'"),
        ([], "expected TARGET and SOURCE, got nothing"),
        (["a", "b", "c"], "got 'a' 'b' 'c'"),
        (["City", "text.txt"], "names no target; expected module:Name"),
        (["nowhere.models:City", "text.txt"], "there is no module 'nowhere'"),
        (["shop.nowhere:City", "text.txt"], "there is no module 'shop.nowhere'"),
        (["shop.models:Town", "text.txt"], "has no 'Town'; its own are City\n"),
        (["shop.front:Town", "text.txt"], "'shop.front' has no 'Town'\n"),
        (["shop.models:SCHEMA.x", "text.txt"], "'dict' has no 'x'\n"),
        (["shop.models:Outer.Other", "text.txt"], "'Outer' has no 'Other'; its own are Inner\n"),
        (["shop.models:number", "text.txt"], "is an int, not a type"),
        (["shop.models:name", "text.txt"], "is a str, not a type"),
        (["shop.models:function", "text.txt"], "is a function, not a type"),
        (["broken:City", "text.txt"], "importing 'broken' failed: RuntimeError: no luck"),
        (["leaves:City", "text.txt"], "importing 'leaves' failed: SystemExit"),
        (["needs:City", "text.txt"], "importing 'needs' failed: No module named"),
        (["shop.models:City", "missing.txt"], "there is no file 'missing.txt'"),
        (["shop.models:City", "shop"], "'shop' is a folder"),
        (["shop.models:City", "nul\0.txt"], "cannot be read"),
        (["shop.models:City", "latin.txt"], "is not UTF-8: the byte at offset 1 (0xf6)"),
        (["shop.models:City", "utf16.txt"], "mark says that it is UTF-16; convert it first, "),
        (["shop.models:City", "utf32.txt"], "with: iconv -f UTF-32 -t UTF-8"),
        (["shop.models:City", "empty.txt"], "'empty.txt' is empty; expected a text file"),
        (["--schema", "missing.json", "text.txt"], "give the path of a file that holds a JSON Sc"),
        (["--schema", "empty.txt", "text.txt"], "is empty; expected a file that holds a JSON Sch"),
        (["--schema", "deep.json", "text.txt"], "'deep.json' is nested deeper than 128 levels; "),
        (["--schema", "deeper.json", "text.txt"], "is nested deeper than 128 levels, or holds it"),
        (["--schema", "text.txt", "text.txt"], "--schema 'text.txt' is not JSON"),
        (["--schema", "list.json", "text.txt"], "holds a JSON list; expected an object"),
        (["--schema", "wrong.json", "text.txt"], "nonsense"),
        (["--schema", "list.json"], "expected SOURCE, got nothing"),
        (["shop.models:City", "text.txt", "--bogus"], "unrecognized arguments: --bogus"),
        (["shop.models:City", "text.txt", "--strategy", "hope"], "invalid choice: 'hope'"),
        (
            ["shop.models:City", "text.txt", "--temperature", "-1"],
            "--temperature -1.0: expected a ",
        ),
        (["shop.models:City", "text.txt", "--retries", "-1"], "--retries -1: expected a "),
        (["shop.models:City", "text.txt", "--seed", "-1"], "--seed -1: expected a "),
        (["shop.models:City", "text.txt", "--timeout", "-1"], "--timeout -1.0: expected a "),
        (["shop.models:City", "text.txt", "--strategy", "native"], "--strategy 'native': "),
    ],
)
def test_what_the_caller_got_wrong_is_exit_code_2_and_one_line_that_helps(
    arguments: list[str], said: str, run: Run, script: Script, folder: Path
) -> None:
    (folder / "latin.txt").write_bytes("Köln".encode("latin-1"))
    (folder / "utf16.txt").write_text("Köln", encoding="utf-16")
    (folder / "utf32.txt").write_text("Köln", encoding="utf-32")
    (folder / "deep.json").write_text('{"items": ' * 10_000 + "{}" + "}" * 10_000)
    (folder / "deeper.json").write_text('{"items": ' * 130 + "{}" + "}" * 130)
    (folder / "empty.txt").write_text(" \n")
    (folder / "list.json").write_text("[]")
    (folder / "wrong.json").write_text('{"type": "nonsense"}')
    provider = script(_OSLO)
    ran = run("extract", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("extractkit: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err
    assert provider.requests == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConnectError("the line is dead"), 3),
        (NotFoundError("no weights; run: extractkit pull"), 3),
        (DeadlineExceededError("the time ended"), 3),
        (MissingDependencyError("install it with ..."), 2),
    ],
)
def test_what_the_network_or_the_installation_did_has_its_own_code(
    error: Exception, code: int, run: Run, script: Script, folder: Path
) -> None:
    script(error)
    said = str(error)
    ran = run("extract", "shop.models:City", "text.txt", "--retries", "0", "--resend", "0")
    assert ran.code == code
    assert ran.out == ""
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_an_unknown_model_is_the_callers_fault(run: Run, folder: Path) -> None:
    ran = run("extract", "shop.models:City", "text.txt", "--model", "oracle:9")
    assert ran.code == 2
    assert "--model 'oracle:9' names no provider" in ran.err
    assert ran.err.endswith("; leave --model out for the embedded model\n")


def test_the_embedded_model_is_named_in_one_line_where_nobody_chose(
    run: Run, script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(_OSLO, _OSLO, _OSLO)
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.err == (
        "extractkit: answered by the embedded SmolLM2-135M-Instruct, a small demonstration model; "
        "choose another with --model\n"
    )
    assert run("extract", "shop.models:City", "text.txt", "--model", "m").err == ""
    monkeypatch.setenv("EXTRACTKIT_MODEL", "m")
    assert run("extract", "shop.models:City", "text.txt").err == ""


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("set Sampling(max_output_tokens=...) to 9", "set --max-output-tokens to 9"),
        ("raise timeout_s, or wait", "raise --timeout, or wait"),
        ("no answer within timeout_s=0.5: so", "no answer within --timeout 0.5: so"),
        ("timeout_s=0: above 0, or None for no limit", "--timeout 0: above 0, or 0 for no limit"),
        ("model='a:b': what is that", "--model 'a:b': what is that"),
        ("use 'local:x' or a provider object of your own", "use 'local:x'"),
        ("/timeout_s: the field 'timeout_s' is gone", None),
        ("/model/seed=3, my.seed=3, a_model='x', Field(seed=3)", None),
        ("shorten the text", None),
        (
            "Grounding(locale='xx'): known: de, or None to try the common forms",
            "--locale 'xx': known: de; leave --locale out to try the common forms",
        ),
        ("Grounding(enforce=False)", "--no-enforce"),
        (
            "Grounding(enforce=True), Grounding(reference_date=...)",
            "Grounding(enforce=True), --reference-date",
        ),
    ],
)
def test_messages_name_options_and_leave_the_users_own_names_alone(
    python: str, shell: str | None
) -> None:
    assert with_options(python) == (shell or python)


_DEALS = """
from datetime import date
from pydantic import BaseModel
from extractkit import Grounded

class Deal(BaseModel):
    price: float | None = None
    due: date | None = None

class Must(BaseModel):
    price: Grounded[int]
"""


def test_the_language_and_the_day_of_the_text_can_be_named(
    run: Run, script: Script, folder: Path
) -> None:
    (folder / "deals.py").write_text(_DEALS)
    (folder / "deal.txt").write_text("For 1.234 EUR, due tomorrow.")
    deal = '{"price": 1.234, "due": "2026-03-07"}'
    script(*[deal] * 9)
    command = ("extract", "deals.py:Deal", "deal.txt", "--require", "schema")
    ran = run(*command)
    assert "relative dates are read only with --reference-date" in " ".join(ran.out.split())
    ran = run(*command, "--json", "--locale", "de", "--reference-date", "2026-03-06")
    found = json.loads(ran.out)
    assert set(found["evidence"]) == {"/due"}
    assert [item["path"] for item in found["findings"]] == ["/price"]
    assert json.loads(run(*command, "--json", "--locale", "en").out)["evidence"]["/price"]


def test_offsets_leave_out_the_byte_order_mark_and_count_line_ends_as_they_are(
    run: Run, script: Script, folder: Path
) -> None:
    (folder / "windows.txt").write_bytes(b"\xef\xbb\xbfDear\r\nOslo\r\n")
    script(_OSLO)
    found = json.loads(run("extract", "shop.models:City", "windows.txt", "--json").out)
    place = found["evidence"]["/name"]
    assert (place["start"], place["end"]) == (6, 10)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--locale", "xx"], "--locale 'xx': the language is not known; expected one of"),
        (["--locale", "xx"], "; leave --locale out to try the common forms"),
        (["--reference-date", "today"], "--reference-date 'today': expected an ISO date such as"),
    ],
)
def test_what_no_text_can_be_read_with_is_told_as_options(
    options: list[str], why: str, run: Run, script: Script, folder: Path
) -> None:
    provider = script(_OSLO)
    ran = run("extract", "shop.models:City", "text.txt", *options)
    assert (ran.code, provider.requests) == (2, [])
    assert why in ran.err


def test_marked_fields_need_not_be_held_to_the_text(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "deals.py").write_text(_DEALS)
    mask = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
    provider = FakeProvider(['{"price": 5}'] * 9, capabilities=mask)
    monkeypatch.setattr("extractkit.api._extractor.resolve", lambda _: provider)
    command = ("extract", "deals.py:Must", "text.txt", "--require", "schema")
    ran = run(*command)
    assert (ran.code, provider.requests) == (1, [])
    assert "answer without enforcement (--no-enforce)" in " ".join(ran.out.split())
    assert "Grounding(enforce=False)" in run(*command, "--json").out
    ran = run(*command, "--no-enforce")
    assert (ran.code, len(provider.requests)) == (0, 1)


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("answer without it (Grounding(enforce=False))", "answer without it (--no-enforce)"),
        ("raise Sampling(max_output_tokens=9)", "raise --max-output-tokens 9"),
        ("found \"seed=3\", timeout_s, model='x'", None),
        ("Grounding(fuzzy=True)", None),
    ],
)
def test_of_a_finding_only_calls_are_put_as_options(python: str, shell: str | None) -> None:
    assert calls_as_options(python) == (shell or python)


def test_an_interrupted_command_is_exit_code_130(run: Run, script: Script, folder: Path) -> None:
    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    script(interrupt)
    ran = run("extract", "shop.models:City", "text.txt")
    assert ran.code == 130
    assert ran.err == "extractkit: interrupted\n"
