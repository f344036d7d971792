"""Read contracts that lack a term, and get null where a model would rather invent one.

You learn: what `lint` says of a model whose fields are all required, what a small model makes of
it, how `| None` and `Grounded` change that, and which checks point at what is still wrong.
Costs: nothing. Needs the weights ("extractkit pull"). Takes about 20 seconds.
"""

# %%
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from pydantic import BaseModel, Field

from extractkit import ExtractionResult, Extractor, Finding, Grounded, Validity, lint
from extractkit.checks import Check, CheckContext, in_order
from extractkit.providers import Local

# %% [markdown]
# Four short contracts, and what they state. Only the first states every term: others have no end,
# no notice, no limit of liability, no law. One is about nothing but secrets.

# %%
DATA = Path(__file__).parent / "data" / "contracts"
STATED: dict[str, dict[str, Any]] = {
    "cleaning": {
        "starts": date(2025, 4, 1),
        "ends": date(2027, 3, 31),
        "notice_days": 60,
        "fee_eur": 1150,
        "cap_eur": 25000,
        "law": "Ireland",
    },
    "hosting": {"starts": date(2025, 1, 15), "fee_eur": 89, "cap_eur": 5000, "law": "Austria"},
    "letter": {"starts": date(2025, 6, 3), "ends": date(2025, 6, 24), "fee_eur": 640},
    "secrecy": {"law": "Portugal"},
}

# %% [markdown]
# ## Every term required
#
# [`lint`](../docs/reference/lint.md) reads the model alone; it asks nobody.


# %%
class Required(BaseModel):
    """Every contract has these terms, or so we think."""

    starts: date
    ends: date
    notice_days: int
    fee_eur: Decimal
    cap_eur: Decimal = Field(description="limit of liability in EUR")
    law: Literal["Austria", "Ireland", "Portugal"]


for warning in lint(Required):
    print(f"{warning.pointer:14}{warning.rule:16}{warning.fix.split(', or')[0]}")
print()

# %% [markdown]
# And this is what a model does that must not say "there is none". What is not true of the contract
# stands in brackets; behind what a finding points at stands "?". Look for brackets without "?":
# those are the errors that nobody is told of.


# %%
def cells(result: ExtractionResult[Any], stated: dict[str, Any]) -> Iterator[str]:
    """Yield each term as it is shown."""
    told = {one.path for one in result.findings}
    for term, value in result.unwrap():
        mark = "?" if f"/{term}" in told else ""
        shown = "null" if value is None else f"{value}{mark}"
        yield shown if value == stated.get(term) else f"[{shown}]"


def show(title: str, extractor: Extractor[Any]) -> dict[str, ExtractionResult[Any]]:
    """Print what is read of each contract, and how much of it is right."""
    print(title)
    results: dict[str, ExtractionResult[Any]] = {}
    shown: list[str] = []
    for name, stated in STATED.items():
        text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
        results[name] = extractor.extract(text)
        row = list(cells(results[name], stated))
        print(f"  {name:10}" + "".join(f"{cell:15}" for cell in row).rstrip())
        shown += row
    wrong = [cell for cell in shown if cell.startswith("[")]
    silent = [cell for cell in wrong if "?" not in cell]
    print(f"  {len(shown) - len(wrong)} of {len(shown)} right, {len(silent)} wrong and not told\n")
    return results


show("required", Extractor(Required, model=Local()))

# %% [markdown]
# Grounding tells most of the invented numbers and dates. It says nothing of the law: a Literal is
# a word of ours, which need not stand in the text.
#
# ## Null
#
# `| None` lets a model say "there is none". Alone it changes little: a small model fills what it
# can fill.


# %%
class Nullable(BaseModel):
    """The same terms, where the contract has them."""

    starts: date | None
    ends: date | None
    notice_days: int | None
    fee_eur: Decimal | None
    cap_eur: Decimal | None = Field(description="limit of liability in EUR")
    law: Literal["Austria", "Ireland", "Portugal"] | None


show("nullable", Extractor(Nullable, model=Local()))

# %% [markdown]
# ## Null, or what the text states
#
# `Grounded` takes the invented values away: the embedded model can write what the text states, or
# null. (With a hosted model the mark is checked afterwards, and the model is asked again.)


# %%
class Terms(BaseModel):
    """The same terms, as the contract states them."""

    starts: Grounded[date] | None
    ends: Grounded[date] | None
    notice_days: Grounded[int] | None
    fee_eur: Grounded[Decimal] | None
    cap_eur: Grounded[Decimal] | None = Field(description="limit of liability in EUR")
    law: Grounded[Literal["Austria", "Ireland", "Portugal"]] | None


# %% [markdown]
# What can still go wrong is a value that the text states of something else: a day of January as
# days of notice, the fee as the limit of liability. Two rules of the trade catch these. A contract
# ends after it starts, and a contract that has a term has a word for it. They are warnings: the
# value is kept, and somebody looks.


# %%
def has_a_word_for_it(context: CheckContext) -> Iterator[Finding]:
    """Yield a warning for each term of which the text does not speak."""
    for term, word in {"notice_days": "notice", "cap_eur": "liab"}.items():
        if getattr(context.value, term) is not None and word not in context.text.lower():
            yield Finding(
                level=Validity.CONSISTENT,
                path=f"/{term}",
                message=f"the text has no word with '{word}'",
                severity="warning",
            )


CHECKS: list[Check] = [
    in_order("/starts", "/ends", strict=True, severity="warning"),
    has_a_word_for_it,
]
print(f"lint finds {len(lint(Terms))} things in Terms")
results = show("nullable, grounded and checked", Extractor(Terms, model=Local(), checks=CHECKS))
for name, result in results.items():
    for finding in result.findings:
        told = f"  {name:10}{finding.path}: {finding.message}"
        print(fill(told, width=96, subsequent_indent=" " * 16))

# %% [markdown]
# One error is left that no finding tells of: the law of `secrecy` is stated, and the answer is
# null. Here `confidence` helps, the probability of what was chosen among what could be: barely
# more than one half. To make a rule of it,
# [choose a threshold](../docs/how-to/choose-a-threshold.md).

# %%
law = results["secrecy"].confidence["/law"]
print(f"\nsecrecy, law: null with probability {law.probability or 0:.2f}")
