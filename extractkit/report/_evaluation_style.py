"""What the style sheet of an evaluation has beyond that of a result."""

from __future__ import annotations

from typing import Final

__all__ = ["EVALUATION_STYLE"]

EVALUATION_STYLE: Final = """
.evaluation { display: block; }
.evaluation > section { margin: 0 0 2.5rem; }
.evaluation h2 { font-size: 1.2rem; }
h3 { font-size: 1rem; margin: 1rem 0 .4rem; }
h4 { font-size: .9rem; margin: 1rem 0 .3rem; }
p { margin: 0 0 .75rem; max-width: 60rem; }
p.soft { font-size: .875rem; }
.note { border-left: 3px solid var(--fair); padding-left: .6rem; font-size: .875rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; }
th { font-weight: 600; }
th, td, th bdi { overflow-wrap: break-word; }
th, td { max-width: 22rem; }
.table + .table { margin-top: 1rem; }
thead th { color: var(--soft); border-bottom: 2px solid var(--line); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.panels {
  display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr));
}
.panels + p.soft { margin-top: 1rem; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figcaption { font-size: .8125rem; margin-bottom: .35rem; }
svg { display: block; width: 100%; max-width: 26rem; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: .7; }
.axis { stroke: var(--soft); stroke-width: 1; }
polyline { fill: none; }
.line { stroke: var(--ink); stroke-width: 2; }
.behind { stroke: var(--line); stroke-width: 1.5; }
.dashed { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 5 4; }
.dotted { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 1.5 3; }
.whisker { stroke: var(--ink); stroke-width: 1.5; }
.dot { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
.empty { fill: none; stroke: var(--line); }
.bar { fill: var(--soft); fill-opacity: .45; }
details { margin: 0 0 .5rem; }
summary { cursor: pointer; padding: .25rem 0; }
.failure { border: 1px solid var(--line); border-radius: .5rem; padding: .1rem .75rem; }
.failure[open] { padding-bottom: .75rem; }
.failure .list {
  display: grid; gap: .4rem; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr));
}
.failure .value + .value { margin-top: 0; }
.failure .source { position: static; margin: .6rem 0; }
.failure .source pre { max-height: none; overflow: visible; padding-bottom: 1rem; }
/* Room below the last line, where the tip of a mark in it opens. */
.failure .long pre { max-height: 28rem; overflow-y: auto; padding-bottom: 5rem; }
.failure .path { font-size: .8125rem; }
.failure .answer { background: var(--box); padding: .5rem; border-radius: .3rem; }
@media (max-width: 48rem) {
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tbody tr + tr > * { border-top: 0; }
  tbody tr { border-top: 1px solid var(--line); padding: .4rem 0; }
  tbody th, td { padding: .1rem 0; max-width: none; }
  td { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: .75rem; }
  td::before { content: attr(data-label); color: var(--soft); }
  .facts { grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); }
}
@media print {
  .table { overflow: visible; }
  .failure .long pre { max-height: none; padding-bottom: 1rem; overflow: visible; }
  .bar, .empty { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
