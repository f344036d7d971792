"""Shows a result to a person: value, evidence in its source, findings, and how it was come by.

Neighbours: `_output` makes the console. What comes from a model or a document is never read as
markup and cannot move the cursor.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from extractkit.cli._output import Times
from extractkit.cli._wording import calls_as_options
from extractkit.paths import JsonValue, walk
from extractkit.results import ExtractionResult, Finding, Span, Status, Validity

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show_facts", "show_heading", "show_result", "time_facts", "visible"]

_MOST_SOURCE_LINES = 80
_LONGEST_VALUE = 44

# One character for one character, so that offsets stay true.
_VISIBLE = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


def visible(text: str) -> str:
    """Return `text` with control and direction characters as visible ones, one for one."""
    return text.translate(_VISIBLE)


def show_heading(console: Console, title: str) -> None:
    """Print the title of a part."""
    from rich.text import Text

    console.print()
    console.print(Text(title, style="bold cyan"))


def show_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print names with what is to say about each, in two columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in facts:
        table.add_row(Text(f"  {name}", style="dim"), Text(visible(said)))
    console.print(table)


def show_result(
    console: Console,
    result: ExtractionResult[Any],
    text: str,
    *,
    facts: Sequence[tuple[str, str]] = (),
    source: bool = True,
) -> None:
    """Print everything about `result` that a person may want to know.

    Args:
        console: Where to print.
        result: Any result, with a value or without.
        text: The text that it was made from.
        facts: What to say besides about how it was come by, such as `time_facts`.
        source: Whether to print the text with the found values marked.
    """
    _show_value(console, result)
    show_heading(console, "how it ended")
    show_facts(console, list(_ending(result)))
    if result.document is not None:
        show_heading(console, "evidence")
        _show_evidence(console, result, text)
    if source:
        _show_source(console, text, list(result.evidence.values()))
    if result.findings:
        show_heading(console, "findings")
        _show_findings(console, result.findings)
    show_heading(console, "how it was asked")
    show_facts(console, [*_asking(result), *facts])


def time_facts(times: Times, result: ExtractionResult[Any]) -> list[tuple[str, str]]:
    """Return what the extraction took, for people."""
    answering_s = sum(attempt.seconds for attempt in result.attempts)
    rate = f", {result.usage.output_tokens / answering_s:.0f} tokens/s" if answering_s else ""
    said = f"{times.wall_s:.2f} s in all, {times.cpu_s:.2f} s CPU; answering {answering_s:.2f} s"
    return [("time", f"{said}{rate}")]


def _show_value(console: Console, result: ExtractionResult[Any]) -> None:
    from rich.pretty import Pretty
    from rich.text import Text

    if result.ok:
        show_heading(console, "value")
        console.print(Pretty(result.value))
    elif result.document is not None:
        show_heading(console, "no value; the best answer was")
        console.print(Text(_pretty_json(result.document)))
    elif result.partial is not None:
        show_heading(console, "no value; what was read before the end")
        console.print(Text(_pretty_json(result.partial.document)))
    else:
        show_heading(console, "no value; the model wrote")
        console.print(Text(visible(result.attempts[-1].text) if result.attempts else "(nothing)"))


def _pretty_json(document: JsonValue) -> str:
    return visible(json.dumps(document, ensure_ascii=False, indent=2))


def _ending(result: ExtractionResult[Any]) -> Iterator[tuple[str, str]]:
    detail = result.raw.stop_detail if result.raw else ""
    said = f" ({detail})" if detail and detail != result.stop_reason.value else ""
    yield "status", f"{result.status.value}; stop reason {result.stop_reason.value}{said}"
    if result.status is Status.REFUSED:
        yield "refusal", result.refusal or "(no reason given)"
    levels = "; ".join(_counted(result, level) for level in Validity if level in result.levels)
    yield "validity", f"{result.validity.name}{f' ({levels})' if levels else ''}"
    if len(result.attempts) > 1:
        yield (
            "attempts",
            ", ".join(
                f"{attempt.validity.name} ({attempt.stop_reason.value})"
                for attempt in result.attempts
            ),
        )


def _counted(result: ExtractionResult[Any], level: Validity) -> str:
    count = result.levels[level]
    exempt = f", {count.exempt} exempt" if count.exempt else ""
    return f"{level.name.lower()} {count.checked - count.failed} of {count.checked}{exempt}"


def _show_evidence(console: Console, result: ExtractionResult[Any], text: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("  field", "value", "span", "in the source"):
        table.add_column(title, overflow="fold")
    for pointer, value in walk(result.document):
        span = result.evidence.get(pointer)
        table.add_row(
            Text(f"  {visible(pointer)}"),
            Text(_short(json.dumps(value, ensure_ascii=False))),
            Text(f"{span.start}:{span.end}" if span else "-"),
            Text(_found(span, text), style="" if span else "dim"),
        )
    console.print(table)


def _found(span: Span | None, text: str) -> str:
    if span is None:
        return ""
    notes: list[str] = [] if span.grade == "exact" else [span.grade]
    notes += ["ambiguous"] if span.ambiguous else []
    said = f" ({', '.join(notes)})" if notes else ""
    return f"{_short(text[span.start : span.end])}{said}"


def _short(text: str) -> str:
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"


def _show_source(console: Console, text: str, spans: Sequence[Span]) -> None:
    from rich.text import Text

    lines = text.count("\n") + 1
    if lines > _MOST_SOURCE_LINES:
        show_heading(console, f"source ({lines} lines, not shown)")
        return
    merged = _merged(spans)
    if console.is_terminal:
        show_heading(console, "source, found values marked")
        shown = Text(visible(text.rstrip("\n")))
        for start, end in merged:
            shown.stylize("bold green underline", start, end)
    else:
        show_heading(console, "source, found values between [[ and ]]")
        shown = Text(_bracketed(visible(text), merged).rstrip("\n"))
    console.print(shown, soft_wrap=True)


def _merged(spans: Sequence[Span]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _bracketed(text: str, merged: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    here = 0
    for start, end in merged:
        parts += [text[here:start], "[[", text[start:end], "]]"]
        here = end
    return "".join((*parts, text[here:]))


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    styles = {"error": "red", "warning": "yellow", "note": "dim"}
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(
            Text(f"  {finding.severity}", style=styles[finding.severity]),
            Text(finding.level.name.lower()),
            Text(visible(finding.path or "(whole answer)")),
            Text(visible(calls_as_options(finding.message))),
        )
    console.print(table)


def _asking(result: ExtractionResult[Any]) -> Iterator[tuple[str, str]]:
    made = result.provenance
    yield "model", f"{made.model or '(not said)'}, asked through the provider {made.provider!r}"
    # Numbers about the decoding are for programs; what is said in words is for people.
    said = {name: value for name, value in made.details.items() if isinstance(value, str)}
    yield from said.items()
    yield "strategy", f"{result.strategy.value}: {result.strategy_reason}"
    cached = result.usage.cached_input_tokens
    reused = f" ({cached:,} of them kept from before)" if cached else ""
    yield (
        "usage",
        f"{result.usage.input_tokens:,} tokens read{reused}, "
        f"{result.usage.output_tokens:,} written",
    )
