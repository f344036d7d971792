"""The service of the cookbook, where it is hard: slow models, overload, who hangs up, the end."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI

from extractkit import aextract, errors
from extractkit.messages import ModelResponse, StopReason
from tests.docs.fences import ROOT


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    pytest.importorskip("fastapi", reason="needs the package fastapi")
    spec = importlib.util.spec_from_file_location("service", ROOT / "cookbook" / "service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["service"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["service"]


@pytest.fixture
def script(recipe: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(recipe, "REPLIES", dict(recipe.REPLIES))
    return recipe.Script()


@pytest.fixture
def url(recipe: Any, script: Any) -> Iterator[str]:
    with recipe.running(recipe.service(script.entered)) as (url, _):
        yield url
        script.may_go_on.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def test_a_slow_model_is_504_in_time_and_its_work_ends(recipe: Any, url: str) -> None:
    began = time.monotonic()
    response = recipe.ask(url, "held", params={"within_s": 0.3})
    assert response.status_code == 504
    assert 0.3 <= time.monotonic() - began < 5
    recipe.until_inside(url, 0)
    assert recipe.ask(url, "whole").json()["status"] == "ok"


def test_waiting_for_room_counts_against_the_deadline(
    recipe: Any, url: str, script: Any, pool: ThreadPoolExecutor
) -> None:
    working = [pool.submit(recipe.ask, url, "held") for _ in range(recipe.AT_ONCE)]
    recipe.until_inside(url, recipe.AT_ONCE)
    assert recipe.ask(url, "whole", params={"within_s": 0.3}).status_code == 504
    script.may_go_on.set()
    assert [one.result().status_code for one in working] == [200] * recipe.AT_ONCE
    assert len(script.requests) == recipe.AT_ONCE  # the third was never put


def test_too_many_are_sent_away_at_once_and_the_others_answered(
    recipe: Any, url: str, script: Any, pool: ThreadPoolExecutor
) -> None:
    room = recipe.AT_ONCE + recipe.WAITING
    inside = [pool.submit(recipe.ask, url, "held") for _ in range(room)]
    recipe.until_inside(url, room)
    for _ in range(5):
        response = recipe.ask(url, "whole")
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) >= 1
    assert script.requests == []  # none of them has been answered yet, and none of the five put
    script.may_go_on.set()
    assert [one.result().status_code for one in inside] == [200] * room
    assert len(script.requests) == room
    assert recipe.ask(url, "whole").status_code == 200


def on_the_line(recipe: Any, url: str) -> socket.socket:
    """Send a document that is held; closing what this returns is hanging up."""
    body = json.dumps({"text": f"{recipe.TEXT}this one is held"})
    head = f"content-type: application/json\r\ncontent-length: {len(body)}"
    line = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
    line.sendall(f"POST /invoices HTTP/1.1\r\nhost: here\r\n{head}\r\n\r\n{body}".encode())
    return line


def test_who_hangs_up_frees_its_slot_working_or_waiting(recipe: Any, url: str, script: Any) -> None:
    working = [on_the_line(recipe, url) for _ in range(recipe.AT_ONCE)]
    recipe.until_inside(url, recipe.AT_ONCE)
    waiting = on_the_line(recipe, url)
    recipe.until_inside(url, recipe.AT_ONCE + 1)
    waiting.close()
    recipe.until_inside(url, recipe.AT_ONCE)
    for line in working:
        line.close()
    recipe.until_inside(url, 0)
    assert recipe.ask(url, "whole").status_code == 200
    assert len(script.requests) == 1  # no held one was let through to its answer
    counts = httpx2.get(f"{url}/metrics").text
    assert f'failures{{error="GeneratorExit"}} {recipe.AT_ONCE}' in counts


def test_shutdown_waits_for_those_inside_and_then_leaves_the_model(
    recipe: Any, script: Any, pool: ThreadPoolExecutor
) -> None:
    room = recipe.AT_ONCE + recipe.WAITING
    with recipe.running(recipe.service(script.entered)) as (url, server):
        inside = [pool.submit(recipe.ask, url, "held") for _ in range(room)]
        recipe.until_inside(url, room)
        server.should_exit = True
        while True:  # until nothing new is taken
            try:
                httpx2.get(f"{url}/health")
            except httpx2.ConnectError:
                break
        assert not any(one.done() for one in inside)
        assert script.is_there
        script.may_go_on.set()
        assert [one.result().json()["status"] for one in inside] == ["ok"] * room
    assert not script.is_there


@pytest.mark.parametrize(
    ("stop", "refusal", "status"),
    [
        (StopReason.REFUSAL, "no", "refused"),
        (StopReason.CONTENT_FILTER, None, "filtered"),
        (StopReason.LENGTH, None, "truncated"),
        (StopReason.UNKNOWN, None, "invalid"),
        (StopReason.STOP, None, "ok"),
    ],
)
def test_without_ok_there_is_no_value(
    recipe: Any, url: str, stop: StopReason, refusal: str | None, status: str
) -> None:
    """Even where what came looks whole."""
    recipe.REPLIES["whole"] = ModelResponse(
        text=recipe.REPLIES["whole"], stop=stop, refusal=refusal
    )
    response = recipe.ask(url, "whole")
    assert response.status_code == 200
    answer = response.json()
    assert answer["status"] == status
    assert (answer["value"] is not None) == (status == "ok")


def every(kind: type[Exception]) -> list[type[Exception]]:
    return [kind, *(one for below in kind.__subclasses__() for one in every(below))]


@pytest.mark.parametrize("kind", every(errors.ProviderError), ids=lambda kind: kind.__name__)
def test_what_the_provider_did_is_5xx_and_not_told_in_its_words(
    recipe: Any, kind: type[errors.ProviderError]
) -> None:
    response = recipe.failure(kind("quotes INV-7", retry_after_s=2.5))
    assert response.status_code in {502, 503, 504}
    assert response.headers.get("retry-after") == ("3" if response.status_code == 503 else None)
    assert b"INV-7" not in response.body
    assert kind.__name__.encode() in response.body


def test_what_the_caller_did_is_422(recipe: Any, url: str) -> None:
    assert recipe.ask(url, "").json()["message"].startswith("text is empty")
    for within_s in (0, -1, "nan", "inf", recipe.LONGEST_S + 1):
        assert recipe.ask(url, "whole", params={"within_s": within_s}).status_code == 422


def test_a_mistake_of_ours_is_500_and_its_words_stand_nowhere(
    recipe: Any, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception may quote the document."""
    recipe.REPLIES["whole"] = ZeroDivisionError("INV-7")
    with caplog.at_level(logging.INFO):
        response = recipe.ask(url, "whole", "mine")
    assert (response.status_code, response.json()) == (500, {"error": "internal"})
    assert response.headers["x-request-id"] == "mine"
    assert "ZeroDivisionError" in caplog.text
    assert "in acomplete" in caplog.text
    assert "INV-7" not in caplog.text
    recipe.until_inside(url, 0)


def test_an_id_is_kept_if_it_can_stand_in_a_log(recipe: Any, url: str) -> None:
    assert recipe.ask(url, "whole", "a-1_B").headers["x-request-id"] == "a-1_B"
    for given in ("a b", "a" * 65, "a=1"):
        made = recipe.ask(url, "whole", given).headers["x-request-id"]
        assert made != given
        assert len(made) == 32


def test_no_word_of_a_document_stands_in_the_log(
    recipe: Any, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for case in recipe.REPLIES:
            recipe.ask(url, case)
    assert "extraction_finished" in caplog.text
    assert not any(word in caplog.text for word in ("INV-7", "Harbour", "52.0"))


@pytest.mark.parametrize(("status", "ready"), [(200, 200), (401, 503), (404, 503), (500, 503)])
def test_readiness_of_openai_asks_for_no_answer(recipe: Any, status: int, ready: int) -> None:
    asked: list[str] = []

    def openai(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx2.Response(status, json={"id": recipe.MODEL})

    def connect(**options: Any) -> AsyncOpenAI:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(openai))
        return AsyncOpenAI(api_key="none", http_client=http, **options)

    with recipe.running(recipe.service(lambda: recipe.openai_model(connect))) as (url, _):
        assert httpx2.get(f"{url}/ready").status_code == ready
        assert httpx2.get(f"{url}/health").status_code == 200
    assert asked == [f"GET /v1/models/{recipe.MODEL}"]


@pytest.mark.weights
@pytest.mark.usefixtures("weights_path")
def test_a_local_model_is_ready_when_it_is_loaded(
    recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()

    async def held(*asked: Any, **options: Any) -> Any:
        await asyncio.to_thread(may_load.wait)
        return await aextract(*asked, **options)

    monkeypatch.setattr(recipe, "aextract", held)
    with recipe.running(recipe.service(recipe.embedded_model)) as (url, _):
        assert httpx2.get(f"{url}/ready").json() == {"ready": False, "error": "TimeoutError"}
        may_load.set()
        deadline = time.monotonic() + 60
        while httpx2.get(f"{url}/ready").status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert httpx2.get(f"{url}/ready").status_code == 200
