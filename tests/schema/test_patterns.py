import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.schema.patterns import escape, parse
from tests.schema.engine import admits

LINEAR = [
    "",
    "a",
    "^a$",
    "^[A-Z]{3}-[0-9]{4}$",
    "[0-9]{2}",
    "a|bb|c",
    "(?:ab)+",
    "(?P<n>a)b",
    "(?<n>a)b",
    r"^\d+\.\d{0,2}$",
    r"\w+@\w+",
    "a.*?b",
    "^.$",
    "[^a-z]",
    r"[^\]]",
    r"[\w.-]+",
    "(^a|^b)$",
    "é+",
    r"\x41\u0042",
    r"\p{L}{2}",
    r"\P{L}",
    "a{2,}",
    "(?i)abc",
    r"\/\-\.",
    "[a-]",
    "(?s:.)x",
    "a{0}b",
    r"\t",
]
NOT_LINEAR = [
    "(?=a)b",
    "^(?!x)",
    "(?<=a)b",
    "(?<!a)b",
    r"(a)\1",
    r"\bcat\b",
    r"\Aa\Z",
    "(?>a)",
    "a^b",
    "a$b",
    "(a",
    "a)",
    "[a",
    "a{,3}",
    "{a}",
    "a++",
    "*a",
    r"\cA",
    r"[\b]",
    "a{x}",
    r"\x4",
    "[[a]]",
    "[a&&b]",
    "[]",
    "(?#c)",
    "(^a)*",
    "\\",
    "(?P>n)",
    r"[^\x00-\x7f a]a0é" + "[^a0 _A.é\n-]",
]


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_linear_expression_gets_a_text_that_it_finds(pattern: str) -> None:
    parsed = parse(pattern)
    assert parsed is not None
    if "\\p" not in pattern and "\\P" not in pattern and "(?<n" not in pattern:
        assert re.search(pattern, parsed.shortest)
    assert admits({"type": "string", "pattern": pattern}, parsed.shortest)


@pytest.mark.parametrize("pattern", NOT_LINEAR)
def test_what_is_not_linear_or_spelled_differently_elsewhere_is_not_taken(pattern: str) -> None:
    assert parse(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "longest", "anchored"),
    [
        ("^a{2,3}$", 3, True),
        ("^(?:ab|c)?$", 2, True),
        ("^a*$", None, True),
        ("^a", None, False),
        ("a{3}", None, False),
        ("^a$|^b$", 1, True),
        ("^a|b$", None, False),
    ],
)
def test_the_longest_match_is_known_where_both_ends_are_held(
    pattern: str, longest: int | None, anchored: bool
) -> None:
    parsed = parse(pattern)
    assert parsed is not None
    assert (parsed.longest, parsed.is_anchored) == (longest, anchored)


def test_nested_beyond_reason_is_not_taken() -> None:
    assert parse("(" * 5_000 + ")" * 5_000) is None


@given(st.text(min_size=1, max_size=8))
def test_an_escaped_text_finds_itself_only(text: str) -> None:
    pattern = f"^{escape(text)}$"
    assert re.fullmatch(escape(text), text)
    parsed = parse(pattern)
    assert parsed is not None
    assert (parsed.shortest, parsed.longest) == (text, len(text))
