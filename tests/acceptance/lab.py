"""The lab at its full size, over real inputs, held to what it has to print.

    python -m tests.acceptance.lab [--write]

Runs `cookbook/lab.py --full`. `--write` puts what it printed into
docs/explanation/the-lab.md, between the markers.

Bounds: at least 150 reviews are reported on and others fit the threshold; rates and times have
intervals; enforcement is proved, and the proof fails where the schema is dropped; all enforced
answers parse, and more conform than of those asked; the curve and a threshold, or the reason why
there is none, are printed; the last paragraph quotes as many failures as there are, up to three;
four plots are images; it all ends within three minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.acceptance.pages import write
from tests.acceptance.shared_data import ROOT, Bounds, machine

PAGE: Final = ROOT / "docs" / "explanation" / "the-lab.md"
PART: Final = ("<!-- the lab -->", "<!-- end of the lab -->")
_MOST_S: Final = 180
_SHARE: Final = r"(\d+\.\d) % \((\d+\.\d) to (\d+\.\d)\)"
_DIFFERENCE: Final = r"[+\-]\d+\.\d pp \([+\-]\d+\.\d to [+\-]\d+\.\d\)"


def main() -> int:
    """Run the lab, check what it says, and return 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the output into the page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-W", "error", str(ROOT / "cookbook" / "lab.py"), "--full"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began
        plots = [path.read_bytes() for path in sorted(Path(folder).rglob("*.png"))]
    print(run.stdout)
    if run.returncode != 0:
        print(run.stderr, file=sys.stderr)
        return 1
    bounds = Bounds()
    _check(run.stdout, bounds)
    images = sum(plot.startswith(b"\x89PNG") and len(plot) > 5_000 for plot in plots)
    bounds.check(images == 4, "four plots", images)
    bounds.at_most("seconds", seconds, _MOST_S)
    if arguments.write:
        told = f"On {machine()}, {time.strftime('%Y-%m-%d')}, in {seconds:.0f} s:"
        marker = "<!-- not run: real reviews, written by tests.acceptance.lab -->"
        write(PART, f"{told}\n\n{marker}\n```text\n{run.stdout}```", PAGE)
    return bounds.exit_code()


def _check(output: str, bounds: Bounds) -> None:
    reported, fitted = map(int, re.findall(r"(\d+) (?:reviews are|others fit)", output))
    bounds.check(reported >= 150, "at least 150 real inputs are reported on", reported)
    bounds.check(fitted > 0, "the threshold has inputs of its own", fitted)
    bounds.check("the model: True" in output, "enforcement is proved", "True")
    bounds.check("schema dropped: False" in output, "the proof can fail", "False")
    rows = re.findall(rf"^([a-z ]+?) +{_SHARE} +{_SHARE} +{_DIFFERENCE}$", output, re.MULTILINE)
    shares = {row[0]: (float(row[1]), float(row[4])) for row in rows}
    wanted = {"parses", "conforms", "words are there", "tone is right"}
    bounds.check(set(shares) == wanted, "rates of both, with intervals and differences", len(rows))
    asked, enforced = shares["conforms"]
    bounds.check(shares["parses"][1] == enforced == 100, "enforced answers conform", enforced)
    bounds.check(asked < enforced, "fewer of those asked do", asked)
    times = re.findall(r"^seconds, (median|p95) .*\(.* to .*\).*\(.* to .*\).*$", output, re.M)
    bounds.check(times == ["median", "p95"], "latency with intervals", ", ".join(times))
    kept = re.search(r"^right   ((?: +\d+\.\d %){5})$", output, re.MULTILINE)
    bounds.check(kept is not None, "accuracy against coverage", kept and kept[1].strip())
    thresholds = re.findall(r"^threshold: (.+)$", output, re.MULTILINE)
    bounds.check(bool(thresholds), "a threshold, or why there is none", "; ".join(thresholds))
    _check_paragraph(output, bounds, reported)


def _check_paragraph(output: str, bounds: Bounds, reported: int) -> None:
    paragraph = " ".join(output.partition("What the guarantee did not cover\n")[2].split())
    told = re.match(r"(\d+) of (\d+) enforced answers conform, and (\d+) of these", paragraph)
    wrong = int(told[3]) if told else -1
    bounds.check(told is not None and int(told[2]) == reported, "a paragraph about all", wrong)
    quotes = len(re.findall(r"Of “.+?” the answer says \w+", paragraph))
    bounds.check(quotes == min(3, wrong), "it quotes its own failures", quotes)


if __name__ == "__main__":
    sys.exit(main())
