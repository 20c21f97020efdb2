"""How many calls a small append takes: half of its time is calls of Python, so each is counted."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable

ROWS = 1000


def rows(types: list[str], first: int) -> pa.Table:
    """Columns of one kind each: no two values are equal, so that there are neither dictionaries nor runs."""
    numbers = np.arange(first, first + ROWS) * 7919 % 1_000_003
    columns = {
        "integers": pa.array(numbers.astype(np.int32)),
        "doubles": pa.array(numbers / 7),
        "strings": pa.array([f"name-{number}" for number in numbers.tolist()]),
    }
    return pa.table({f"{name}{number}": columns[name] for number, name in enumerate(types)})


def calls_of_an_append(folder: Path, types: list[str], file_version: str | None = None) -> Counter[str]:
    """Count the calls of Python and C functions of an append; one before it makes what is kept.

    What resolves links of a path is one call: how many it makes depends on where the test runs.
    """
    place = folder / f"{'-'.join(types)}.lance"
    table = LanceTable.create(place, rows(types, 0), file_version=file_version, durability="rename")
    table.append(rows(types, ROWS))
    appended = rows(types, 2 * ROWS)
    found: Counter[str] = Counter()
    resolving: list[Any] = []

    def look(frame: Any, event: str, argument: Any) -> None:
        if resolving:
            if event == "return" and frame is resolving[0]:
                resolving.clear()
        elif event == "call":
            found[frame.f_code.co_qualname] += 1
            if frame.f_code.co_name == "realpath":
                resolving.append(frame)
        elif event == "c_call":
            found[getattr(argument, "__qualname__", str(argument))] += 1

    sys.setprofile(look)
    try:
        table.append(appended)
    finally:
        sys.setprofile(None)
    found.pop("setprofile", None)
    return found


def test_an_append_of_one_column(tmp_path: Path) -> None:
    found = calls_of_an_append(tmp_path, ["integers"])
    # A data file and a copy of the transaction are written, a manifest is made and linked.
    assert found["LocalSink.__init__"] == 2
    assert found["column_mapping"] == found["fields_to_messages"] == 0
    assert found.total() <= 1400


@pytest.mark.parametrize(("kind", "most"), [("integers", 40), ("doubles", 40), ("strings", 800)])
def test_each_further_column(tmp_path: Path, kind: str, most: int) -> None:
    few, many = (calls_of_an_append(tmp_path, [kind] * number) for number in (2, 6))
    # `few` and `many` tell which ones.
    assert (many.total() - few.total()) / 4 <= most


def test_a_page_of_numbers_needs_no_python(tmp_path: Path) -> None:
    found = calls_of_an_append(tmp_path, ["integers", "doubles"])
    names = ("shred", "PageScope.layout", "BlockSummary._measure", "bound_array", "_find_plan", "FileWriter.add_page")
    assert {name: found[name] for name in names} == dict.fromkeys(names, 0)
    # All pages are written at once, and all zone maps.
    assert found["FileWriter.append"] == found["FileWriter.append_zone_maps"] == 1


def test_a_page_that_is_written_in_python_is_measured_once(tmp_path: Path) -> None:
    found = calls_of_an_append(tmp_path, ["strings"], "2.3")
    names = ("shred", "PageScope.layout", "bound_array", "FileWriter.add_page")
    assert {name: found[name] for name in names} == dict.fromkeys(names, 1)
    # Codecs of other kinds of blocks are not asked.
    assert found["Flat.score"] == found["InlineBitpacking.score"] == found["PackedStruct.score"] == 0
