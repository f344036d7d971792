"""From OpenAI's .parse to extractkit: the same invoice, the same answers, what each tells you.

You learn: what stays (your model, your client, the strict schema), where refusals and cut answers
are now, what is said of a value that the text does not have, and of a schema that OpenAI refuses.
Costs: nothing; OpenAI's side is a replay that stands in this file. Takes about 2 seconds.
"""

# %%
import json
from contextlib import suppress
from textwrap import fill
from typing import Any

import httpx2
import openai
from openai import OpenAI
from pydantic import BaseModel, ValidationError

from extractkit import extract
from extractkit.providers import OpenAIChat

# %% [markdown]
# ## The task
#
# One model and one text. The client is OpenAI's own, with an answer of ours in place of the
# network; it keeps the last request, so that we see what was sent.


# %%
class Invoice(BaseModel):
    """What we want to know."""

    number: str
    seller: str
    total: float
    order: str | None


MODEL = "gpt-4.1-mini"
TEXT = "Invoice INV-7\nHarbour Paper Supply Ltd\n10 boxes of A4 copy paper\nTotal EUR 52.00\n"
sent: dict[str, Any] = {}


def client(content: str | None, refusal: str | None = None, finish: str = "stop") -> OpenAI:
    """Return OpenAI's client, with this answer to whatever is asked."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.update(json.loads(request.content))
        message = {"role": "assistant", "content": content, "refusal": refusal}
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
# A refusal stands beside `parsed`, which is None then; a cut answer is an exception, in which the
# text that had come is.


# %%
def before(asked: OpenAI) -> str:
    """Return what .parse tells."""
    try:
        completion = asked.chat.completions.parse(
            model=MODEL,
            messages=[{"role": "user", "content": TEXT}],
            response_format=Invoice,
        )
    except openai.LengthFinishReasonError as error:
        text = error.completion.choices[0].message.content
        return f"raises LengthFinishReasonError; the text is {text!r}"
    message = completion.choices[0].message
    return f"parsed={message.parsed!r}, refusal={message.refusal!r}"


# %% [markdown]
# ## After
#
# The same client is given to the provider. Each ending is a status of the result: no exception, and
# no value unless the status is "ok". `result.unwrap()` raises instead, for who prefers that.


# %%
def after(asked: OpenAI) -> str:
    """Return what extract tells."""
    result = extract(Invoice, TEXT, model=OpenAIChat(MODEL, client=asked))
    told = [f"{result.status.value}, {result.validity.name}: {result.value!r}"]
    if result.refusal:
        told.append(f"refusal={result.refusal!r}")
    if result.partial:
        told.append(f"read so far: {result.partial.document}")
    told.extend(f"{one.path or '(root)'}: {one.message}" for one in result.findings)
    return "\n".join(told)


# %% [markdown]
# ## Side by side


# %%
def show(name: str, told: str) -> None:
    """Print what one of them tells."""
    for number, line in enumerate(told.splitlines()):
        head = f"   {'' if number else name:12}"
        print(fill(line, 99, initial_indent=head, subsequent_indent=" " * 17))


WHOLE = {"number": "INV-7", "seller": "Harbour Paper Supply Ltd", "total": 52.0, "order": None}
CASES = {
    "a good answer": client(json.dumps(WHOLE)),
    "a refusal": client(None, refusal="I cannot help with that."),
    "an answer that was cut off": client(json.dumps(WHOLE)[:47], finish="length"),
    "a total and an order that are not in the text": client(
        json.dumps({**WHOLE, "total": 48.0, "order": "PO-1138"})
    ),
}
print(f"openai {openai.__version__}: chat.completions.parse, and extractkit with the same client")
for case, asked in CASES.items():
    print(f"\n{case}")
    for name, way in {".parse": before, "extractkit": after}.items():
        show(name, way(asked))
        assert sent["response_format"]["json_schema"]["strict"]  # noqa: S101  # both ask for that


# %% [markdown]
# ## A schema that OpenAI refuses
#
# OpenAI's rules for strict schemas want every object to list its keys, and no others: a map from
# names to amounts cannot be said. `.parse` sends it as it is, for the API to refuse by those rules.
# Here it is written as a list of pairs, and comes back as a map.


# %%
class Amounts(BaseModel):
    """Amounts by what they are for."""

    amounts: dict[str, float]


asked = client(json.dumps({"amounts": [{"key": "Total", "value": 52.0}]}))
messages: Any = [{"role": "user", "content": TEXT}]


def amounts_sent() -> str:
    """Return the schema of the field as it was sent."""
    schema = sent["response_format"]["json_schema"]["schema"]
    return f"sends {json.dumps(schema['properties']['amounts'])}"


print("\na map from names to amounts")
with suppress(ValidationError):  # the replay answers where OpenAI would not, and in our form
    asked.chat.completions.parse(model=MODEL, messages=messages, response_format=Amounts)
show(".parse", amounts_sent())
result = extract(Amounts, TEXT, model=OpenAIChat(MODEL, client=asked))
show("extractkit", f"{amounts_sent()}\n{result.status.value}: {result.value!r}")
