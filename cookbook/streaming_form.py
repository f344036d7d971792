"""A page whose form fills itself while the model answers: FastAPI, server-sent events, plain HTML.

You learn: `astream` in a service, changes in place of snapshots, what is known only at the end,
and that closing the page ends the request. With `--serve` it is a page to be opened in a browser;
without, one text is sent to the service, and the events that a page gets are printed. The model is
a replay of the answer below at the pace of a slow one; `--model local` asks the embedded one.
Costs: nothing. Takes a few seconds. Needs "pip install fastapi uvicorn".
"""

import argparse
import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.request import Request, urlopen

import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from extractkit import Extractor
from extractkit.messages import Delta, ModelRequest
from extractkit.testing import FakeProvider

HERE = Path(__file__).parent
TEXT = (HERE / "data" / "streaming_form.txt").read_text(encoding="utf-8")
ANSWER = json.dumps(
    {
        "number": "INV-2024-0137",
        "seller": "Harbour Paper Supply Ltd",
        "issued": "2024-03-04",
        "due": "2024-03-18",
        "order": None,
        "currency": "EUR",
        "lines": [
            {"description": "A4 copy paper", "quantity": 10, "amount": "42.00"},
            {"description": "Envelope C5", "quantity": 2, "amount": "10.00"},
        ],
        "total": "52.00",
    }
)


class Line(BaseModel):
    """One line of the invoice."""

    description: str = Field(max_length=40)
    quantity: int
    amount: Decimal


class Invoice(BaseModel):
    """What the form shows."""

    number: str = Field(max_length=20, description="the invoice number")
    seller: str = Field(max_length=40, description="who wrote the invoice")
    issued: date = Field(description="date of the invoice")
    due: date | None = Field(description="date by which to pay")
    order: str | None = Field(max_length=20, description="number of the buyer's order")
    currency: Literal["EUR", "USD", "GBP"]
    lines: list[Line] = Field(max_length=5)
    total: Decimal = Field(description="amount to pay")


class Replay(FakeProvider):
    """Answers always the same, a few characters at a time."""

    def __init__(self, pause_s: float) -> None:
        super().__init__(lambda request: ANSWER, pieces=5)
        self.pause_s = pause_s

    async def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        """Yield the pieces of the answer."""
        async for delta in super().astream(request, timeout_s=timeout_s):
            await asyncio.sleep(self.pause_s)
            yield delta


def service(extractor: Extractor[Invoice]) -> FastAPI:
    """Return the page, and what fills it."""
    app = FastAPI()

    @app.get("/")
    def page() -> FileResponse:
        return FileResponse(HERE / "streaming_form.html")

    @app.get("/text")
    def text() -> str:
        return TEXT

    @app.post("/fields", response_class=EventSourceResponse)
    async def fields(text: str = Body(media_type="text/plain")) -> AsyncIterator[ServerSentEvent]:
        # The page is closed, or "Stop" is pressed: this generator is closed, and the request ends.
        async with extractor.astream(text) as answer:
            async for change in answer.achanges():
                yield ServerSentEvent(event="change", data=change)
            result = await answer.aresult()
        yield ServerSentEvent(
            event="result",
            data={
                "status": result.status.value,
                "validity": result.validity.name,
                "evidence": sorted([span.start, span.end] for span in result.evidence.values()),
                "findings": [f"{one.path}: {one.message}" for one in result.findings],
                "seconds": round(result.timing.first_field_s or 0.0, 1),
            },
        )

    return app


@contextmanager
def running(app: FastAPI, port: int = 0) -> Any:
    """Serve within the block, and tell where."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def main() -> None:
    """Serve the page, or print what one gets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="serve until Ctrl-C")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", help='such as "openai:gpt-5"; "local" is the embedded model')
    options = parser.parse_args()
    model = options.model or Replay(pause_s=0.06 if options.serve else 0.0)
    app = service(Extractor(Invoice, model=None if model == "local" else model))
    if options.serve:
        uvicorn.run(app, port=options.port)
        return
    with running(app) as url:
        headers = {"content-type": "text/plain; charset=utf-8"}
        asked = Request(f"{url}/fields", TEXT.encode(), headers)  # noqa: S310  # this very service
        with urlopen(asked) as events:  # noqa: S310
            for line in events:
                if line.startswith(b"data: "):
                    told = json.loads(line.removeprefix(b"data: "))
                    told.pop("seconds", None)  # differs each time
                    print(json.dumps(told))


if __name__ == "__main__":
    main()
