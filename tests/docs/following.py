"""Follows a page as a reader would: writes its files, runs its commands and its code.

Used by the tests, and by `tests.acceptance.newcomer` inside an environment that has only the wheel.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.docs.fences import Fence, fences
from tests.docs.masks import differences

LIKE_THE_PAGES = (sys.platform, platform.machine()) == ("linux", "x86_64")
"""Whether the embedded model says here what it says in the pages, which were made on such."""

_SECONDS = 120


def follow(page: Path, folder: Path, *, compared: bool = True) -> str:
    """Run the page's fences in `folder`; return where they print what the page does not show."""
    printed, faults = "", list[str]()
    with _page_module(folder) as module, contextlib.chdir(folder):
        for fence in fences(page):
            if fence.kind == "output":
                difference = differences(fence.body, printed) if compared else ""
                faults += [f"{fence.place}\n{difference}"] if difference else []
            elif fence.kind == "file":
                target = folder / fence.argument
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(fence.body, encoding="utf-8")
                _forget(folder)  # what was imported from there is read anew
            elif fence.kind in {"help", "install", "not run"}:
                _look_at(fence, module)
            elif fence.kind == "answered":
                from tests.docs.stand_in import answering

                with answering(fence.argument):
                    printed = _run(fence, module)
            else:
                printed = _run(fence, module)
    return "\n".join(faults)


@contextlib.contextmanager
def _page_module(folder: Path) -> Iterator[ModuleType]:
    """Give a module for the code, which can import the files of the folder, and nobody after it."""
    # Pydantic looks annotations up in the module that a class says it is from.
    module = ModuleType("page_of_the_docs")
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(folder))
    try:
        yield module
    finally:
        sys.path.remove(str(folder))
        _forget(folder)
        del sys.modules[module.__name__]


def _forget(folder: Path) -> None:
    """Forget what was imported from the folder, but not from an environment that lies in it."""
    for name, module in list(sys.modules.items()):
        path = Path(module.__dict__.get("__file__") or "/")
        if path.is_relative_to(folder) and not path.is_relative_to(folder / ".venv"):
            del sys.modules[name]


def _look_at(fence: Fence, module: ModuleType) -> None:
    """Run the imports of Python that is not run, so that no name is shown that is not there."""
    if fence.language == "python":
        code = ast.parse(fence.body)
        code.body = [line for line in code.body if isinstance(line, ast.Import | ast.ImportFrom)]
        exec(compile(code, fence.place, "exec"), module.__dict__)  # noqa: S102


def _run(fence: Fence, module: ModuleType) -> str:
    if fence.language == "sh":
        return _run_shell(fence)
    if fence.language != "python":
        raise AssertionError(f"{fence.place}: nothing looks at this fence; give it a marker")
    # Blank lines put the code where the page has it, so that a traceback points there.
    code = compile("\n" * fence.line + fence.body, str(fence.page), "exec")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no model was named")
        exec(code, module.__dict__)  # noqa: S102
    return output.getvalue()


def _run_shell(fence: Fence) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", fence.body],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
    )
    expected = int(fence.argument) if fence.kind == "exit" else 0
    assert run.returncode == expected, f"{fence.place}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout
