"""The interface of plugins is small, described name by name, and the only one that built-in plugins use."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lance_arrow import pages, spi

ROOT = Path(__file__).parent.parent.parent
NAMES = ROOT / "docs" / "plugins" / "names.md"
MOST_NAMES = 40
OTHER_DOORS = ("lance_arrow.errors", "lance_arrow.kernels", "lance_arrow.proto")
BUILT_IN = sorted(path for path in (ROOT / "plugins").rglob("*.py") if "pyspark_lance_arrow" not in path.parts)
EXAMPLES = sorted((ROOT / "tests" / "external_plugin").glob("*/*/__init__.py"))
SMALLEST = ROOT / "tests/external_plugin/shuffled/example_shuffled/__init__.py"
AREAS = sorted(set(re.findall(r"^\| `(lance_arrow\.(?:spi|pages)\.\w+)` \|", NAMES.read_text(), re.M)))


def described(package: str) -> list[str]:
    """Names in the first column of the table of a package."""
    (section,) = re.findall(rf"^## `{re.escape(package)}`$(.*?)^## ", NAMES.read_text(), re.M | re.S)
    return re.findall(r"^\| `(\w+)` \|", section, re.M)


@pytest.mark.parametrize("module", [spi, pages], ids=lambda module: module.__name__)
def test_no_more_names_than_people_can_know(module: ModuleType) -> None:
    assert len(module.__all__) <= MOST_NAMES
    assert sorted(described(module.__name__)) == sorted(module.__all__)


@pytest.mark.parametrize("name", AREAS)
def test_an_area_has_a_short_list(name: str) -> None:
    module = importlib.import_module(name)
    assert 0 < len(module.__all__) <= MOST_NAMES / 2
    assert set(module.__all__) <= set(vars(module))
    package = importlib.import_module(name.rpartition(".")[0])
    assert not set(module.__all__) & set(package.__all__), "a name has one place"


def test_areas_do_not_share_names() -> None:
    names = [name for area in AREAS for name in importlib.import_module(area).__all__]
    assert len(names) == len(set(names))


def private_uses(path: Path) -> Iterator[str]:
    """Names of this project that a module takes from anywhere but the public lists."""
    tree = ast.parse(path.read_text())
    imported = {one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
    modules = {name: module for name, module in {"spi": spi, "pages": pages}.items() if name in imported}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] == "lance_arrow")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lance_arrow":
            names = [one.name for one in node.names]
            if node.module == "lance_arrow":
                yield from (name for name in names if name not in ("errors", "kernels", "pages", "proto", "spi"))
            elif node.module in ("lance_arrow.spi", "lance_arrow.pages", *AREAS):
                public = importlib.import_module(node.module).__all__
                yield from (f"{node.module}.{name}" for name in names if name not in public)
            elif not str(node.module).startswith(OTHER_DOORS):
                yield str(node.module)
        elif isinstance(node, ast.Attribute):
            yield from private_attribute(node, modules)


def private_attribute(node: ast.Attribute, modules: dict[str, ModuleType]) -> Iterator[str]:
    """The attribute ``spi.name`` or ``spi.area.name``, if it is none of the public lists."""
    owner = node.value
    if isinstance(owner, ast.Name) and owner.id in modules:
        package = modules[owner.id]
        if node.attr not in package.__all__ and f"{package.__name__}.{node.attr}" not in AREAS:
            yield ast.unparse(node)
    elif isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id in modules:
        area = f"{modules[owner.value.id].__name__}.{owner.attr}"
        if area in AREAS and node.attr not in importlib.import_module(area).__all__:
            yield ast.unparse(node)


@pytest.mark.parametrize("path", [*BUILT_IN, *EXAMPLES], ids=lambda path: str(path.relative_to(ROOT)))
def test_built_in_plugins_and_examples_use_the_public_lists_only(path: Path) -> None:
    assert not list(private_uses(path))


@pytest.mark.parametrize(
    "line",
    [
        "import lance_arrow.structure",
        "from lance_arrow.spi.loading import Provider",
        "from lance_arrow.spi import RowRanges",
        "from lance_arrow.spi.layouts import DictionaryItems",
        "from lance_arrow import spi\nspi.scopes",
        "from lance_arrow import spi\nspi.layouts.DictionaryItems",
        "from lance_arrow import settings",
    ],
)
def test_private_uses_are_noticed(line: str, tmp_path: Path) -> None:
    path = tmp_path / "plugin.py"
    path.write_text(line)
    assert list(private_uses(path))


def test_the_smallest_codec_is_small() -> None:
    text = SMALLEST.read_text()
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(text.splitlines()) <= 40
    assert len([name for node in imports for name in node.names]) <= 15
