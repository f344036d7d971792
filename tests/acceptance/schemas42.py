"""42 schemas with valid and invalid instances: what the mask takes, and what checks catch.

    python -m tests.acceptance.schemas42

For each schema and instance: the grammar accepts every valid instance; every invalid one is
rejected by the grammar, or stands under a keyword that `unenforced` lists and is caught after
decoding. The table is a file of (schema, valid, invalid) beside the data folder.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

from extractkit import Validity, checks, compile_schema
from extractkit.errors import ProviderError, SchemaError
from extractkit.messages import Constraint
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._load import open_engine
from extractkit.schema.grammar import write_grammar

from .shared_data import Bounds, data_folder, machine

Tokenize: TypeAlias = Callable[[str], list[int]]


def main() -> int:
    """Run the table and return the exit code."""
    module = _load_table()
    # These rows are the schemas of models, whose types say more than their JSON Schema does.
    models = {
        "a_flat5": module.Flat,
        "b_invoice": module.Invoice,
        "26_pydantic_Decimal": module.Dec,
    }
    table = module.S
    engine = open_engine(None).engine
    compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
    bounds = Bounds()
    print(f"{len(table)} schemas; {machine()}; {time.strftime('%Y-%m-%d')}")
    print(f"{'schema':22} {'valid':>9} {'masked':>8} {'caught':>8} {'compile':>9}  unenforced")
    missed: list[str] = []
    times: list[float] = []
    for name, (schema, valid, invalid) in table.items():
        row = _row(engine.tokenize, compiler, models.get(name, schema), valid, invalid)
        times.append(row["ms"])
        missed += [f"{name}: {problem}" for problem in row["missed"]]
        print(
            f"{name:22} {row['accepted']:>4}/{len(valid):<4} {row['masked']:>4}/{len(invalid):<3} "
            f"{row['caught']:>4}/{len(invalid) - row['masked']:<3} {row['ms']:>6.1f} ms  "
            f"{row['unenforced'] or ''}"
        )
    for problem in missed:
        print(f"  missed: {problem}")
    bounds.check(len(table) >= 42, "the table is whole", len(table))
    bounds.check(not missed, "accepted, rejected or listed and caught, everywhere", len(missed))
    print(
        f"grammar compile: median {statistics.median(times):.1f} ms of CPU, "
        f"highest {max(times):.1f} ms"
    )
    return bounds.exit_code()


def _load_table() -> ModuleType:
    path = data_folder().parent / "prototypes" / "schemas.py"
    spec = importlib.util.spec_from_file_location("schemas_table", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"no table at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _row(
    tokenize: Tokenize,
    compiler: GrammarCompiler,
    target: Any,
    valid: list[Any],
    invalid: list[Any],
) -> dict[str, Any]:
    compiled = compile_schema(target, "llguidance")
    bounded = compiled.bounded()
    began = time.process_time()
    grammar = write_grammar(bounded, compiled.table).text
    constraint = Constraint(kind="grammar", schema=bounded.schema, grammar=grammar)
    compiler.mask(constraint)
    ms = (time.process_time() - began) * 1000
    missed: list[str] = []
    accepted = masked = caught = 0
    for instance in valid:
        if _accepts(tokenize, compiler, constraint, compiled.lower(instance)):
            accepted += 1
        else:
            missed.append(f"the mask rejects the valid {json.dumps(instance)[:60]}")
    for instance in invalid:
        try:
            wire = compiled.lower(instance)
        except SchemaError:
            wire = instance
        if not _accepts(tokenize, compiler, constraint, wire):
            masked += 1
            continue
        outcome = checks.run(compiled, compiled.lift(wire), text="-")
        if compiled.unenforced and outcome.validity < Validity.SCHEMA:
            caught += 1
        else:
            missed.append(f"nothing stops the invalid {json.dumps(instance)[:60]}")
    unenforced = ", ".join(
        f"{item.keyword} {item.pointer or '(root)'}" for item in compiled.unenforced
    )
    return {
        "accepted": accepted,
        "masked": masked,
        "caught": caught,
        "ms": ms,
        "unenforced": unenforced,
        "missed": missed,
    }


def _accepts(
    tokenize: Tokenize, compiler: GrammarCompiler, constraint: Constraint, instance: Any
) -> bool:
    """Whether the mask lets the whole instance through and may end there."""
    tokens = tokenize(json.dumps(instance, ensure_ascii=False))
    mask = compiler.mask(constraint)
    try:
        for token in tokens:
            mask.accept(token)
    except ProviderError:
        return False
    return mask.complete


if __name__ == "__main__":
    sys.exit(main())
