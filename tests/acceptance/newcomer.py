"""The tutorial, followed word for word by somebody who has a checkout and nothing else.

    python -m tests.acceptance.newcomer

In a new home the tutorial's own commands build the wheel, make an environment, install the wheel
and get the weights; then, in that environment and folder, its files are written and its code and
commands are run. Exits with 1 where anything is printed that the page does not show. It needs the
package index, and compares answers of the embedded model on Linux x86-64 only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "tutorial" / "first-extraction.md"


def main() -> int:
    """Follow the page and return the exit code."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        installed = _install(Path(home))
        between = time.perf_counter()
        python = installed / ".venv" / "bin" / "python"
        code = _run([str(python), __file__, str(installed)], Path(home), installed)
    print(
        f"installed in {between - began:.0f} s, followed in {time.perf_counter() - between:.0f} s"
    )
    return code


def _install(home: Path) -> Path:
    """Run the page's commands to install; return the folder in which they end."""
    from tests.docs.fences import fences

    commands = [fence.body for fence in fences(_PAGE) if fence.marker == "install"]
    script = "".join(["set -euo pipefail\n", *commands, 'pwd -P > "$HOME/folder"\n'])
    if _run(["bash", "-c", script], home, _ROOT):
        sys.exit("the tutorial's commands to install failed")
    return Path((home / "folder").read_text(encoding="utf-8").strip())


def _run(command: list[str], home: Path, folder: Path) -> int:
    # The downloads of pip may be kept from one run to the next; nothing else comes along.
    cache = os.environ.get("PIP_CACHE_DIR", str(Path("~/.cache/pip").expanduser()))
    left = {"PYTHONPATH", "VIRTUAL_ENV", "EXTRACTKIT_CACHE", "EXTRACTKIT_MODEL", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in left}
    environment = {**kept, "HOME": str(home), "PIP_CACHE_DIR": cache, "PIP_QUIET": "1"}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def _follow(folder: Path) -> int:
    """Follow the page with the package that is installed, not with that of the checkout."""
    import extractkit

    if not Path(extractkit.__file__).is_relative_to(folder / ".venv"):
        sys.exit(f"extractkit came from {extractkit.__file__}, not from the wheel")
    sys.path.append(str(_ROOT))
    from tests.docs.following import LIKE_THE_PAGES, follow

    faults = follow(_PAGE, folder, compared=LIKE_THE_PAGES)
    print(faults or f"{_PAGE.relative_to(_ROOT)}: all as it stands there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(_follow(Path(sys.argv[1]).resolve()) if sys.argv[1:] else main())
