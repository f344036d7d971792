"""`extractkit extract`: one text, one target, one result.

Neighbours: `_arguments` and `_targets` read what is given, `api` extracts, `_render` shows,
`report` makes the page.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from extractkit.cli import _arguments, _goals, _output, _targets
from extractkit.cli._lines import say
from extractkit.results import Grounding

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit extract my.models:Invoice invoice.txt
pdftotext invoice.pdf - | extractkit extract my.models:Invoice - --json
extractkit extract --schema invoice.schema.json invoice.txt
extractkit extract my.models:Invoice invoice.txt --html invoice.html"""

_EMBEDDED = (
    "answered by the embedded SmolLM2-135M-Instruct, a small demonstration model; choose another "
    "with --model"
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _targets.add_target_and_arguments(
        parser, "SOURCE", "a text file in UTF-8, or - for standard input"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--raw", action="store_true", help="with --json: keep the answer's tokens, too"
    )
    parser.add_argument(
        "--no-source", action="store_true", help="do not print the text with the found values"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="also write a page that shows the text with the found values marked",
    )
    finding = parser.add_argument_group("how values are looked for in the text")
    finding.add_argument(
        "--locale",
        metavar="LANGUAGE",
        help="of numbers and dates, such as de or en-US (default: the common forms are tried)",
    )
    finding.add_argument(
        "--reference-date",
        metavar="DATE",
        help="the day that words such as 'tomorrow' count from, such as 2026-03-06",
    )
    finding.add_argument(
        "--no-enforce",
        action="store_true",
        help="do not hold marked fields to the text while a local model writes; look them up "
        "afterwards only",
    )
    _arguments.add_model_arguments(parser, timeout_s=120)
    parser.add_argument("--seed", type=int, metavar="N", help="start of the random generator")
    _arguments.add_cache_argument(parser)


def _run(arguments: argparse.Namespace) -> int:
    name, source = _targets.target_and(arguments, "extract", "SOURCE")
    target = _targets.load(name, arguments.schema)
    text = _arguments.read_text(source)
    if arguments.html is not None:
        _goals.require_writable(
            "--html", arguments.html, [source, _targets.file_of(name, arguments.schema)]
        )
    embedded = not (arguments.model or os.environ.get("EXTRACTKIT_MODEL"))
    from extractkit.api import Extractor
    from extractkit.providers import Local

    options = _arguments.extractor_options(arguments, seed=arguments.seed)
    grounding = Grounding(
        locale=arguments.locale,
        reference_date=arguments.reference_date,
        enforce=not arguments.no_enforce,
    )
    # Named outright: the library's own warning that nobody did speaks to programmers.
    model = Local() if embedded else arguments.model
    began, cpu_began = time.perf_counter(), time.process_time()
    with (
        _output.waiting(f"reading {source}"),
        Extractor(
            target, model=model, grounding=grounding, cache=arguments.cache, **options
        ) as extractor,
    ):
        result = extractor.extract(text)
    if embedded:
        say(_EMBEDDED)
    times = _output.Times(wall_s=time.perf_counter() - began, cpu_s=time.process_time() - cpu_began)
    if arguments.json:
        _output.print_json(_output.record(result, raw=arguments.raw))
    else:
        from extractkit.cli import _render

        _render.show_result(
            _output.console(),
            result,
            text,
            facts=_render.time_facts(times, result),
            source=not arguments.no_source,
        )
    if arguments.html is not None:
        from extractkit.report import to_html

        title = f"{Path(source).name}: {result.provenance.model}" if source != "-" else "Extraction"
        _goals.write("--html", arguments.html, to_html(result, text, title=title))
    return 0 if result.ok else 1


COMMAND = _arguments.Command(
    name="extract",
    summary="Extract a typed value from a text file.",
    usage="extractkit extract TARGET SOURCE [options]\n"
    "       extractkit extract --schema FILE SOURCE [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
