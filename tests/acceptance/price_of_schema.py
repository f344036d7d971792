"""What a small schema costs the embedded model, field by field, over rated reviews.

    python -m tests.acceptance.price_of_schema [--inputs 40] [--journal FILE]

The target, the examples and the reviews of `seven_configurations`, constrained and greedy: each
field is left out, or may hold any JSON value, and the same inputs are asked again. Differences are
"without" less "whole", with 95 % intervals over inputs. Bounds: every variant is asked about every
input, the whole schema gives a value wherever it ends, and every field has a removed mass.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from extractkit.evaluation import Interval, schema_cost
from extractkit.messages import Sampling
from extractkit.providers.local import Local

from .seven_configurations import ASKED, RULES, Review, dataset
from .shared_data import Bounds, machine


def main() -> int:
    """Ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--inputs", type=int, default=40)
    parser.add_argument("--journal", type=Path, help="keep the answers there")
    arguments = parser.parse_args()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    asked = 0

    def count(_: object) -> None:
        nonlocal asked
        asked += 1

    began = time.process_time()
    found = schema_cost(
        Review,
        dataset(arguments.inputs),
        model=Local(),
        options={**ASKED, "sampling": Sampling(temperature=0.0, max_output_tokens=64)},
        rules=RULES,
        journal=arguments.journal,
        progress=count,
    )
    print(f"{asked} answers, {(time.process_time() - began) / 60:.1f} minutes of CPU time\n")
    bounds = Bounds()
    for cost in found.costs:
        print(f"{cost.field} without its {cost.removed}".replace("its field", "being asked for"))
        others = {f"  {name} right": each for name, each in cost.others.items()}
        for name, each in {
            **others,
            "  itself right": cost.own,
            "  inputs with a value": cost.ok,
            "  log-probability of the others": cost.log_probability,
            "  output tokens": cost.output_tokens,
            "  removed mass, whole schema": cost.removed_mass,
        }.items():
            print(f"{name}: {_shown(each)}")
        bounds.check(
            cost.removed_mass is not None,
            f"{cost.field}: a removed mass",
            _shown(cost.removed_mass),
        )
    print()
    total = arguments.inputs * (1 + len(found.costs))
    bounds.check(asked == total, "each input and variant is asked about once", asked)
    ended = [
        each for each in found.whole.answers["whole"] if each.observation.status != "truncated"
    ]
    given = sum(each.measures.ok for each in ended)
    bounds.check(given == len(ended), "whole: a value wherever it ends", f"{given} of {len(ended)}")
    return bounds.exit_code()


def _shown(found: Interval | None) -> str:
    if found is None or found.estimate is None:
        return "-"
    low, high = ("?" if end is None else f"{end:.3f}" for end in (found.low, found.high))
    return f"{found.estimate:.3f} [{low}, {high}]"


if __name__ == "__main__":
    sys.exit(main())
