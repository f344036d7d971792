"""HTML elements whose texts are escaped by construction, and the page around them.

A plain string is text, always; only what `element` made is markup. Neighbours: all parts of the
report are made of this.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from extractkit.report._style import STYLE

__all__ = ["Child", "Markup", "element", "page"]


class Markup(str):
    """HTML that `element` made; nothing else makes it."""

    __slots__ = ()


Child: TypeAlias = "str | Mapping[str, str]"
"""Text, markup, or the attributes of the element."""

# One character for one character: what no page can hold, and what would show the characters
# around it in another order than they have.
_SHOWN_AS: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: "\u2421",
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), "\ufffd"),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"),
    **dict.fromkeys(range(0xFDD0, 0xFDF0), "\ufffd"),
    **dict.fromkeys(range(0xFFFE, 0x110000, 0x10000), "\ufffd"),
    **dict.fromkeys(range(0xFFFF, 0x110000, 0x10000), "\ufffd"),
}
_VOID: Final = frozenset({"br", "meta"})


def element(name: str, *children: Child) -> Markup:
    """Return an element.

    Args:
        name: Its name, in the words of this package, never of a caller.
        children: Texts, which are escaped, elements, and mappings of attributes.
    """
    attributes = "".join(
        f' {key}="{_escaped(value)}"'
        for child in children
        if isinstance(child, Mapping)
        for key, value in child.items()
    )
    if name in _VOID:
        return Markup(f"<{name}{attributes}>")
    # The first new line of a pre is left out by whoever reads it.
    first = "\n" if name == "pre" else ""
    inner = "".join(
        child if isinstance(child, Markup) else _escaped(child)
        for child in children
        if isinstance(child, str)
    )
    return Markup(f"<{name}{attributes}>{first}{inner}</{name}>")


def _escaped(text: str) -> str:
    # Whoever reads the page makes a new line of a carriage return, but not of a reference to one.
    return html.escape(text.translate(_SHOWN_AS)).replace("\r", "&#13;")


def page(title: str, body: Sequence[Markup], style: str = STYLE) -> str:
    """Return a whole page. Its policy allows its own style sheet, by digest, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("meta", {"name": "referrer", "content": "no-referrer"}),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{element('html', {'lang': 'en'}, head, element('body', *body))}\n"
