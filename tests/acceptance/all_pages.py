"""All generated parts of the reference, made anew by one command.

    python -m tests.acceptance.all_pages

Every module here whose name ends in `_page` has one page, `PAGE`, and `fresh`, which gives it with
its generated parts made anew. What takes data or a model (`published`, `grounding`, the figures
that were measured) is not among them: those pages name their commands.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.acceptance.shared_data import ROOT

__all__ = ["page_modules"]


def page_modules() -> list[ModuleType]:
    """Return the modules that write a page, in order of their names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*_page.py"))
    return [import_module(f"tests.acceptance.{name}") for name in names]


def main() -> None:
    """Write each page anew, and say which changed."""
    for module in page_modules():
        path: Path = module.PAGE
        before = path.read_text("utf-8")
        after: str = module.fresh(before)
        path.write_text(after, encoding="utf-8")
        print(f"{'same' if after == before else 'changed':8}{path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
