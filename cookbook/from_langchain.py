"""From LangChain's with_structured_output to extractkit: the same invoice, the same answers.

You learn: what stays (your model and its checks), what each of LangChain's two methods makes of a
refusal and of a cut answer, what a value that the text does not have looks like here and there.
Costs: nothing; OpenAI's side is a replay that stands in this file. Takes about 4 seconds. Needs
"pip install langchain-openai".
"""

# %%
import json
from importlib.metadata import version
from textwrap import fill
from typing import Any, Literal

import httpx2
import openai
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import OpenAIRefusalError
from openai import OpenAI
from pydantic import BaseModel, SecretStr

from extractkit import Validity, extract
from extractkit.providers import OpenAIChat

# %% [markdown]
# ## The task
#
# One model and one text. An answer of ours stands in place of the network: as text where text is
# asked for, as the arguments of a call where a tool is offered.


# %%
class Invoice(BaseModel):
    """What we want to know."""

    number: str
    seller: str
    total: float
    order: str | None = None


MODEL = "gpt-4.1-mini"
TEXT = "Invoice INV-7\nHarbour Paper Supply Ltd\n10 boxes of A4 copy paper\nTotal EUR 52.00\n"
sent: dict[str, Any] = {}


def network(content: str | None, refusal: str | None = None, finish: str = "stop") -> httpx2.Client:
    """Return an HTTP client with this answer to whatever is asked; `sent` has the last request."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.clear()
        sent.update(json.loads(request.content))
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
        if "tools" in sent and content is not None:
            call = {"name": sent["tools"][0]["function"]["name"], "arguments": content}
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

    return httpx2.Client(transport=httpx2.MockTransport(answer))


# %% [markdown]
# ## Before
#
# `with_structured_output` has a method for OpenAI's strict schemas, its default, and one for tools.
# With `include_raw=True` it returns a dict in which a refusal stands as `parsing_error`; a cut
# answer is raised all the same (strict), or is `parsed: None` with no error beside it (tools).


# %%
def before(http: httpx2.Client, method: Literal["json_schema", "function_calling"]) -> str:
    """Return what with_structured_output tells."""
    model = ChatOpenAI(model=MODEL, api_key=SecretStr("none"), http_client=http, max_retries=0)
    reader = model.with_structured_output(Invoice, method=method)
    try:
        return repr(reader.invoke(TEXT))
    except OpenAIRefusalError as error:
        return f"raises OpenAIRefusalError: {error}"
    except openai.LengthFinishReasonError as error:
        text = error.completion.choices[0].message.content
        return f"raises LengthFinishReasonError; the text is {text!r}"


# %% [markdown]
# ## After
#
# Here the form of the answer is no method to be chosen: the strongest that a model has is used, and
# `result.strategy_reason` says why. Each ending is a status; there is no value unless it is "ok".


# %%
def after(http: httpx2.Client, require: Validity = Validity.CONSISTENT) -> str:
    """Return what extract tells."""
    client = OpenAI(api_key="none", http_client=http)
    result = extract(Invoice, TEXT, model=OpenAIChat(MODEL, client=client), require=require)
    told = [f"{result.status.value}, {result.validity.name}: {result.value!r}"]
    if result.refusal:
        told.append(f"refusal={result.refusal!r}")
    if result.partial and result.partial.document:
        told.append(f"read so far: {result.partial.document}")
    told.extend(f"{one.path or '(root)'}: {one.message}" for one in result.findings)
    if len(result.attempts) > 1:
        told.append(f"the model was told so, and asked {len(result.attempts)} times")
    return "\n".join(told)


# %% [markdown]
# ## Side by side
#
# A cut answer shows where the methods differ: the strict one raises, the one with tools returns
# None, and says no more.
#
# The last case is the same for everybody but us: a value of the right type that stands nowhere in
# the text. By default that is a finding, and the level is one lower; with `require=GROUNDED` it is
# no answer, and the model is told what is not there and asked again.


# %%
def show(name: str, told: str) -> None:
    """Print what one of them tells."""
    for number, line in enumerate(told.splitlines()):
        head = f"   {'' if number else name:18}"
        print(fill(line, 99, initial_indent=head, subsequent_indent=" " * 23))


WHOLE = {"number": "INV-7", "seller": "Harbour Paper Supply Ltd", "total": 52.0, "order": None}
INVENTED = json.dumps({**WHOLE, "total": 48.0, "order": "PO-1138"})
CASES = {
    "a good answer": network(json.dumps(WHOLE)),
    "a refusal": network(None, refusal="I cannot help with that."),
    "an answer that was cut off": network(json.dumps(WHOLE)[:47], finish="length"),
    "a total and an order that are not in the text": network(INVENTED),
}
print(f"langchain-openai {version('langchain-openai')}, langchain-core {version('langchain-core')}")
for case, http in CASES.items():
    print(f"\n{case}")
    show("json_schema", before(http, "json_schema"))
    show("function_calling", before(http, "function_calling"))
    show("extractkit", after(http))
show("require=GROUNDED", after(network(INVENTED), Validity.GROUNDED))

# %% [markdown]
# ## What was sent
#
# A tool without `strict` is a wish: the model may leave fields out or add some. With
# `method="function_calling", strict=True` LangChain asks for more.

# %%
print("\nis the model held to the schema?")
before(CASES["a good answer"], "json_schema")
print(f"   json_schema       strict={sent['response_format']['json_schema']['strict']}")
before(CASES["a good answer"], "function_calling")
print(f"   function_calling  strict={sent['tools'][0]['function'].get('strict')}")
after(CASES["a good answer"])
print(f"   extractkit        strict={sent['response_format']['json_schema']['strict']}")
