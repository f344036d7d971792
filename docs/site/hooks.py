"""What the site has besides the pages of docs/: the cookbook, and a page per room of the API."""

from __future__ import annotations

import importlib
import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbformat
from mkdocs.structure.files import File

import extractkit

sys.path.insert(0, str(Path(__file__).parent))
from recipes import COOKBOOK, Recipe, notebook, page, recipes

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

API: Final = "reference/api.md"
_ROOM: Final = re.compile(r"^\| `(extractkit[\w.]*)`", re.MULTILINE)
_CODE_IN_TABLE: Final = re.compile(r"(?<=`)[^`\n]*(?=`)")
_TO_RECIPE: Final = re.compile(r"\]\((?:\.\./)+cookbook/(\w+)\.py\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the recipes and the rooms where the navigation leaves room for them."""
    rooms = [{room: f"reference/api/{room}.md"} for room in _rooms(config)]
    found = [{one.short_title: f"cookbook/{one.name}.md"} for one in recipes()]
    _fill(config.nav, "Cookbook", ["cookbook/index.md", *found])
    _fill(config.nav, "API", [{"Rooms": API}, *rooms])
    return config


def _fill(entries: Any, name: str, pages: list[Any]) -> None:
    for entry in entries:
        for title, inner in entry.items() if isinstance(entry, dict) else ():
            if title == name:
                entry[title] = pages
            elif isinstance(inner, list):
                _fill(inner, name, pages)


def _rooms(config: MkDocsConfig) -> list[str]:
    return _ROOM.findall((Path(config.docs_dir) / API).read_text(encoding="utf-8"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made while the site is built."""
    made = {f"reference/api/{room}.md": _room(room) for room in _rooms(config)}
    known = recipes()
    made["cookbook/index.md"] = _overview(known)
    for recipe in known:
        made[f"cookbook/{recipe.name}.md"] = page(recipe)
        made[f"cookbook/{recipe.path.name}"] = recipe.path.read_text(encoding="utf-8")
        made[f"cookbook/{recipe.name}.ipynb"] = nbformat.writes(notebook(recipe))
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def _overview(known: list[Recipe]) -> str:
    rows = [f"| [{one.short_title}]({one.name}.md) | {one.title} |" for one in known]
    return (
        "# Cookbook\n\n"
        "Each recipe is one script that runs without a key. What it prints stands on its page, "
        "and is compared\nwith every change. All of them as notebooks, with their inputs:\n\n"
        "```sh\npython -m docs.site.recipes notebooks\n```\n\n"
        "| recipe | what it does |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    )


def _room(room: str) -> str:
    module = importlib.import_module(room)
    front = set(extractkit.__all__) if room != "extractkit" else set()
    names = sorted(module.__all__, key=lambda name: (name.lower(), name))
    elsewhere = [name for name in names if name in front and _is_same(module, name)]
    said = (module.__doc__ or "").strip().partition("\n")[0]
    parts = [f"# {room}", said]
    if elsewhere:
        links = [f"[`{name}`][extractkit.{name}]" for name in elsewhere]
        parts.append(
            f"Also here, and described with [extractkit](extractkit.md): {', '.join(links)}."
        )
    parts += [f"::: {room}.{name}" for name in names if name not in elsewhere]
    return "\n\n".join(parts) + "\n"


def _is_same(module: Any, name: str) -> bool:
    return getattr(module, name) is getattr(extractkit, name)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to scripts of the cookbook, and the rooms of the API, to their pages."""
    here = posixpath.dirname(page.file.src_uri)

    def recipe(match: re.Match[str]) -> str:
        return f"]({posixpath.relpath(f'cookbook/{match[1]}.md', here or '.')})"

    if page.file.src_uri == API:
        markdown = _ROOM.sub(r"| [`\1`](api/\1.md)", markdown)
    lines = [_row(line) if line.startswith("|") else line for line in markdown.split("\n")]
    return _TO_RECIPE.sub(recipe, "\n".join(lines))


def _row(line: str) -> str:
    # In a table GitHub wants a bar in code escaped, and Python-Markdown shows the backslash.
    return _CODE_IN_TABLE.sub(lambda code: code[0].replace("\\|", "|"), line)


def on_serve(server: Any, **_: Any) -> Any:
    """Build anew when a recipe changes."""
    server.watch(str(COOKBOOK))
    return server
