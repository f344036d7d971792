"""Invoices made from a seed, each with the values that a perfect reader would find.

Neighbours: `_facts` draws the values, `_layouts` writes the text, `_demo` and `_trial` ask a model
about it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from extractkit.cli._facts import Invoice, draw
from extractkit.cli._layouts import LAYOUTS

__all__ = ["GeneratedInvoice", "Invoice", "generate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedInvoice:
    """A text and what stands in it.

    Attributes:
        seed: What it was made from.
        layout: Name of the layout.
        text: The invoice as text.
        truth: The values that the text states.
    """

    seed: int
    layout: str
    text: str
    truth: Invoice


def generate(seed: int) -> GeneratedInvoice:
    """Return the invoice of `seed`; consecutive seeds go through all layouts in turn.

    Args:
        seed: Any integer; the same seed gives the same invoice on every machine.
    """
    rng = random.Random(seed)  # noqa: S311  # examples, not secrets
    layout = LAYOUTS[seed % len(LAYOUTS)]
    truth = draw(rng, currency=rng.choice(layout.currencies), suffixes=layout.suffixes)
    return GeneratedInvoice(seed=seed, layout=layout.name, text=layout.write(truth), truth=truth)
