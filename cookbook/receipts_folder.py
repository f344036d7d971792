"""Read a folder of receipts with a journal, stop in the middle, go on, and list what failed.

You learn: `extract_many`, what a journal saves, counts by status and level, and failures by name.
Costs: nothing. Needs the weights ("extractkit pull"). Takes about 10 seconds; with a folder of
your own, `python cookbook/receipts_folder.py FOLDER`, about a second for each receipt.
"""

# %%
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Literal

from pydantic import BaseModel, Field

from extractkit import Grounded, Verbatim, extract_many
from extractkit.batch import Item, Progress
from extractkit.providers import Local

# %% [markdown]
# ## What we want to know
#
# The total must be there, or it is no receipt. All else may be missing.


# %%
class Receipt(BaseModel):
    """A receipt; amounts are in EUR."""

    shop: Verbatim[str] | None = Field(max_length=40, description="who was paid")
    day: Grounded[date] | None
    total: Grounded[Decimal] = Field(description="amount that was paid")
    paid_by: Grounded[Literal["cash", "card"]] | None


# %% [markdown]
# ## The folder
#
# Files are read one by one, when there is room for another. The name of a file is the id of its
# receipt: with it, what came is found again in the journal.

# %%
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "data/receipts_folder")
if not any(FOLDER.glob("*.txt")):
    sys.exit(f"{FOLDER} has no file whose name ends in .txt")


def receipts() -> Iterator[tuple[str, str]]:
    """Yield the receipts of the folder, each with its id."""
    for path in sorted(FOLDER.glob("*.txt")):
        yield path.stem, path.read_text(encoding="utf-8", errors="replace")


def show(item: Item[Receipt]) -> None:
    """Print one receipt."""
    value = None if item.result is None else item.result.value
    cells = [] if value is None else [value.shop, value.day, value.total, value.paid_by]
    values = "".join(f"{str(cell)[:20]:21}" for cell in cells)
    source = "journal" if item.is_known else "asked"
    print(f"{item.id:13}{source:9}{item.status:9}{values}".rstrip())


# %% [markdown]
# ## Stopped in the middle
#
# Every answer is in the journal before it is handed out. Here we leave the loop after five; Ctrl-C
# or a machine that is switched off would lose no more than the receipt that was being read.

# %%
scratch = TemporaryDirectory()
journal = Path(scratch.name) / "receipts.jsonl"
with closing(extract_many(Receipt, receipts(), model=Local(), journal=journal)) as items:
    for item in items:
        show(item)
        if item.index == 4:
            break

# %% [markdown]
# ## Gone on
#
# The same call once more. What the journal knows comes from there, and nobody is asked; that counts
# for failures, too, unless `retry_failed=True`. Another model, option or target, or another text in
# a file, is another question, and is asked.

# %%
print()
told: list[Progress] = []
again = extract_many(Receipt, receipts(), model=Local(), journal=journal, progress=told.append)
every = list(again)
for item in every:
    show(item)

# %% [markdown]
# ## What came of it
#
# A status says how an answer ended, a level how far it is known to hold.

# %%
last = told[-1]
print(f"\n{last.done} receipts, {last.known} of them from the journal")
print("status:", ", ".join(f"{name} {count}" for name, count in sorted(last.statuses.items())))
print("level: ", ", ".join(f"{name} {count}" for name, count in sorted(last.levels.items())))
print(f"tokens: {last.input_tokens} in, {last.output_tokens} out; {last.seconds:.1f} s")

# %% [markdown]
# No failure is lost. An `error` kept the model from being asked, or from answering: here the file
# is empty. With `invalid` there is an answer, or none could be given: a note about a parcel states
# no number. And some values should be looked at, although they are kept.

# %%
for item in every:
    findings = () if item.result is None else item.result.findings
    for reason in [item.error] if item.error else [f"{one.path} {one.message}" for one in findings]:
        print(fill(f"{item.id} {item.status}: {reason}", width=96, subsequent_indent=" " * 6))
scratch.cleanup()

# %% [markdown]
# GROUNDED says that no value was invented, not that it is the right one. Read the table beside the
# files: the shop of `02-hardware` is a box of screws, the total of `03-taxi` is the fare without
# the tip, and no finding tells of it. How often that happens only labels can say:
# [evaluate](../docs/how-to/evaluate.md) counts it, with the same journal.
