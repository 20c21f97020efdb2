"""`WrittenFiles`: several writes at a time in stores of objects, one after another elsewhere; none is left running."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.io import Location
from lance_arrow.table.written_files import WrittenFiles

FAR, NEAR = Location(AsyncFileSystem(), "/t"), Location(MemoryFileSystem(), "/t")


def test_writes_overlap_in_stores_of_objects() -> None:
    both = threading.Barrier(2, timeout=10)
    with WrittenFiles() as files:
        for _ in range(20):
            files.begin(FAR, lambda: None)
        files.begin(FAR, lambda: both.wait() and None)
        files.begin(FAR, lambda: both.wait() and None)
    assert not both.broken


def test_other_filesystems_are_written_by_the_caller() -> None:
    found: list[int] = []
    with WrittenFiles() as files:
        for _ in range(3):
            files.begin(NEAR, lambda: found.append(threading.get_ident()))
        assert found == [threading.get_ident()] * 3


def test_no_more_writes_are_pending_than_said() -> None:
    done: list[int] = []
    with WrittenFiles() as files:
        for number in range(6):
            files.begin(FAR, lambda: time.sleep(0.01) or done.append(1), most=2)
            assert len(done) >= number - 1
    assert len(done) == 6


def test_what_was_begun_is_there_after_settling() -> None:
    done: list[int] = []
    with WrittenFiles() as files:
        for _ in range(3):
            files.begin(FAR, lambda: time.sleep(0.02) or done.append(1))
        files.settle()
        assert len(done) == 3
        files.begin(FAR, lambda: done.append(1))
    assert len(done) == 4


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
        with WrittenFiles() as files:
            files.begin(FAR, fail)
            for _ in range(num_after):
                files.begin(FAR, slow)
                begun.append(1)

    with pytest.raises(OSError, match="full"):
        write_all()
    assert 0 < len(done) == len(begun) <= num_after


@pytest.mark.parametrize("is_settled", [False, True])
def test_a_write_that_fails_takes_the_others_with_it(is_settled: bool, tmp_path: Path) -> None:
    place = Location(None, str(tmp_path / "first"))

    def fail() -> None:
        raise OSError("the store is full")

    def write_all() -> None:
        with WrittenFiles() as files:
            files.add(place)
            files.begin(FAR, lambda: (tmp_path / "first").write_bytes(b"rows"))
            files.begin(FAR, fail)
            if is_settled:
                files.settle()

    with pytest.raises(OSError, match="full"):
        write_all()
    assert list(tmp_path.iterdir()) == []


def test_an_error_between_waits_for_writes() -> None:
    done: list[int] = []

    def slow() -> None:
        time.sleep(0.05)
        done.append(1)

    def interrupted() -> None:
        with WrittenFiles() as files:
            files.begin(FAR, slow)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == [1]
