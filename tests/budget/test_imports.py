"""What importing costs, and that the order of imports changes nothing; each in a fresh process."""

from __future__ import annotations

import json

import pytest
from outside import run

HEAVY = ("pyarrow", "numpy", "pandas", "duckdb", "polars", "fsspec", "pluggy", "google.protobuf", "lance", "zstandard")


def modules_after(script: str) -> set[str]:
    done = run(f"{script}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_alone_is_light() -> None:
    modules = modules_after("import lance_arrow")
    assert not modules & set(HEAVY)
    # A source tree looks whether it is the one that is installed.
    own = {name for name in modules if name.startswith("lance_arrow")}
    assert own <= {"lance_arrow", "lance_arrow.late_names", "lance_arrow.errors", "lance_arrow._source_tree"}


def test_names_are_known_before_they_are_loaded() -> None:
    modules = modules_after("import lance_arrow\nassert 'LanceFile' in dir(lance_arrow)\nlance_arrow.__all__")
    assert "pyarrow" not in modules


def test_one_file_loads_no_engine_and_no_bridge() -> None:
    modules = modules_after("from lance_arrow import LanceFile")
    assert not modules & {"duckdb", "polars", "pandas", "lance", "lance_arrow.arrow_dataset.bridge._bridge"}


def test_plugins_are_found_when_first_needed() -> None:
    modules = modules_after("from lance_arrow import LanceFile, LanceFormat")
    assert not {name for name in modules if name.startswith(("lance_arrow_codecs", "lance_arrow_layouts"))}


@pytest.mark.parametrize(
    "first",
    [
        "import lance_arrow.arrow_dataset",
        "import lance_arrow.files.lance_file",
        "import lance_arrow.arrow_dataset.lance_dataset",
        "import lance_arrow; lance_arrow.dataset",
        "from lance_arrow import dataset",
        "import pyarrow.dataset",
    ],
)
def test_dataset_is_callable_whatever_came_first(first: str) -> None:
    done = run(
        f"{first}\n"
        "import lance_arrow, lance_arrow.arrow_dataset, lance_arrow.arrow_dataset.lance_dataset\n"
        "assert callable(lance_arrow.dataset), lance_arrow.dataset\n"
        "try:\n"
        "    lance_arrow.dataset('/nowhere/at/all.lance')\n"
        "except FileNotFoundError:\n"
        "    print('asked')\n"
    )
    assert done.stdout == "asked\n", done.stderr


def test_unknown_name_is_an_attribute_error() -> None:
    done = run("import lance_arrow\nlance_arrow.datasett")
    assert "AttributeError" in done.stderr
    assert "datasett" in done.stderr
