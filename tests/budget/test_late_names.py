"""Packages whose names are imported when they are first used: type checkers see the same names, modules hide none."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from outside import run

PACKAGES = ("lance_arrow", "lance_arrow.spi", "lance_arrow.pages", "lance_arrow.io")


def checked_names(package: str) -> dict[str, str]:
    """Names that a type checker sees, with the modules it takes them from."""
    source = Path(str(importlib.import_module(package).__file__)).read_text()
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    (block,) = [node for node in blocks if ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    found = {str(alias.asname): str(one.module) for one in imports for alias in one.names}
    # Modules of `spi` and `pages` are attributes of them, and no names.
    return {name: home for name, home in found.items() if home != package or package == "lance_arrow"}


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_the_names_that_there_are(package: str) -> None:
    module = importlib.import_module(package)
    checked = checked_names(package)
    assert sorted(checked) == module.__all__
    assert set(module.__all__) <= set(dir(module))
    for name, home in checked.items():
        found = getattr(importlib.import_module(home), name)
        assert getattr(module, name) is found, name


@pytest.mark.parametrize("package", PACKAGES)
def test_another_name_is_an_attribute_error(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing_of_the_kind'"):
        _ = module.nothing_of_the_kind


@pytest.mark.parametrize(("package", "name"), [("io", "open_source"), ("io", "open_sink"), ("io", "foreign_errors")])
@pytest.mark.parametrize(
    "first", ["import lance_arrow.{0}.{1}", "from lance_arrow.{0} import {1}", "import lance_arrow.{0}"]
)
def test_a_module_does_not_take_the_place_of_a_function(package: str, name: str, first: str) -> None:
    script = f"""
{first.format(package, name)}
import sys
import lance_arrow.{package}
from lance_arrow.{package} import {name}
from lance_arrow.{package}.{name} import {name} as inner
assert callable({name}) and {name} is inner is lance_arrow.{package}.{name}
assert sys.modules["lance_arrow.{package}.{name}"].{name} is inner
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
