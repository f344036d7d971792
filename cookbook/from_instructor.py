"""From instructor to extractkit: the same invoice, the same answers, what each tells you.

You learn: what stays (your model and its validators), what takes the place of its exceptions and of
max_retries, who pays for a refusal, and what is said of a value that the text does not have.
Costs: nothing; OpenAI's side is a replay that stands in this file. Takes about 2 seconds.

instructor 1.17.0 cannot be installed beside openai 3.57 (it wants jiter below 0.15, and openai one
from 0.16 on), which extractkit needs. So what it says was recorded with its own newest openai, in
data/from_instructor.json; `--record` does that again, where instructor is installed.
"""

# %%
import json
import sys
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import Any

import httpx2
from openai import OpenAI
from pydantic import BaseModel

from extractkit import Validity, extract
from extractkit.providers import OpenAIChat

# %% [markdown]
# ## The task
#
# One model and one text. The client is OpenAI's own, with an answer of ours in place of the
# network: as text where text is asked for, as the arguments of a call where a tool is offered. It
# keeps the requests, so that we see how many were paid for.


# %%
class Invoice(BaseModel):
    """What we want to know."""

    number: str
    seller: str
    total: float
    order: str | None = None


MODEL = "gpt-4.1-mini"
TEXT = "Invoice INV-7\nHarbour Paper Supply Ltd\n10 boxes of A4 copy paper\nTotal EUR 52.00\n"
sent: list[Any] = []


def client(content: str | None, refusal: str | None = None, finish: str = "stop") -> OpenAI:
    """Return OpenAI's client, with this answer to whatever is asked."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
        if "tools" in sent[-1] and content is not None:
            call = {"name": sent[-1]["tools"][0]["function"]["name"], "arguments": content}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
            message["content"] = None
        return httpx2.Response(
            200,
            json={
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": MODEL,
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120},
            },
        )

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return OpenAI(api_key="none", http_client=http)


# %% [markdown]
# ## Before
#
# `create` returns the value, or raises. TOOLS is the mode of `from_openai` if none is named.


# %%
def before(asked: OpenAI, mode: str) -> str:
    """Return what instructor tells."""
    import instructor  # only where it is installed, see above
    from instructor.core.exceptions import InstructorError

    patched = instructor.from_openai(asked, mode=instructor.Mode[mode])
    try:
        invoice = patched.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": TEXT}],
            response_model=Invoice,
        )
    except InstructorError as error:
        return f"raises {type(error).__name__}: {str(error.__cause__ or error).splitlines()[0]}"
    return repr(invoice)


# %% [markdown]
# ## After
#
# The client is not patched but given to the provider. Each ending is a status of the result; there
# is no value unless it is "ok". `result.unwrap()` raises instead, for who prefers that.


# %%
def after(asked: OpenAI, require: Validity = Validity.CONSISTENT) -> str:
    """Return what extract tells."""
    result = extract(Invoice, TEXT, model=OpenAIChat(MODEL, client=asked), require=require)
    told = [f"{result.status.value}, {result.validity.name}: {result.value!r}"]
    if result.refusal:
        told.append(f"refusal={result.refusal!r}")
    if result.partial and result.partial.document:
        told.append(f"read so far: {result.partial.document}")
    told.extend(f"{one.path or '(root)'}: {one.message}" for one in result.findings)
    return "\n".join(told)


# %% [markdown]
# ## Side by side


# %%
WHOLE = {"number": "INV-7", "seller": "Harbour Paper Supply Ltd", "total": 52.0, "order": None}
INVENTED = json.dumps({**WHOLE, "total": 48.0, "order": "PO-1138"})
CASES = {
    "a good answer": client(json.dumps(WHOLE)),
    "a refusal": client(None, refusal="I cannot help with that."),
    "an answer that was cut off": client(json.dumps(WHOLE)[:47], finish="length"),
    "a number that is none, each time": client(json.dumps({**WHOLE, "total": "a lot"})),
    "a total and an order that are not in the text": client(INVENTED),
}
RECORD = Path(__file__).parent / "data" / "from_instructor.json"


def counted(told: str) -> str:
    """Return what was told, with the number of requests and whether they hold the model to it."""
    form = (
        sent[-1].get("response_format", {}).get("json_schema") or sent[-1]["tools"][0]["function"]
    )
    strict = "strict" if form.get("strict") else "not strict"
    told += f"\n(requests: {len(sent)}, {strict})"
    sent.clear()
    return told


def record() -> None:
    """Write what instructor tells into the file beside this one."""
    told = {
        case: {mode: counted(before(asked, mode)) for mode in ("TOOLS", "JSON_SCHEMA")}
        for case, asked in CASES.items()
    }
    versions = f"instructor {version('instructor')}, openai {version('openai')}"
    told_by = {"versions": versions, "told": told}
    RECORD.write_text(json.dumps(told_by, indent=2) + "\n", encoding="utf-8")


def show(name: str, told: str) -> None:
    """Print what one of them tells."""
    for number, line in enumerate(told.splitlines()):
        head = f"   {'' if number else name:18}"
        print(fill(line, 99, initial_indent=head, subsequent_indent=" " * 23))


if "--record" in sys.argv:
    record()
    sys.exit()
recorded = json.loads(RECORD.read_text(encoding="utf-8"))
print(f"recorded with {recorded['versions']}; extractkit is run")
for case, asked in CASES.items():
    print(f"\n{case}")
    for mode, told in recorded["told"][case].items():
        show(mode, told)
    show("extractkit", counted(after(asked)))
show("require=GROUNDED", counted(after(asked, Validity.GROUNDED)))
