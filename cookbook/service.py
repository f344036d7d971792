"""A service that reads invoices: FastAPI, deadlines, bounded work, health, honest answers.

You learn: one Extractor for the process, a deadline for each request, what a client that hangs up
sets free, 503 in place of a long queue, which exception is which HTTP status, readiness that spends
no token, log lines and counts without a word of a document, and a shutdown that loses no answer.
Costs: nothing; the model is a script in this file. "uvicorn service:app" asks OpenAI, with a key.
Takes about 5 seconds. Needs "pip install fastapi uvicorn".
"""

# %%
import asyncio
import json
import logging
import math
import re
import threading
import time
import traceback
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from io import StringIO
from textwrap import fill
from typing import Annotated, Any, TypeAlias

import httpx2
import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from openai import AsyncOpenAI
from pydantic import BaseModel, Field
from starlette.middleware.base import RequestResponseEndpoint

from extractkit import ExtractionResult, Extractor, Retry, aextract, errors
from extractkit.messages import ModelRequest, ModelResponse, Provider, StopReason
from extractkit.observe import AttemptFailed, Event, ExtractionFailed, ExtractionFinished
from extractkit.observe.log import log_events
from extractkit.providers import Local, OpenAIChat
from extractkit.testing import FakeProvider, Reply

MODEL = "gpt-4.1-mini"
LONGEST_S = 20.0  # for one request, waiting and retries included
AT_ONCE = 2  # requests that the model works on
WAITING = 1  # requests that may wait for it

# %% [markdown]
# ## What goes in and out
#
# A refusal, an answer that was cut off and one that does not hold are no failures of the service:
# they are 200, and `status` says what they are. `value` is there with "ok" alone. What was read of
# an answer that is not whole is called `partial`: nobody takes it for the answer by mistake.


# %%
class Invoice(BaseModel):
    """What is read."""

    number: str = Field(max_length=20, description="the invoice number")
    seller: str = Field(max_length=40, description="who wrote the invoice")
    total: float = Field(description="amount to pay")
    order: str | None = Field(max_length=20, description="number of the buyer's order")


class Document(BaseModel):
    """A request."""

    text: str = Field(max_length=50_000)


class Answer(BaseModel):
    """A response. Without status "ok" there is no value."""

    status: str
    validity: str
    value: Invoice | None = None
    partial: Any = None
    refusal: str | None = None
    findings: list[str]


def answer_of(result: ExtractionResult[Invoice]) -> Answer:
    """Return what a client is told of a result."""
    return Answer(
        status=result.status.value,
        validity=result.validity.name,
        value=result.value,
        partial=None if result.partial is None else result.partial.document,
        refusal=result.refusal,
        findings=[f"{one.path or '(root)'}: {one.message}" for one in result.findings],
    )


# %% [markdown]
# ## Bounded work
#
# A queue without an end only turns overload into deadlines that nobody keeps. Some requests work, a
# few wait, the rest hear at once that they should come again.
#
# A framework does not end a request whose client has gone; nobody would read the answer, and it
# would be paid for. So two things are awaited: the work, and the word that the client has gone.


# %%
class FullError(Exception):
    """As many requests are inside as may be."""


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


class Slots:
    """Room for some requests that work and some that wait.

    Attributes:
        inside: How many are inside now.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._most = at_once + waiting
        self._working = asyncio.Semaphore(at_once)
        self.inside = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold one slot; raise FullError at once where there is no room to wait."""
        if self.inside >= self._most:
            raise FullError
        self.inside += 1
        try:
            async with self._working:
                yield
        finally:
            self.inside -= 1


async def unless_gone(request: Request, work: Coroutine[Any, Any, Answer]) -> Answer:
    """Return what `work` gives; end it when the client has gone."""

    async def until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    both = working, gone = asyncio.create_task(work), asyncio.create_task(until_gone())
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:  # also when this request itself is cancelled
        working.cancel()
        gone.cancel()
        await asyncio.gather(*both, return_exceptions=True)


# %% [markdown]
# ## Failures
#
# What the caller did is 4xx, what the provider did 5xx: 503 where it is worth coming again, with
# the seconds that the provider asked for. A provider's message may quote the request, and tells of
# your account: the client gets the name of the error alone.

# %%
STATUS_OF: dict[type[Exception], int] = {
    errors.UsageError: 422,  # the text is empty, or too long for the model
    errors.SchemaError: 500,  # our own Invoice, and our own options
    errors.UnsupportedError: 500,
    errors.ProviderError: 502,  # it failed, does not know us, or speaks another language
    errors.RateLimitError: 503,
    errors.ConnectError: 503,
    FullError: 503,
    errors.RequestTimeoutError: 504,
    errors.DeadlineExceededError: 504,
    TimeoutError: 504,  # the deadline of this one request
    ClientGoneError: 499,  # nobody reads it; it stands in the log
}


def failure(error: Exception) -> JSONResponse:
    """Return the response for an exception."""
    status = next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)
    wait = math.ceil(getattr(error, "retry_after_s", None) or 1)
    return JSONResponse(
        {"error": type(error).__name__, "message": str(error) if status == 422 else None},
        status,
        headers={"Retry-After": str(wait)} if status == 503 else None,
    )


# %% [markdown]
# ## Log lines and counts
#
# Every line has the id of its request, those of the library, too: `log_events` writes them, and no
# event holds text of a document. A traceback without its last line does not either.

# %%
LOG = logging.getLogger("service")
REQUEST_ID: ContextVar[str] = ContextVar("REQUEST_ID", default="-")


def named(record: logging.LogRecord) -> bool:
    """Put the id of the request on a line; keep the line."""
    record.request_id = REQUEST_ID.get()
    return True


class Counts:
    """An observer that counts; it may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Count `event`, if it is an end or a failure on the way."""
        with self._lock:
            if isinstance(event, ExtractionFinished):
                self._counts[f'results{{status="{event.status.value}"}}'] += 1
                self._counts["input_tokens"] += event.usage.input_tokens
                self._counts["output_tokens"] += event.usage.output_tokens
            elif isinstance(event, ExtractionFailed):
                self._counts[f'failures{{error="{event.error}"}}'] += 1
            elif isinstance(event, AttemptFailed):
                self._counts[f'failed_requests{{error="{event.error}"}}'] += 1

    def lines(self) -> list[str]:
        """Return the counts in Prometheus' text format."""
        with self._lock:
            return [f"extractkit_{name} {count}" for name, count in sorted(self._counts.items())]


async def with_id(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Give a request an id, its client's own if that is a decent one, and write one line of it."""
    given = request.headers.get("x-request-id", "")
    name = given if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", given) else uuid.uuid4().hex
    REQUEST_ID.set(name)
    began = time.monotonic()
    try:
        response = await call_next(request)
    except Exception as error:  # noqa: BLE001  # a mistake of ours: its place, not its words
        where = "".join(traceback.format_tb(error.__traceback__))
        LOG.critical("%s at\n%s", type(error).__name__, where)
        response = JSONResponse({"error": "internal"}, 500)
    response.headers["x-request-id"] = name
    milliseconds = 1000 * (time.monotonic() - began)
    LOG.info(
        "%s %s %d %.0f ms", request.method, request.url.path, response.status_code, milliseconds
    )
    return response


# %% [markdown]
# ## Who is asked, and how to see that it can be
#
# `/health` says that the process lives: one that waits for its provider must not be killed for it.
# `/ready` says whether to send requests here, and spends no token to find out: OpenAI is asked for
# the model's name, which shows that address, key and name are right; a local model is ready once
# it has answered a first question.

# %%
Probe: TypeAlias = Callable[[], Awaitable[object]]
Model: TypeAlias = Callable[[], AbstractAsyncContextManager[tuple[Provider, Probe]]]


@asynccontextmanager
async def openai_model(connect: type[AsyncOpenAI] = AsyncOpenAI) -> AsyncIterator[Any]:
    """Give a model of OpenAI, and what fails if it cannot be asked."""
    async with connect(max_retries=0) as client:  # the Extractor makes requests again
        yield OpenAIChat(MODEL, client=client), partial(client.models.retrieve, MODEL)


@asynccontextmanager
async def embedded_model() -> AsyncIterator[Any]:
    """Give the embedded model, loaded once for the process."""
    with closing(Local()) as local:
        loading = asyncio.create_task(aextract(Invoice, "nothing", model=local))
        try:
            yield local, lambda: asyncio.shield(loading)
        finally:
            loading.cancel()


# %% [markdown]
# ## The service
#
# The Extractor is made when the process starts and kept: it is for all requests. The server stops
# by taking no new ones and waiting for those that run; what is behind `yield` comes after that.


# %%
def service(model: Model) -> FastAPI:
    """Return the service; `model` is entered when the process starts, and left when it ends."""
    counts, slots = Counts(), Slots(AT_ONCE, WAITING)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with model() as (provider, app.state.probe):
            app.state.extractor = Extractor(
                Invoice,
                model=provider,
                timeout_s=LONGEST_S,
                retry=Retry(answers=1, transport=1, max_wait_s=2),
                observers=[counts, log_events()],
            )
            yield

    app = FastAPI(lifespan=lifespan)
    app.middleware("http")(with_id)

    @app.post("/invoices")
    async def read(
        document: Document,
        request: Request,
        within_s: Annotated[float, Query(gt=0, le=LONGEST_S)] = LONGEST_S,
    ) -> Answer:
        async def work() -> Answer:
            async with asyncio.timeout(within_s), slots.one():
                return answer_of(await app.state.extractor.aextract(document.text))

        return await unless_gone(request, work())

    @app.get("/health")
    async def health() -> str:
        return "alive"

    @app.get("/ready")
    async def ready() -> JSONResponse:
        try:
            async with asyncio.timeout(2):
                await app.state.probe()
        except Exception as error:  # noqa: BLE001  # whatever it is, the model cannot be asked
            return JSONResponse({"ready": False, "error": type(error).__name__}, 503)
        return JSONResponse({"ready": True})

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        lines = [*counts.lines(), f"extractkit_inside {slots.inside}"]
        return PlainTextResponse("\n".join(lines))

    async def failed(request: Request, error: Exception) -> JSONResponse:
        return failure(error)

    for kind in STATUS_OF:
        app.add_exception_handler(kind, failed)
    return app


app = service(openai_model)

# %% [markdown]
# ## Each case
#
# The model is a script now: the last line of a document says what happens to it.

# %%
TEXT = "Invoice INV-7\nHarbour Paper Supply Ltd\n10 boxes of A4 copy paper\nTotal EUR 52.00\n"
WHOLE = {"number": "INV-7", "seller": "Harbour Paper Supply Ltd", "total": 52.0, "order": None}
REPLIES: dict[str, Reply] = {
    "whole": json.dumps(WHOLE),
    "invented": json.dumps({**WHOLE, "total": 48.0, "order": "PO-1138"}),
    "refused": ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I cannot help with that."),
    "cut": ModelResponse(text=json.dumps(WHOLE)[:47], stop=StopReason.LENGTH),
    "prose": "The total is 52.00.",
    "limited": errors.RateLimitError("too many requests", retry_after_s=7),
    "broken": errors.ServerError("internal error"),
}


class Script(FakeProvider):
    """A model that does what a document says.

    Attributes:
        is_there: Whether it can be reached.
        may_go_on: Documents that are "held" wait for it.
    """

    def __init__(self) -> None:
        super().__init__(self._reply_to)
        self.is_there = True
        self.may_go_on = threading.Event()

    def _reply_to(self, request: ModelRequest) -> Reply:
        said = "".join(message.content for message in request.messages)
        return REPLIES.get(re.findall(r"this one is (\w+)", said)[0], REPLIES["whole"])

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Answer, or wait."""
        await self.probe()
        while "is held" in request.messages[-1].content and not self.may_go_on.is_set():
            await asyncio.sleep(0.01)
        return await super().acomplete(request, timeout_s=timeout_s)

    async def probe(self) -> None:
        """Fail where it cannot be reached."""
        if not self.is_there:
            raise errors.ConnectError("connection refused")

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Any]:
        """Give this one, until the service has stopped."""
        yield self, self.probe
        self.is_there = False


@contextmanager
def running(app: FastAPI) -> Iterator[tuple[str, uvicorn.Server]]:
    """Serve on this machine within the block; wait at its end for the requests that run."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", server
    finally:
        server.should_exit = True
        thread.join()


def ask(url: str, case: str, name: str = "", **more: Any) -> httpx2.Response:
    """Send a document to the service."""
    document = {"text": f"{TEXT}this one is {case}" if case else "   "}
    headers = {"x-request-id": name or case or "empty"}
    return httpx2.post(f"{url}/invoices", json=document, headers=headers, **more)


def until_inside(url: str, number: int) -> None:
    """Wait until the service has so many requests."""
    while not httpx2.get(f"{url}/metrics").text.endswith(f"inside {number}"):
        time.sleep(0.01)


def show(what: str, response: httpx2.Response) -> None:
    """Print a response."""
    wait = response.headers.get("retry-after")
    print(f"\n{what}: {response.status_code}{f', Retry-After: {wait}' if wait else ''}")
    for name, told in response.json().items():
        for one in told if isinstance(told, list) else [told]:
            if one is not None:
                said = json.dumps(one) if isinstance(one, dict) else str(one)
                print(
                    fill(f"{name:9} {said}", 97, initial_indent=" " * 3, subsequent_indent=" " * 13)
                )


def show_failures(url: str, script: Script) -> None:
    """What the caller did is 4xx, what the provider did 5xx."""
    print("\n--- what the caller or the provider did")
    show("a text without a word", ask(url, ""))
    show("the provider asks to wait", ask(url, "limited"))
    show("the provider is broken, twice", ask(url, "broken", "down"))
    began = time.monotonic()
    show("a model that is slow, within 0.3 s", ask(url, "held", "slow", params={"within_s": 0.3}))
    print(f"   in time: {0.3 <= time.monotonic() - began < 3}")
    script.is_there = False
    show("nobody is there", ask(url, "whole", "nobody"))
    for path in ("health", "ready"):
        response = httpx2.get(f"{url}/{path}")
        print(f"   /{path}: {response.status_code} {response.text}")
    script.is_there = True
    print(f"   /ready, later: {httpx2.get(f'{url}/ready').text}")


def show_load(url: str, script: Script, pool: ThreadPoolExecutor) -> None:
    """The fourth request is sent away; a client that hangs up makes room."""
    print("\n--- more requests than there is room for")
    many = [pool.submit(ask, url, "held", f"held{number}") for number in range(3)]
    until_inside(url, 3)
    show("the fourth", ask(url, "held", "fourth"))
    script.may_go_on.set()
    print("\nthe three before it:", [one.result().status_code for one in many])
    script.may_go_on.clear()
    try:
        ask(url, "held", "hasty", timeout=1)
    except httpx2.ReadTimeout:
        print("\na client hangs up")
    until_inside(url, 0)
    print("   its slot is free again")


def show_log(log: str) -> None:
    """What stands in the log of two requests, without the library's own ids of extractions."""
    print(
        "\n--- log lines of a request that was repeated, of one that was given up (GeneratorExit)"
    )
    for line in log.splitlines():
        if line.startswith(("down ", "hasty ")):
            print(re.sub(r" extraction_id=\w+", "", line))
    print("words of a document in the whole log:", "Harbour" in log or "INV-7" in log)


def main() -> None:
    """Start the service, ask it, stop it while it works."""
    log = logging.StreamHandler(StringIO())
    log.addFilter(named)
    log.setFormatter(logging.Formatter("%(request_id)s %(levelname)s %(message)s"))
    for name in ("extractkit", "service"):
        logging.getLogger(name).addHandler(log)
        logging.getLogger(name).setLevel(logging.INFO)
    script = Script()
    with ThreadPoolExecutor() as pool:
        with running(service(script.entered)) as (url, server):
            print("--- what the model did")
            show("a good answer", ask(url, "whole"))
            show("a total and an order that are not in the text", ask(url, "invented"))
            show("a refusal", ask(url, "refused"))
            show("an answer that was cut off", ask(url, "cut"))
            show("no answer in the form, twice", ask(url, "prose"))
            show_failures(url, script)
            show_load(url, script, pool)
            print("\n--- counts")
            print(httpx2.get(f"{url}/metrics").text)
            show_log(log.stream.getvalue())
            print("\n--- shutdown in the midst of a request")
            last = pool.submit(ask, url, "held", "last")
            until_inside(url, 1)
            server.should_exit = True
            script.may_go_on.set()
        print("it was answered:", last.result().json()["status"])
        print("and the model was left after that:", not script.is_there)


if __name__ == "__main__":
    main()
