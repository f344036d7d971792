"""Words of names and descriptions that tell what a number counts or measures.

Neighbours: `units` asks with these lists, the other rules split names here. English alone: a
word of another language counts as unknown. The lists are part of the reference page of `lint`.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "AFTER_IN",
    "CURRENCY_KEYS",
    "MEASURES",
    "MONEY",
    "PER_TIME",
    "RATES",
    "SHORT_UNITS",
    "SYMBOLS",
    "UNITLESS",
    "UNITS",
    "UNIT_KEYS",
    "VAGUE",
    "singular",
    "words_of",
]

_SPLIT: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case: "grossWeight_KG" is gross, weight, kg."""
    return tuple(word.lower() for word in _SPLIT.findall(name))


def singular(word: str) -> str:
    """Return an English noun without its plural ending, as far as rules go."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNITS: Final = _set("""
    eur euro usd dollar gbp chf jpy cny inr aud cad sek nok dkk pln czk huf brl mxn krw sgd hkd nzd
    zar rub ils idr aed yen franc cent pence penny rupee yuan krona krone peso currency
    percent percentage pct percentile ppm ppb bps
    millisecond msec microsecond nanosecond sec minute hour hr hrs
    mm cm km nm meter metre millimeter millimetre centimeter centimetre kilometer kilometre
    micrometer micrometre nanometer nanometre inch feet foot ft yard mile pixel px dpi
    sqm sqft sqkm hectare acre m2 m3 km2 cm2 cm3 cubic
    liter litre milliliter millilitre ml dl gallon oz ounce cup tablespoon tbsp teaspoon tsp barrel
    kg gram mg mcg lb lbs tonne kilogram milligram microgram carat
    celsius fahrenheit kelvin degree deg radian rad
    byte kb mb gb tb kib mib gib bit kbps mbps gbps
    kwh mwh wh joule kj mj kcal calorie kilocalorie watt kw kilowatt megawatt volt ampere ohm mah
    hz khz mhz ghz hertz bpm rpm mph kmh kph psi pascal hpa kpa mmhg newton lumen lux db decibel
    mol mmol
""")
"""Units; one in a name or a description settles the matter."""

AFTER_IN: Final = _set("""
    second minute hour day week month quarter year decade token word character char page
    m g s h l piece people thousand million billion
""")
"""Words that are a unit in a description after "in", "per" or a bracket; the long ones also as a
plural."""

SHORT_UNITS: Final = _set("m s g h l w v us ns ms c f min yr pt gr")
"""Abbreviations that are a unit as the last of several words of a name."""

SYMBOLS: Final = "%‰€$£¥₹°"
"""Signs that are a unit in a description or a title."""

UNITLESS: Final = _set("""
    count counter num number no nr qty quantity occurrence copy
    id uid pk key index idx position pos rank order ordinal version revision rev code zip postcode
    seed port serial
    year month day week quarter decade century yr epoch second age
    score rating grade star confidence probability prob likelihood ratio fraction share proportion
    similarity accuracy precision recall factor multiplier multiple coefficient exponent correlation
    priority logprob penalty bias loss entropy perplexity epsilon alpha beta gamma
    latitude longitude lat lon lng gpa ph iq bbox coordinate
""")
"""Words of a name that need no unit: counts, ids, calendar words, and scales of their own."""

MONEY: Final = _set("""
    price cost amount fee charge salary wage income revenue turnover profit budget balance payment
    deposit rent tax vat discount subtotal premium expense debt loan fare sale earning refund bonus
    commission
""")
"""Words of a name that speak of money: a currency beside or above them is their unit."""

MEASURES: Final = _set("""
    price cost amount fee charge salary wage income revenue turnover profit budget balance payment
    deposit rent tax vat discount subtotal premium fare
    weight mass height length width thickness diameter radius distance altitude elevation perimeter
    area volume duration timeout interval delay latency lifetime ttl speed velocity pressure
    temperature power energy voltage consumption bandwidth memory dose dosage concentration angle
    humidity mileage
""")
"""Words that make a whole number a measure; any other whole number counts or names something."""

UNIT_KEYS: Final = _set("unit uom measure scale denomination")
"""Fields of the same object that say what its numbers are in."""

CURRENCY_KEYS: Final = _set("currency")
"""Fields, of the same object or of one further out, that say what amounts are in."""

RATES: Final = _set("rate")
"""Words of a name that speak of percent or a fraction: 19 and 0.19 are both in use."""

PER_TIME: Final = _set("hourly daily nightly weekly monthly annual yearly day night")
"""Words that turn a rate into an amount: a daily rate."""

VAGUE: Final = _set("""
    amount avg average end first from high last low lower max maximum mean median min minimum
    number quantity size start to upper value
""")
"""Names that take their meaning, and their unit, from the field around them."""
