"""Python's search for garbage waits while objects of many columns are made, and goes on after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.errors import CorruptFileError
from lance_arrow.runtime import making_objects

MANY, FEW = 1024, 1023


@pytest.fixture
def searches() -> Iterator[list[int]]:
    """The generations that were searched."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_reading_many_columns_searches_little(tmp_path: Path, searches: list[int]) -> None:
    path, known = tmp_path / "wide.lance", tmp_path / "known.lance"
    table = pa.table({f"c{number}": np.arange(5) for number in range(5000)})
    for one in (known, path):
        lance_arrow.write_table(table, one)
    lance_arrow.LanceFile(known).read()
    gc.collect()
    searches.clear()
    found = lance_arrow.LanceFile(path).read()
    assert found.equals(table)
    # More than 20 objects a column are made, and 700 make a search.
    assert len(searches) < 20, searches
    assert gc.isenabled()


def test_a_process_without_searches_stays_so() -> None:
    gc.disable()
    try:
        with making_objects(MANY), making_objects(MANY):
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_searches_go_on_after_the_last_of_several_threads_and_after_an_error() -> None:
    inside, left = Barrier(2), Barrier(2)

    def make(*, is_first: bool) -> bool:
        with making_objects(MANY):
            inside.wait(10)
            if not is_first:
                left.wait(10)
            searched = gc.isenabled()
        if is_first:
            left.wait(10)
        return searched

    with ThreadPoolExecutor(2) as threads:
        results = [threads.submit(make, is_first=True), threads.submit(make, is_first=False)]
        assert [one.result() for one in results] == [False, False]
    assert gc.isenabled()
    with pytest.raises(CorruptFileError), making_objects(MANY):
        raise CorruptFileError("damaged")
    assert gc.isenabled()


def test_few_columns_change_nothing() -> None:
    with making_objects(FEW):
        assert gc.isenabled()
