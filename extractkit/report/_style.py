"""The style sheet of reports: light and dark, for screen, keyboard and print."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root {
  --paper: #ffffff; --ink: #1b1f24; --soft: #5b6470; --line: #d8dde3; --box: #f5f7f9;
  --exact: #c9efd4; --normalised: #cfe3fb; --fuzzy: #fde7b5;
  --good: #1a6b36; --fair: #8a5a00; --bad: #b3261e; --tip: #1b1f24; --tip-ink: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e5e9ee; --soft: #9aa5b1; --line: #333a43; --box: #1c2127;
    --exact: #1d4a2c; --normalised: #1c3f66; --fuzzy: #574312;
    --good: #7bd79a; --fair: #f0c060; --bad: #ff8a80; --tip: #e5e9ee; --tip-ink: #14171b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem clamp(1rem, 3vw, 2.5rem); max-width: 96rem;
  background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  /* Inherited by all: names and values may be of any length, without a blank. */
  overflow-wrap: anywhere;
}
h1 { font-size: 1.5rem; margin: 0 0 .75rem; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
pre, .path { font-family: ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.badge {
  display: inline-block; padding: 0 .5em; border-radius: .75em; border: 1px solid currentColor;
  font-size: .8125rem; white-space: nowrap;
}
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); }
.soft { color: var(--soft); }
main { display: grid; gap: 2rem; margin: 1.5rem 0; align-items: start; }
@media (min-width: 64rem) {
  main { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
  .source { position: sticky; top: 1rem; }
  /* Room below the last line, where the tip of a mark in it opens. */
  .source pre { max-height: calc(100vh - 7rem); overflow-y: auto; padding-bottom: 6rem; }
}
.source pre {
  position: relative; margin: 0; padding: 1rem; background: var(--box); color: inherit;
  border: 1px solid var(--line); border-radius: .5rem; font-size: .875rem; line-height: 1.7;
  white-space: pre-wrap; unicode-bidi: plaintext; tab-size: 8;
}
.mark {
  color: inherit; text-decoration: none; border-radius: .2em; padding: .1em 0;
}
[id] { scroll-margin: 6rem; }
.exact { background: var(--exact); }
.normalised { background: var(--normalised); }
.fuzzy { background: var(--fuzzy); }
.several { box-shadow: inset 0 -2px 0 var(--soft); }
.doubtful { text-decoration: underline wavy var(--fair) 1px; text-underline-offset: .2em; }
.wrong { text-decoration: underline wavy var(--bad) 1px; text-underline-offset: .2em; }
.mark:hover, .mark:focus-visible, .mark:has(:target) { outline: 2px solid currentColor; }
.mark:hover::after, .mark:focus-visible::after {
  content: attr(data-tip); box-sizing: border-box; position: absolute; left: 1rem; z-index: 1;
  margin-top: 1.75em;
  width: max-content; max-width: calc(100% - 2rem); padding: .5rem .75rem; border-radius: .4rem;
  background: var(--tip); color: var(--tip-ink); white-space: pre-wrap; pointer-events: none;
  font: .8125rem/1.5 system-ui, sans-serif; text-align: left;
}
.legend {
  display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; list-style: none; margin: .5rem 0 0;
  padding: 0; font-size: .8125rem; color: var(--soft);
}
.legend span { color: var(--ink); border-radius: .2em; padding: .1em .3em; }
.value {
  padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .5rem;
  font-size: .875rem;
}
.value + .value { margin-top: .4rem; }
.value:target { outline: 2px solid currentColor; }
.value > div { display: flex; flex-wrap: wrap; gap: .15rem .6rem; align-items: baseline; }
.value .path { font-size: .8125rem; color: var(--soft); }
.value .data { font-weight: 600; white-space: pre-wrap; }
.value a { color: inherit; }
.list, .findings { list-style: none; margin: 0; padding: 0; }
.findings { font-size: .875rem; margin-top: .25rem; }
.general { margin-top: 1.5rem; }
.answer { white-space: pre-wrap; font-size: .875rem; margin: 0; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; font-size: .875rem; }
@media print {
  .source, .source pre { position: static; max-height: none; padding-bottom: 1rem; }
  .exact, .normalised, .fuzzy { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
