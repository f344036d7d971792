"""What `eval` asks about: the data set, the configurations, and how they are written down.

Neighbours: `_arguments` has the options that all commands share, `_eval` asks, `_journals` reads
the same again from a journal.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from extractkit.cli import _arguments, _targets
from extractkit.errors import UsageError
from extractkit.paths import JsonObject

if TYPE_CHECKING:
    from extractkit.evaluation import Configuration, Dataset

__all__ = [
    "add_data_arguments",
    "add_sampling_arguments",
    "configurations",
    "data_details",
    "load_dataset",
    "load_rules",
    "read_files",
]

_KEYS: Final = (
    "model",
    "strategy",
    "instructions",
    "require",
    "retries",
    "resend",
    "max-output-tokens",
    "temperature",
    "timeout",
    "seed",
    "samples",
)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says which column of the data is what."""
    group = parser.add_argument_group("columns of the data")
    group.add_argument("--text", metavar="COLUMN", default="text", help="the input (default: text)")
    group.add_argument(
        "--id",
        metavar="COLUMN",
        default="id",
        help="what an input is called (default: id); '' numbers the rows",
    )
    group.add_argument(
        "--label",
        metavar="COLUMN",
        help="the whole right answer as a JSON object (default: label, where there is one; of CSV "
        "none)",
    )
    group.add_argument(
        "--field",
        metavar="NAME[=COLUMN]",
        action="append",
        default=[],
        help="the right value of one field, in a column of its own; only fields that are named "
        "are judged",
    )
    group.add_argument(
        "--rules",
        metavar="NAME",
        help="how fields are compared: a dict from fields to comparators, as module:Name",
    )
    group.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out rows that cannot be used; they are counted, and a report lists them",
    )
    group.add_argument("--limit", type=int, metavar="N", help="take the first N inputs only")


def data_details(arguments: argparse.Namespace, target: str | None, data: str) -> JsonObject:
    """Return, as plain JSON, what `load_dataset` and `load_rules` need, and the target.

    Raises:
        UsageError: If labels are given in two ways.
    """
    if arguments.label is not None and arguments.field:
        raise UsageError("--label names a whole answer, --field a part; give one kind of them")
    named = [field.partition("=") for field in arguments.field]
    fields = {name: column or name for name, _, column in named}
    return {
        "target": target,
        "schema": arguments.schema,
        "data": data,
        "text": arguments.text,
        "id": arguments.id or None,
        "label": fields or arguments.label,
        "rules": arguments.rules,
        "skip_bad": arguments.skip_bad,
        "limit": arguments.limit,
    }


def read_files(details: Mapping[str, Any]) -> list[str | None]:
    """Return the files that a run reads, as far as they were named."""
    target = _targets.file_of(details["target"], details["schema"])
    return [details["data"], target, _targets.file_of(details["rules"], None)]


def load_rules(details: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return how fields are compared, where the caller says so.

    Raises:
        UsageError: If it cannot be loaded, or is no mapping.
    """
    if details["rules"] is None:
        return None
    found: Any = _targets.load_target(details["rules"])
    if not isinstance(found, Mapping):
        raise UsageError(
            f"--rules {details['rules']}: found a {type(found).__name__}, expected a dict such as "
            '{"/total": Number(absolute=0.01)}'
        )
    return found  # pyright: ignore[reportUnknownVariableType]  # a user's own


def load_dataset(details: Mapping[str, Any], target: Any) -> Dataset:
    """Return the inputs of a run, their labels held to the target.

    Args:
        details: As of `data_details`.
        target: What is extracted.

    Raises:
        UsageError: If the file cannot be read, or a row or a label cannot be used.
        MissingDependencyError: If it is a Parquet file and pyarrow is not installed.
    """
    from extractkit.evaluation import Dataset

    path, limit = Path(details["data"]), details["limit"]
    readers = {
        ".jsonl": Dataset.from_jsonl,
        ".ndjson": Dataset.from_jsonl,
        ".csv": Dataset.from_csv,
        ".parquet": Dataset.from_parquet,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        raise UsageError(
            f"{details['data']!r}: expected a file of data that ends in {', '.join(readers)}"
        )
    label = details["label"]
    columns: dict[str, Any] = {} if label is None else {"label": label}
    skip_bad = details["skip_bad"]
    dataset = read(path, text=details["text"], id=details["id"], skip_bad=skip_bad, **columns)
    if limit is not None:
        if limit < 1:
            raise UsageError(f"--limit {limit}: expected at least 1")
        dataset = Dataset(dataset[:limit], fields=dataset.fields, bad=dataset.bad)
    return dataset.checked(target, skip_bad=skip_bad)


# --- configurations ------------------------------------------------------------------------------


def configurations(arguments: argparse.Namespace) -> list[Configuration]:
    """Return the ways to ask: one of the options alone, or those that --config names.

    Raises:
        UsageError: If a key is none, or a value cannot be used.
    """
    named: dict[str, dict[str, str]] = {}
    for given in arguments.config:
        name, settings = _parted(given)
        if name in named:
            raise UsageError(f"--config {given!r}: {name!r} is named above; give each its own name")
        named[name] = settings
    embedded: list[Any] = []
    if not named:
        return [_configuration("default", arguments, embedded)]
    return [
        _configuration(name, _with_settings(arguments, name, settings), embedded)
        for name, settings in named.items()
    ]


_NEXT_KEY: Final = re.compile(rf",(?=(?:{'|'.join(_KEYS).replace('-', '[-_]')})=)")


def _parted(given: str) -> tuple[str, dict[str, str]]:
    """Return the name and the settings of `name:key=value,key=value`."""
    name, _, rest = given.partition(":")
    settings: dict[str, str] = {}
    for part in _NEXT_KEY.split(rest) if rest else ():
        key, equals, value = part.partition("=")
        key = key.strip().replace("_", "-")
        if key not in _KEYS or not equals:
            raise UsageError(
                f"--config {given!r}: found {part!r:.60}, expected key=value with a key of "
                f"{', '.join(_KEYS)}"
            )
        settings[key] = value
    if not name:
        raise UsageError(f"--config {given!r}: expected a name first, such as greedy:temperature=0")
    return name, settings


def _with_settings(
    arguments: argparse.Namespace, name: str, settings: Mapping[str, str]
) -> argparse.Namespace:
    """Return the options of the call with those of one configuration in their place."""
    parser = _arguments.Parser(prog="extractkit eval", usage="", summary="", example="")
    _arguments.add_model_arguments(parser, timeout_s=120)
    add_sampling_arguments(parser)
    try:
        return parser.parse_args(
            [f"--{key}={value}" for key, value in settings.items()],
            argparse.Namespace(**vars(arguments)),
        )
    except UsageError as exc:
        raise UsageError(f"--config {name}: {exc.message}") from exc


def add_sampling_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how often is asked, and where draws begin."""
    parser.add_argument(
        "--samples", type=int, default=1, metavar="N", help="answers to each input (default: 1)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="start of the random generator")
    parser.add_argument(
        "--stream",
        action="store_true",
        help="read answers as they come, which tells the time to the first token",
    )
    parser.add_argument(
        "--prices",
        action="store_true",
        help="count what answers cost, by the list prices of the package genai-prices",
    )


def _configuration(name: str, arguments: argparse.Namespace, embedded: list[Any]) -> Configuration:
    from extractkit.evaluation import Configuration
    from extractkit.providers import Local

    options: dict[str, Any] = {**_arguments.extractor_options(arguments, seed=arguments.seed)}
    if not (arguments.model or os.environ.get("EXTRACTKIT_MODEL")):
        # Named outright: the library's own warning that nobody did speaks to programmers.
        embedded += [] if embedded else [Local()]
        options["model"] = embedded[0]
    else:
        options["model"] = arguments.model
    if arguments.prices:
        from extractkit.providers import prices

        options["price"] = prices.genai_prices
    return Configuration(
        name=name, samples=arguments.samples, options=options, stream=arguments.stream
    )
