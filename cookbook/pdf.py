"""Read a PDF's text layer, say on which page each value stands, and stop at a scanned page.

You learn: pages to one text and back, evidence by page and line, and how to tell a page that has no
text before a model is asked about nothing.
Costs: nothing. Needs the weights ("extractkit pull") and "pip install pypdf". Takes about 5
seconds.
"""

# %%
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import BinaryIO, Self

from pydantic import BaseModel, Field
from pypdf import PdfReader, PdfWriter

from extractkit import Grounded, Verbatim, extract
from extractkit.checks import in_order
from extractkit.providers import Local

# %% [markdown]
# ## Pages as one text
#
# A model is given one text. We keep where each page begins in it: then a place in the text is a
# place on a page. Pages are joined by a line break, so that no word runs over the edge. A page
# without text is kept in mind: it is a scan, or a drawing, or blank.


# %%
@dataclass(frozen=True, kw_only=True)
class Pages:
    """The text layer of a PDF."""

    texts: tuple[str, ...]
    pictures: tuple[int, ...]
    """How many pictures each page has."""

    @classmethod
    def read(cls, file: Path | BinaryIO) -> Self:
        """Return what a PDF says, page by page."""
        pages = PdfReader(file).pages
        return cls(
            texts=tuple(page.extract_text() for page in pages),
            pictures=tuple(len(page.images) for page in pages),
        )

    @property
    def text(self) -> str:
        """All pages as one text."""
        return "\n".join(self.texts)

    @property
    def silent(self) -> dict[int, int]:
        """How many pictures each page has that has no text; pages count from 1."""
        pages = enumerate(zip(self.texts, self.pictures, strict=True), start=1)
        return {number: pictures for number, (text, pictures) in pages if not text.strip()}

    def place(self, offset: int) -> tuple[int, int]:
        """Return the page of a character of the text, and its line on that page."""
        starts = [0, *accumulate(len(text) + 1 for text in self.texts)]
        page = bisect_right(starts, offset)
        return page, self.text.count("\n", starts[page - 1], offset) + 1


# %% [markdown]
# ## A survey of three pages
#
# Two pages of text, then a letter that was scanned. (data/pdf/make.py wrote the file.)


# %%
class Survey(BaseModel):
    """What we want to know."""

    report: Verbatim[str] = Field(max_length=20, description="number of the report")
    client: Verbatim[str] | None = Field(max_length=40)
    inspected: Grounded[date] | None = Field(description="day of this inspection")
    cost: Grounded[Decimal] | None = Field(description="cost of all repairs in EUR")
    roof_cost: Grounded[Decimal] | None
    contractor: Verbatim[str] | None = Field(max_length=40, description="who is to do the works")
    again_by: Grounded[date] | None = Field(description="day of the next inspection")


def show(name: str, pages: Pages) -> None:
    """Print what a PDF says, with page and line, and what nobody has read."""
    print(name)
    for number, pictures in pages.silent.items():
        print(f"  page {number} has no text and {pictures} picture(s): not read")
    if not pages.text.strip():
        print("  nothing to ask a model about: run a text recognition (OCR) first")
        return
    later = in_order("/inspected", "/again_by", strict=True, severity="warning")
    result = extract(Survey, pages.text, model=Local(), checks=[later])
    print(f"  {result.status.value}, {result.validity.name}")
    for field, value in result.document.items():
        span = result.evidence.get(f"/{field}")
        where = "" if span is None else "page {}, line {}".format(*pages.place(span.start))
        print(f"  {field:12}{value!s:30}{where}")
    for finding in result.findings:
        told = f"  {finding.severity} {finding.path}: {finding.message}"
        print(fill(told, width=96, subsequent_indent=" " * 6))
    print()


SURVEY = Path(__file__).parent / "data" / "pdf" / "survey.pdf"
show("survey.pdf", Pages.read(SURVEY))

# %% [markdown]
# With the page at hand each value is checked in a moment, the wrong ones too: the report is not
# called so, and 21 is a moisture content. A null would mean "not on the pages that were read",
# which is why the page that was not read is named.
#
# ## A scan from the first page to the last
#
# Its text layer is empty. A model that is asked about nothing answers all the same, so we do not
# ask; `extract` would refuse, too: "text is empty".

# %%
scan = BytesIO()
writer = PdfWriter()
writer.add_page(PdfReader(SURVEY).pages[2])
writer.write(scan)
show("scan.pdf", Pages.read(scan))
