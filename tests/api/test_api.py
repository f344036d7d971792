"""The door: who answers, what is refused, what is released."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Extractor, Grounding, Status, aextract, extract, providers
from extractkit.errors import UnsupportedError, UsageError
from extractkit.providers import Local, resolve, shared
from extractkit.testing import FakeProvider


class Note(BaseModel):
    who: str


TEXT = "a note for Ida"


def test_extract_and_aextract_give_the_same() -> None:
    result = extract(Note, TEXT, model=FakeProvider(['{"who": "Ida"}']))
    again = asyncio.run(aextract(Note, TEXT, model=FakeProvider(['{"who": "Ida"}'])))
    assert (result.value, result.findings, result.evidence) == (
        again.value,
        again.findings,
        again.evidence,
    )
    assert result.unwrap().who == "Ida"


def test_an_extractor_serves_many_texts_and_leaves_a_given_provider_open() -> None:
    class Closing(FakeProvider):
        closed = False

        def close(self) -> None:
            self.closed = True

    provider = Closing(lambda _: '{"who": "Ida"}')
    with Extractor(Note, model=provider) as extractor:
        assert extractor.extract(TEXT).status is Status.OK
        assert asyncio.run(extractor.aextract(TEXT)).status is Status.OK
    assert not provider.closed


def test_an_extractor_closes_the_provider_that_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Local] = []
    monkeypatch.setattr(Local, "close", lambda self: closed.append(self))
    with Extractor(Note, model="local:some.gguf"):
        pass
    assert len(closed) == 1


@pytest.mark.parametrize(
    ("grounding", "error", "said"),
    [
        (Grounding(locale="xx"), UsageError, "locale='xx'"),
        (Grounding(reference_date="today"), UsageError, "reference_date='today'"),
        (Grounding(spelled=True, locale="ja"), UnsupportedError, "locale='ja'"),
    ],
    ids=str,
)
def test_grounding_that_cannot_be_done_is_refused_before_anything_is_asked(
    grounding: Grounding, error: type[Exception], said: str
) -> None:
    provider = FakeProvider(['{"who": "Ida"}'])
    with pytest.raises(error, match=said):
        extract(Note, TEXT, model=provider, grounding=grounding)
    assert provider.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"require": "schema"},
        {"require": 7},
        {"timeout_s": "x"},
        {"instructions": 5},
        {"instructions": "a\ud800"},
        {"examples": [("a", 1)]},
        {"examples": 3},
        {"sampling": {"temperature": 1}},
        {"decoding": True},
        {"grounding": "de"},
        {"retry": 3},
        {"checks": [1]},
        {"checks": print},
    ],
    ids=str,
)
def test_an_argument_of_the_wrong_kind_is_refused_by_name_before_any_request(
    options: dict[str, Any],
) -> None:
    provider = FakeProvider([])
    with pytest.raises(UsageError, match=next(iter(options))):
        extract(Note, TEXT, model=provider, **options)
    assert provider.requests == []


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_timeout_is_above_zero(timeout_s: float) -> None:
    with pytest.raises(UsageError, match="timeout_s"):
        extract(Note, TEXT, model=FakeProvider([]), timeout_s=timeout_s)


@pytest.mark.parametrize("model", ["gpt-9", "local:", "nowhere:x", ""])
def test_a_string_that_names_no_provider_is_refused(model: str) -> None:
    with pytest.raises(UsageError, match="local:"):
        resolve(model) if model else providers._make(model)


def test_an_object_that_is_no_provider_is_refused() -> None:
    with pytest.raises(UsageError, match="int; expected"):
        extract(Note, TEXT, model=3)  # type: ignore[arg-type]  # the point of the test


def test_the_environment_names_the_model_where_the_call_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXTRACTKIT_MODEL", "local:my.gguf")
    assert "my.gguf" in resolve(None).model
    assert shared(None) is shared("local:my.gguf")
    assert resolve(None) is not resolve(None)


def test_the_demonstration_model_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr(providers, "_warned", threading.Event())
    with pytest.warns(UserWarning, match="small demonstration model") as caught:
        Extractor(Note)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve(None)
