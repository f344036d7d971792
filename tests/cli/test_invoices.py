"""Generated invoices: varied, repeatable, and true to their labels."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.cli._facts import LineItem
from extractkit.cli._invoices import Invoice, generate
from extractkit.cli._layouts import LAYOUTS
from extractkit.cli._score import Score, compare, total

_SEEDS = range(2 * len(LAYOUTS) * 5)


def test_a_seed_gives_the_same_invoice_each_time() -> None:
    assert generate(17) == generate(17)
    assert generate(17).text != generate(18).text


def test_consecutive_seeds_go_through_at_least_six_layouts() -> None:
    layouts = {generate(seed).layout for seed in range(len(LAYOUTS))}
    assert len(layouts) == len(LAYOUTS) >= 6


@given(st.integers())
def test_every_text_value_of_the_label_stands_in_the_text(seed: int) -> None:
    invoice = generate(seed)
    text = invoice.text.casefold()
    words = [invoice.truth.number, invoice.truth.seller, invoice.truth.buyer]
    words += [item.description for item in invoice.truth.items]
    words += [invoice.truth.notes] if invoice.truth.notes else []
    assert [word for word in words if word.casefold() not in text] == []


@given(st.integers())
def test_every_amount_of_the_label_stands_in_the_text_in_some_spelling(seed: int) -> None:
    invoice = generate(seed)
    digits = {re.sub(r"\D", "", run) for run in re.findall(r"\d[\d.,\u202f]*\d", invoice.text)}
    amounts = [invoice.truth.net, invoice.truth.tax, invoice.truth.total]
    amounts += [item.amount for item in invoice.truth.items]
    assert [
        a for a in amounts if a is not None and re.sub(r"\D", "", f"{a:.2f}") not in digits
    ] == []


@given(st.integers())
def test_the_label_agrees_with_itself(seed: int) -> None:
    truth = generate(seed).truth
    lines = sum((item.amount for item in truth.items), Decimal(0))
    assert [item.quantity * item.unit_price for item in truth.items] == [
        item.amount for item in truth.items
    ]
    assert lines + (truth.tax or 0) == truth.total
    assert truth.net in (None, lines)
    assert (truth.net is None) == (truth.tax is None)
    assert truth.due is None or truth.due > truth.issued


def test_every_nullable_field_is_absent_from_some_invoices_and_present_in_others() -> None:
    drawn = [generate(seed).truth for seed in _SEEDS]
    for name in ("due", "net", "tax", "notes"):
        assert {getattr(truth, name) is None for truth in drawn} == {True, False}


def test_what_is_null_in_the_label_has_no_words_in_the_text() -> None:
    due = re.compile(r"due|by \d|payable until|zahlbar|échéance|pay by", re.IGNORECASE)
    for seed in _SEEDS:
        invoice = generate(seed)
        if invoice.truth.due is None:
            assert not due.search(invoice.text.replace("Total due", "")), invoice.text


def test_dates_are_spelt_in_several_ways() -> None:
    written = [generate(seed) for seed in range(len(LAYOUTS))]
    iso = [invoice for invoice in written if invoice.truth.issued.isoformat() in invoice.text]
    assert 0 < len(iso) < len(written) - 3


def test_a_perfect_answer_is_right_everywhere_and_none_is_wrong_everywhere() -> None:
    truth = generate(3).truth
    assert all(score.right == score.of > 0 for score in compare(truth, truth).values())
    assert all(score.right == 0 < score.of for score in compare(truth, None).values())


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"seller": "  RIVER   print llc "}, set[str]()),
        ({"seller": "River Print Ltd"}, {"seller"}),
        ({"due": datetime.date(2025, 1, 1)}, {"due"}),
        ({"total": Decimal("7485.460")}, set[str]()),
        ({"notes": None}, {"notes"}),
    ],
)
def test_values_are_compared_after_the_normalisation_of_their_type(
    changes: dict[str, object], wrong: set[str]
) -> None:
    truth = generate(0).truth
    scores = compare(truth, truth.model_copy(update=changes))
    assert {name for name, score in scores.items() if score.right < score.of} == wrong


def test_missing_and_invented_lines_are_wrong_in_every_column() -> None:
    truth = generate(0).truth
    extra = LineItem(description="x", quantity=Decimal(1), unit_price=Decimal(1), amount=Decimal(1))
    more = compare(truth, truth.model_copy(update={"items": [*truth.items, extra]}))
    less = compare(truth, truth.model_copy(update={"items": truth.items[:-1]}))
    count = len(truth.items)
    assert more["items.amount"] == Score(right=count, of=count + 1)
    assert less["items.amount"] == Score(right=count - 1, of=count)
    assert more["items (count)"] == less["items (count)"] == Score(right=0, of=1)


def test_scores_of_several_invoices_add_up() -> None:
    truth = generate(1).truth
    both = total([compare(truth, truth), compare(truth, None)])
    assert both["number"] == Score(right=1, of=2)
    assert next(iter(both)) == "number"
    assert set(Invoice.model_fields) - {"items"} <= set(both)
