"""Examples in public docstrings run, in a small folder.

Every public function and class has one of two to five lines, and so has every method that a public class defines in
Python and that takes arguments. `WITHOUT_EXAMPLE` names the methods that need none, and why.
Properties, and methods without arguments, may have one.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import lance_arrow

CALLABLE = [name for name in lance_arrow.__all__ if not inspect.ismodule(getattr(lance_arrow, name))]

_OWN_USE = "what the library calls itself; its arguments are not public"

WITHOUT_EXAMPLE = {
    "LanceDataset.know_table": _OWN_USE,
    "LanceFileFragment.first_parts": _OWN_USE,
    "LanceFileFragment.take_as": _OWN_USE,
    "Receipts.lance_read_finished": _OWN_USE,
    "Runtime.commit_strategy": _OWN_USE,
    "Runtime.finished": _OWN_USE,
    "Runtime.keeping": _OWN_USE,
}


def documented() -> Iterator[tuple[str, str]]:
    """Yield name and docstring of public functions, classes, and what classes of this package define."""
    for name in lance_arrow.__all__:
        held = getattr(lance_arrow, name)
        if not inspect.ismodule(held):
            yield name, inspect.getdoc(held) or ""
        if inspect.isclass(held):
            for member in (one for one in dir(held) if not one.startswith("_")):
                owner = next(one for one in held.__mro__ if member in vars(one))
                if owner.__module__.startswith("lance_arrow."):
                    yield f"{name}.{member}", inspect.getdoc(getattr(held, member)) or ""


def with_arguments() -> Iterator[str]:
    """Yield the public methods with arguments that classes of this package define in Python."""
    for name in CALLABLE:
        held = getattr(lance_arrow, name)
        for member in (one for one in dir(held) if inspect.isclass(held) and not one.startswith("_")):
            found = getattr(held, member)
            if not inspect.isfunction(getattr(found, "__func__", found)):
                continue
            arguments = set(inspect.signature(found).parameters) - {"self"}
            if found.__module__.startswith("lance_arrow.") and arguments:
                yield f"{name}.{member}"


METHODS = list(with_arguments())
EXAMPLES = {name: found for name, text in documented() if (found := doctest.DocTestParser().get_examples(text))}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table `flights`, and its rows as `flights.lance`, `flights.parquet`, and `plain.lance` without zone maps."""
    monkeypatch.chdir(tmp_path)
    columns = {"id": range(100), "price": [n * 0.5 for n in range(100)], "name": [f"n{n}" for n in range(100)]}
    rows = pyarrow.table(columns, metadata={"source": "example"})
    lance_arrow.write_table(rows, "flights.lance")
    lance_arrow.write_table(rows, "plain.lance", rows_per_zone=None)
    lance_arrow.LanceTable.create("flights", rows)
    pyarrow.parquet.write_table(rows, "flights.parquet")
    return tmp_path


def test_functions_and_classes_were_found() -> None:
    assert {"dataset", "read_table", "receipts", "LanceFile", "LanceWriteOptions"} <= set(CALLABLE)


@pytest.mark.parametrize("name", CALLABLE)
def test_every_function_and_class_has_an_example(name: str) -> None:
    assert name in EXAMPLES, "add a section Examples to its docstring"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_with_arguments_has_an_example_or_a_reason(name: str) -> None:
    assert (name in EXAMPLES) != (name in WITHOUT_EXAMPLE), (
        "add a section Examples to its docstring, or drop its reason"
    )


def test_reasons_are_of_methods() -> None:
    assert set(WITHOUT_EXAMPLE) <= set(METHODS)
    assert {"LanceTable.open", "LanceFile.read", "LanceWriter.write"} <= set(METHODS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str, folder: Path) -> None:
    found = EXAMPLES[name]
    assert 2 <= sum(one.source.count("\n") for one in found) <= 5
    assert not any(one.options for one in found), "examples run as they stand"
    names = {"lance_arrow": lance_arrow, "pyarrow": pyarrow}
    test = doctest.DocTest(found, names, name, None, None, None)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)
