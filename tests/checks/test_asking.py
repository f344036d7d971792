"""Nothing that a check of the user's does ends the extraction or passes in silence."""

from __future__ import annotations

import copy
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, PlainSerializer, PrivateAttr

from extractkit import extract
from extractkit.checks import CheckContext, Outcome, in_range, require_fit, run
from extractkit.errors import UsageError
from extractkit.results import LevelCount, Validity
from extractkit.schema import compile_schema
from extractkit.testing import FakeProvider
from tests.checks.test_levels import GOOD, Order, check, complaint

Anything = Callable[..., Any]


@pytest.mark.parametrize(
    "said", [False, True, 0, 3, 0.0, object(), "wrong", "", b"x", {"a": 1}, {}]
)
def test_what_is_no_list_of_findings_is_one_finding_also_where_it_is_false(said: Any) -> None:
    outcome = check(GOOD, checks=[lambda _: said])
    (finding,) = [item for item in outcome.findings if item.code == "check_gave_no_finding"]
    assert f"gave a {type(said).__name__}; expected an iterable of Findings" in finding.message
    assert "the check test_what_is_no_list" in finding.message
    assert outcome.validity is Validity.SCHEMA


def test_a_finding_alone_is_kept_and_the_check_told_how_to_give_it() -> None:
    alone: Anything = lambda _: complaint(severity="note")  # noqa: E731
    outcome = check(GOOD, checks=[alone])
    assert [item.code for item in outcome.findings] == ["odd", "check_gave_no_finding"]


@pytest.mark.parametrize("said", [["wrong"], ("a", 1), [None]])
def test_what_has_other_things_in_it_is_a_finding_for_each(said: Any) -> None:
    outcome = check(GOOD, checks=[lambda _: said])
    codes = [item.code for item in outcome.findings]
    assert codes == ["check_gave_no_finding"] * len(said)


@pytest.mark.parametrize("said", [None, [], (), set[Any](), iter(())])
def test_nothing_to_say_is_well(said: Any) -> None:
    assert check(GOOD, checks=[lambda _: said]).validity is Validity.GROUNDED


def test_of_a_check_that_never_ends_the_first_thousand_findings_are_read() -> None:
    def endless(context: CheckContext) -> Iterator[Any]:
        yield from itertools.repeat(complaint(severity="note"))

    def just_so_many(context: CheckContext) -> Iterator[Any]:
        yield from itertools.repeat(complaint(severity="note"), 1000)

    outcome = check(GOOD, checks=[endless])
    assert sum(item.code == "odd" for item in outcome.findings) == 1000
    (finding,) = [item for item in outcome.findings if item.code == "check_gave_too_many"]
    assert "endless gave more than 1,000 findings" in finding.message
    assert check(GOOD, checks=[just_so_many]).validity is Validity.GROUNDED


def test_a_finding_of_a_misspelt_severity_lets_no_answer_pass() -> None:
    outcome = check(GOOD, checks=[lambda _: [complaint(severity="Error")]])
    (finding,) = outcome.findings
    assert (finding.code, outcome.validity) == ("check_raised", Validity.SCHEMA)
    assert "severity='Error'" in finding.message


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _NoTextError(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # as the user's code may


@pytest.mark.parametrize("error", [_UnspeakableError(), _NoTextError()])
def test_an_exception_that_cannot_be_written_is_a_finding_too(error: Exception) -> None:
    def fail(context: CheckContext) -> Iterator[Any]:
        yield complaint()
        raise error

    outcome = check(GOOD, checks=[fail])
    odd, finding = outcome.findings
    assert (odd.code, finding.code) == ("odd", "check_raised")
    assert f"raised {type(error).__name__} (which cannot be written);" in finding.message


def test_a_check_that_ends_the_program_ends_it() -> None:
    def leave(context: CheckContext) -> Iterable[Any]:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        check(GOOD, checks=[leave])


# --- checks that change what they look at ---------------------------------------------------------


class Box(BaseModel):
    label: str
    sizes: list[int]
    note: str | None = None
    _seen: int = PrivateAttr(default=0)


BOX = {"label": "A", "sizes": [1, 2]}


def _changed(target: Any, change: Callable[[CheckContext], object]) -> tuple[Outcome, list[Any]]:
    """What came of a check that changes, and what the check after it saw."""
    seen: list[Any] = []

    def meddle(context: CheckContext) -> None:
        change(context)

    def look(context: CheckContext) -> None:
        seen.append((copy.deepcopy(context.value), copy.deepcopy(context.document)))

    return check(copy.deepcopy(BOX), target, checks=[meddle, look], text="A 1 2"), seen


def test_a_change_of_the_document_is_undone_and_told() -> None:
    outcome, seen = _changed(Box, lambda context: context.document["sizes"].append(3))
    (finding,) = outcome.findings
    assert (finding.code, finding.severity) == ("check_changed_answer", "error")
    assert "meddle changed context.document; a check only looks" in finding.message
    assert outcome.document == BOX
    assert seen == [(Box(**BOX), BOX)]
    assert outcome.validity is Validity.SCHEMA


@pytest.mark.parametrize(
    "change",
    [
        lambda value: setattr(value, "label", "B"),
        lambda value: setattr(value, "note", None),  # now it counts as set
        lambda value: value.sizes.append(3),
        lambda value: setattr(value, "sizes", object()),
    ],
)
def test_a_change_of_the_value_is_undone_and_told(change: Callable[[Any], object]) -> None:
    outcome, seen = _changed(Box, lambda context: change(context.value))
    (finding,) = outcome.findings
    assert finding.code == "check_changed_answer"
    assert "meddle changed context.value; a check only looks: the change was" in finding.message
    assert outcome.value == Box(**BOX)
    assert seen == [(Box(**BOX), BOX)]
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=2, failed=1)


def test_of_a_json_schema_the_document_is_the_value_and_one_change_is_one_finding() -> None:
    outcome, seen = _changed({"type": "object"}, lambda context: context.value.clear())
    assert [item.code for item in outcome.findings if item.level < 4] == ["check_changed_answer"]
    assert outcome.value == outcome.document == BOX
    assert seen == [(BOX, BOX)]


def test_what_only_a_private_attribute_shows_is_no_change() -> None:
    outcome, _ = _changed(Box, lambda context: setattr(context.value, "_seen", 1))
    assert outcome.findings == ()


class Counter:
    """Each time it is written as something else, or not at all."""

    def __init__(self, *, fails: bool = False) -> None:
        self.count = 0
        self.fails = fails

    def __call__(self, value: str) -> str:
        self.count += 1
        if self.fails:
            raise ValueError("not today")
        return f"{value}{self.count}"


@pytest.mark.parametrize("fails", [False, True])
def test_a_value_that_is_never_written_alike_is_not_called_changed(fails: bool) -> None:
    class Odd(BaseModel):
        label: Annotated[str, PlainSerializer(Counter(fails=fails))]

    outcome = check({"label": "A"}, Odd, checks=[lambda _: None], text="A")
    assert outcome.findings == ()
    assert outcome.value.label == "A"


def test_a_value_that_cannot_be_made_again_is_left_and_told() -> None:
    made: list[str] = []

    def once(value: str) -> str:
        made.append(value)
        if len(made) > 1:
            raise ValueError("only once")
        return value

    class Once(BaseModel):
        label: Annotated[str, AfterValidator(once)]

    outcome = check(
        {"label": "A"}, Once, checks=[lambda context: setattr(context.value, "label", "B")]
    )
    (finding,) = [item for item in outcome.findings if item.level < 4]
    assert finding.code == "check_changed_answer"
    assert finding.message.endswith("the value cannot be made again and is as it left it")
    assert (outcome.value.label, outcome.validity) == ("B", Validity.SCHEMA)


# --- async ---------------------------------------------------------------------------------------


async def coroutine(context: CheckContext) -> list[Any]:
    return []


async def generator(context: CheckContext) -> AsyncIterator[Any]:
    yield complaint()


class Called:
    async def __call__(self, context: CheckContext) -> list[Any]:
        return []

    async def method(self, context: CheckContext) -> list[Any]:
        return []


@pytest.mark.parametrize(
    "wrong",
    [coroutine, generator, Called(), Called().method, partial(coroutine), partial(Called())],
)
def test_an_async_check_is_refused_before_the_model_is_asked(wrong: Any) -> None:
    provider = FakeProvider(["{}"])
    with pytest.raises(UsageError, match="is async; a check is a plain function"):
        extract(Order, "text", model=provider, checks=[wrong])
    assert provider.requests == []


def test_an_async_check_that_nobody_looked_at_before_is_a_finding_and_no_warning() -> None:
    for wrong in (coroutine, lambda context: coroutine(context), generator):
        outcome = check(GOOD, checks=[wrong])
        assert [item.code for item in outcome.findings] == ["check_gave_no_finding"]


def test_plain_checks_of_every_kind_are_let_through() -> None:
    class Plain:
        def __call__(self, context: CheckContext) -> None: ...

    plain = [Plain(), partial(Plain()), lambda _: None, Plain, in_range("/total", low=0)]
    require_fit(plain, compile_schema(Order))


# --- counts --------------------------------------------------------------------------------------


def test_what_checked_exempt_and_failed_count_on_each_level() -> None:
    bad = [lambda _: [complaint()], lambda _: None]
    wrong = {**GOOD, "total": None, "more": 1}
    cases: list[tuple[Any, list[Any], dict[Validity, LevelCount]]] = [
        (GOOD, bad, {
            Validity.SYNTAX: LevelCount(checked=1),
            Validity.SCHEMA: LevelCount(checked=5),
            Validity.CONSISTENT: LevelCount(checked=4, failed=1),
            Validity.GROUNDED: LevelCount(checked=5),
        }),
        (wrong, [], {
            Validity.SYNTAX: LevelCount(checked=1),
            Validity.SCHEMA: LevelCount(checked=6),
            Validity.CONSISTENT: LevelCount(checked=2),
            Validity.GROUNDED: LevelCount(checked=4, exempt=1),
        }),
        ({**GOOD, "total": 8}, bad, {
            Validity.SYNTAX: LevelCount(checked=1),
            Validity.SCHEMA: LevelCount(checked=5),
            Validity.CONSISTENT: LevelCount(checked=2, exempt=2, failed=1),
            Validity.GROUNDED: LevelCount(checked=5, failed=1),
        }),
        ({"lines": 3}, bad, {
            Validity.SYNTAX: LevelCount(checked=1),
            Validity.SCHEMA: LevelCount(checked=2, failed=2),
            Validity.CONSISTENT: LevelCount(exempt=4),
        }),
    ]  # fmt: skip
    for document, checks, levels in cases:
        assert check(document, checks=checks).levels == levels, document


def test_several_findings_of_one_check_are_several_failures_and_all_are_kept() -> None:
    outcome = check(GOOD, checks=[lambda _: [complaint(), complaint(), complaint()]])
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=3, failed=3)
    assert sum(item.code == "odd" for item in outcome.findings) == 3


class Numbers(BaseModel):
    numbers: Iterable[int]


def test_what_can_be_read_once_is_unread_for_each_check_and_for_the_caller() -> None:
    seen: list[list[int]] = []

    def look(context: CheckContext) -> None:
        seen.append(list(context.value.numbers))

    outcome = run(
        compile_schema(Numbers, "json-schema"),
        {"numbers": [1, 2, 3]},
        text="1, 2 and 3",
        checks=[look, look],
    )
    assert seen == [[1, 2, 3]] * 2
    assert list(outcome.value.numbers) == [1, 2, 3]
    assert outcome.findings == ()
