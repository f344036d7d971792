"""Hold an answer to a rule of your own, and let the model try again with what was wrong.

You learn: checks, findings, retries, and what a result looks like when nothing helps.
Costs: nothing; the answers come from a script. Takes less than a second.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from extractkit import Finding, Validity, extract
from extractkit.checks import CheckContext
from extractkit.testing import FakeProvider


class Order(BaseModel):
    """What we want to know."""

    prices: list[int]
    total: int


def sums_up(context: CheckContext) -> Iterator[Finding]:
    """Yield an error where the prices do not add up to the total."""
    order = context.value
    if sum(order.prices) != order.total:
        yield Finding(
            level=Validity.CONSISTENT,
            path="/total",
            message=f"the prices add up to {sum(order.prices)}, not to {order.total}",
            code="sum",
        )


text = "Two mugs at 4 and 5, together 9."
wrong = '{"prices": [4, 5], "total": 10}'
right = '{"prices": [4, 5], "total": 9}'

mended = extract(Order, text, model=FakeProvider([wrong, right]), checks=[sums_up])
print(mended.status.value, mended.validity.name, mended.value)
for attempt in mended.attempts:
    print("attempt:", attempt.validity.name, [finding.message for finding in attempt.findings])

# The same wrong answer twice: asking a third time cannot help, so nobody does.
stuck = extract(Order, text, model=FakeProvider([wrong, wrong]), checks=[sums_up])
print(stuck.status.value, stuck.validity.name, stuck.value, stuck.document)

# Where the rule is a remark and not a condition, ask for less.
kept = extract(Order, text, model=FakeProvider([wrong]), checks=[sums_up], require=Validity.SCHEMA)
print(kept.status.value, kept.validity.name, kept.value)
