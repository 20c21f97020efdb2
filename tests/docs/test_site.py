"""The site's configuration fits the tree: every page has a place, the API page has every name, pictures are drawn."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import lance_arrow

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_has_a_place() -> None:
    navigation = (DOCS / "site" / "mkdocs.yml").read_text().partition("\nnav:")[2]
    placed = set(re.findall(r"^ *- (?:[^:\n]+: )?([\w/]+\.md)$", navigation, re.MULTILINE))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert placed == {one for one in pages if not one.startswith(("decisions/", "changes/"))}


def test_the_api_page_has_every_public_name() -> None:
    documented = set(re.findall(r"^::: [\w.]+\.(\w+)$", (DOCS / "reference" / "api.md").read_text(), re.MULTILINE))
    # An alias of `ReadOptions`, under which it is documented.
    assert set(lance_arrow.__all__) - documented == {"LanceReadOptions"}


def test_pictures_are_those_of_the_figures() -> None:
    drawn = script("draw").pictures()
    assert {path.name: path.read_text() for path in (DOCS / "images").iterdir()} == drawn


def test_hooks_order_and_title_pages() -> None:
    # Without the packages of the site.
    done = subprocess.run([sys.executable, str(DOCS / "site" / "hooks.py")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    opened = script("hooks")._opened([{"Decisions": "decisions/"}, "spark.md"])
    assert opened[1] == "spark.md"
    titles = [next(iter(page)) for page in opened[0]["Decisions"]]
    numbers = [int(re.split(r"\D", title)[0]) for title in titles]
    assert numbers == sorted(numbers, reverse=True)
