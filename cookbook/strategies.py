"""One schema, every provider: what each one is sent, and what it then holds an answer to.

You learn: which strategy is chosen and why, what each schema dialect rewrites and cannot hold, what
a server that ignores schemas does, and how it is found out.
Costs: nothing; hosted models are replays: OpenAI's and Anthropic's own clients, with answers of
ours in place of the network, and a server on this machine. Needs the weights ("extractkit pull").
Takes about 5 seconds.
"""

# %%
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from textwrap import fill
from typing import Any, Literal

import anthropic
import httpx2
import openai
from pydantic import BaseModel, Field

from extractkit import compile_schema, extract, verify_enforcement
from extractkit.errors import UnsupportedError
from extractkit.messages import Provider
from extractkit.providers import (
    Anthropic,
    Compatible,
    Local,
    OpenAIChat,
    OpenAIDecisions,
    OpenAIResponses,
)

# %% [markdown]
# ## What we want to know
#
# An ordinary model: a pattern, limits, defaults, a short list, a closed choice.


# %%
class Job(BaseModel):
    """An offer of work."""

    reference: str = Field(pattern=r"^[A-Z]{2}-\d{4}$")
    title: str = Field(max_length=60)
    hours: int = Field(ge=1, le=40)
    pay: Decimal | None = None
    starts: date | None = None
    skills: list[str] = Field(max_length=5)
    place: Literal["office", "home", "both"]


TEXT = """\
GD-1042  Gardener wanted, 24 hours a week, for our nursery in the valley.
You know roses and can drive a van. We begin on 1 March 2027. 19.50 an hour.
"""
ANSWER = {
    "reference": "GD-1042",
    "title": "Gardener",
    "hours": 24,
    "pay": "19.50",
    "starts": "2027-03-01",
    "skills": ["roses", "drive a van"],
    "place": "office",
}


def tell(words: str, indent: str = "  ") -> None:
    """Print words, cut into lines."""
    after = f"{indent}  "
    print(fill(words, 98, initial_indent=indent, subsequent_indent=after, break_on_hyphens=False))


print(TEXT, end="")

# %% [markdown]
# ## What a schema loses on its way
#
# Each target takes another part of JSON Schema. What is *rewritten* is asked for in another form
# and taken back. What is *unenforced* the target does not hold an answer to: it is told in words
# and checked afterwards.

# %%
for dialect in ("llguidance", "openai-strict", "anthropic"):
    compiled = compile_schema(Job, dialect)
    print(f"\n{dialect}: {len(compiled.encoded)} bytes")
    for change in compiled.rewritten:
        tell(f"{change.pointer or '(root)'}: {change.before} -> {change.after}")
    lost = [f"{gap.keyword} at {gap.pointer}" for gap in compiled.unenforced]
    tell(f"unenforced: {', '.join(lost) or 'nothing'}")

# %% [markdown]
# ## Ask everybody
#
# The replay keeps what was sent, and gives the same answer in the form of each API.

# %%
sent: dict[str, Any] = {}
queue: list[dict[str, Any]] = []  # what is answered before ANSWER


def wire(path: str, text: str) -> dict[str, Any]:
    """Return an answer as the API of this path writes it."""
    if path.endswith("/responses"):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
        usage = {"input_tokens": 200, "output_tokens": 60, "total_tokens": 260}
        return {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "replay",
            "status": "completed",
            "output": [{**item, "content": content}],
            "usage": usage,
        }
    if path.endswith("/messages"):
        block: dict[str, Any] = {"type": "text", "text": text}
        if "tools" in sent:
            block = {"type": "tool_use", "id": "t", "name": sent["tools"][0]["name"]}
            block["input"] = json.loads(text)
        return {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "replay",
            "content": [block],
            "stop_reason": "tool_use" if "tools" in sent else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 200, "output_tokens": 60},
        }
    message = {"role": "assistant", "content": text}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "replay",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 60, "total_tokens": 260},
    }


def reply(request: httpx2.Request) -> httpx2.Response:
    """Return the answer, and keep what was asked."""
    sent.clear()
    sent.update(json.loads(request.content))
    text = json.dumps(queue.pop(0) if queue else ANSWER)
    return httpx2.Response(200, json=wire(request.url.path, text))


http = httpx2.Client(transport=httpx2.MockTransport(reply))
gpt = openai.OpenAI(api_key="none", http_client=http)
claude = anthropic.Anthropic(api_key="none", http_client=http)


def form() -> str:
    """Return how the last request says what form the answer has."""
    tools = sent.get("tools", ())
    ways = {
        "response_format": sent.get("response_format", {}).get("type"),
        "text.format": sent.get("text", {}).get("format", {}).get("type"),
        "output_config.format": sent.get("output_config", {}).get("format", {}).get("type"),
        "a strict tool": tools and f"strict={tools[0]['strict']}",
    }
    return ", ".join(f"{way} {value}" for way, value in ways.items() if value) or "words alone"


def ask(title: str, model: Provider) -> None:
    """Print how a model is asked, why so, and what came."""
    sent.clear()
    result = extract(Job, TEXT, model=model)
    print(f"\n{title}: {result.strategy.value}, dialect {result.provenance.dialect}")
    tell(result.strategy_reason)
    if sent:
        tell(f"sent: {form()}")
    answers = " then ".join(attempt.validity.name for attempt in result.attempts)
    tell(f"came: {answers}; {result.status.value}")
    for attempt in result.attempts:
        for finding in attempt.findings:
            tell(f"{finding.severity} {finding.path or '(root)'}: {finding.message}", "    ")


ask("OpenAI, Responses API", OpenAIResponses("gpt-5.4-mini", client=gpt))
ask("OpenAI, Chat Completions", OpenAIChat("gpt-4.1-mini", client=gpt))
ask("OpenAI, an older model", OpenAIChat("gpt-4-turbo", client=gpt))
ask("Anthropic", Anthropic("claude-sonnet-4-5", client=claude))
ask("Anthropic, as a tool", Anthropic("claude-sonnet-4-5", client=claude, strict_tool=True))
ask("Anthropic, an older model", Anthropic("claude-3-haiku-20240307", client=claude))
ask("the embedded model", Local())

# %% [markdown]
# Three things to see. No strategy makes an answer true: the embedded model is held to the schema
# token by token, and most of what it says stands nowhere in the text. An older model is asked
# another way, without a change to the code. And a stronger dialect leaves less to be checked.
#
# ## What is not held is checked
#
# Anthropic's grammar has no maximum. So 48 hours can come from it, and are sent back:

# %%
queue.append({**ANSWER, "hours": 48})
ask("Anthropic, a first answer with 48 hours", Anthropic("claude-sonnet-4-5", client=claude))

# %% [markdown]
# ## A server of somebody else
#
# Many servers speak OpenAI's API, take the schema, answer 200, and ignore it. Here are two on this
# machine with the same model behind them: it chats, and its first answer has words for a number.
# The first server holds it to the schema. The second one does not, but has a mode for any JSON.


# %%
def says(body: dict[str, Any], *, holds: bool) -> str:
    """Return what the model behind a server writes."""
    wished = body.get("response_format", {})
    shape = wished.get("json_schema", {}).get("schema")
    if "France" in str(body["messages"]):  # what verify_enforcement asks
        if wished.get("type") == "json_object":
            return '{"capital": "Paris"}'
        if not (holds and shape):
            return "The capital of France is Paris."
        nodes = shape["properties"].items()
        return json.dumps({name: node.get("const") or node["enum"][0] for name, node in nodes})
    if (holds and shape) or len(body["messages"]) > 2:  # asked again
        return json.dumps(ANSWER)
    first = json.dumps({**ANSWER, "hours": "24 a week"})
    return first if wished.get("type") == "json_object" else f"Sure! ```json\n{first}\n```"


@contextmanager
def server(*, holds: bool) -> Iterator[Compatible]:
    """Serve within the block, and give a model that is asked there."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.clear()
            sent.update(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps(wire(self.path, says(sent, holds=holds))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    loopback = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=loopback.serve_forever)
    thread.start()
    try:
        yield Compatible("qwen3", base_url=f"http://127.0.0.1:{loopback.server_port}/v1")
    finally:
        loopback.shutdown()
        loopback.server_close()
        thread.join()


Modes = tuple[Literal["native", "json_mode"], ...]
SERVERS: dict[str, tuple[bool, Modes]] = {
    "a server that holds": (True, ("native",)),
    "a server that ignores": (False, ("native", "json_mode")),
}
for name, (holds, modes) in SERVERS.items():
    with server(holds=holds) as model:
        ask(f"{name}, before anybody looked", model)
        for mode in modes:
            found = verify_enforcement(model, mode=mode)
            print(f"\nverify_enforcement, {mode}: {found.enforced}")
            tell(found.reason)
            ask(f"{name}, after that", model)

# %% [markdown]
# What does not hold gets weaker, not silent: asked in words, checked, and asked again.
#
# ## What is never given up
#
# A strategy that you wish for, and a schema for a provider that cannot express it: these raise
# before anything is sent.

# %%
older = Anthropic("claude-3-haiku-20240307", client=claude)
decisions = OpenAIDecisions("gpt-6-luna", client=gpt)
cannot: dict[str, tuple[Provider, str]] = {
    "native, from a model that has no such mode": (older, "native"),
    "Decisions, which are for closed sets alone": (decisions, "auto"),
}
for title, (provider, wish) in cannot.items():
    sent.clear()
    try:
        extract(Job, TEXT, model=provider, strategy=wish)
    except UnsupportedError as error:
        print(f"\n{title}: {'sent' if sent else 'nothing was sent'}")
        tell(str(error))
