"""`WritesAtOnce`: several writes at a time in stores of objects, one after another elsewhere; none is left running."""

from __future__ import annotations

import threading
import time

import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.io import Location
from lance_arrow.table.written_files import WritesAtOnce

FAR, NEAR = Location(AsyncFileSystem(), "/t"), Location(MemoryFileSystem(), "/t")


def test_writes_overlap_in_stores_of_objects() -> None:
    both = threading.Barrier(2, timeout=10)
    with WritesAtOnce(FAR) as writes:
        for _ in range(20):
            writes.begin(lambda: None)
        writes.begin(lambda: both.wait() and None)
        writes.begin(lambda: both.wait() and None)
    assert not both.broken


def test_other_filesystems_are_written_by_the_caller() -> None:
    found: list[int] = []
    with WritesAtOnce(NEAR) as writes:
        for _ in range(3):
            writes.begin(lambda: found.append(threading.get_ident()))
    assert found == [threading.get_ident()] * 3


@pytest.mark.parametrize("num_after", [1, 20])
def test_a_failure_is_raised_when_all_have_ended(num_after: int) -> None:
    done: list[int] = []

    def fail() -> None:
        raise OSError("the store is full")

    def slow() -> None:
        time.sleep(0.02)
        done.append(1)

    begun: list[int] = []

    def write_all() -> None:
        with WritesAtOnce(FAR) as writes:
            writes.begin(fail)
            for _ in range(num_after):
                writes.begin(slow)
                begun.append(1)

    with pytest.raises(OSError, match="full"):
        write_all()
    assert 0 < len(done) == len(begun) <= num_after


def test_an_error_between_waits_for_writes() -> None:
    done: list[int] = []

    def slow() -> None:
        time.sleep(0.05)
        done.append(1)

    def interrupted() -> None:
        with WritesAtOnce(FAR) as writes:
            writes.begin(slow)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == [1]
