"""What the engine refuses is told with its place, by one reading: layouts are not asked, and no byte is read twice."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from stores import CountingStore

import lance_arrow
from lance_arrow.engine import Blame, Refusal
from lance_arrow.errors import (
    CorruptPageError,
    InternalError,
    LanceError,
    ResourceLimitError,
    TruncatedReadError,
    UnsupportedError,
)
from lance_arrow.scan.refused_rows import error_of
from lance_arrow.scan.row_reader import RowReader

ROWS = 4000
DOORS = ("scan", "take", "noted take", "batches", "filter")


def table() -> pa.Table:
    rng = np.random.default_rng(7)
    words = [f"word {one} of many different words" for one in rng.permutation(ROWS)]
    return pa.table(
        {
            "number": rng.integers(0, 1 << 60, ROWS),
            "text": words,
            "lists": pa.array([words[at : at + at % 3] for at in range(ROWS)]),
        }
    )


@pytest.fixture(autouse=True)
def _engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_asked(*_: object, **__: object) -> None:
        pytest.fail("layouts in Python were asked")

    monkeypatch.setattr(RowReader, "_decode_leaves", not_asked)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "table.lance"
    lance_arrow.write_table(table(), made, file_version="2.2", checksums=False, page_bytes=32_000)
    return made


def page_of(path: Path, column: str) -> tuple[int, tuple[int, int]]:
    """Return the number and the bytes of the second page of a column."""
    with lance_arrow.LanceFile(path) as file:
        reader: RowReader = file._rows
        (leaf,) = [leaf for root in reader.roots for leaf in root.leaves() if leaf.path.startswith(column)]
        (meta,) = reader.metas([leaf])
        return 1, meta.pages[1].byte_range


def read(path: Path, door: str, column: str) -> None:
    with lance_arrow.LanceFile(path) as file:
        if door == "scan":
            file.read([column])
        elif door == "take":
            file.take(range(0, ROWS, 7), columns=[column])
        elif door == "noted take":
            for rows in ([0], [0], range(0, ROWS, 7)):
                file.take(rows, columns=[column])
        elif door == "batches":
            for _ in file.to_batches([column], batch_size=100):
                pass
        else:
            file.read([column], filter=f"{column} is not null")


def overwritten(path: Path, start: int, stop: int, byte: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[start:stop] = byte * (stop - start)
    path.write_bytes(data)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("column", ["text", "lists"])
def test_damage_names_its_page(path: Path, door: str, column: str) -> None:
    number, (start, stop) = page_of(path, column)
    overwritten(path, start, stop, b"\xff")
    with pytest.raises(CorruptPageError) as caught:
        read(path, door, column)
    error = caught.value
    assert error.column is not None
    assert error.column.startswith(column)
    assert (error.page, error.byte_range, error.path) == (number, (start, stop), str(path))


def test_text_that_is_none_names_the_page_of_the_value(tmp_path: Path) -> None:
    made, rows = tmp_path / "text.lance", 3000
    texts = pa.table({"text": [os.urandom(20).hex() + "marker" * (at == 2500) for at in range(rows)]})
    lance_arrow.write_table(texts, made, file_version="2.0", checksums=False, page_bytes=16_000)
    data = made.read_bytes()
    at = data.index(b"marker")
    overwritten(made, at, at + 1, b"\xc0")
    with pytest.raises(CorruptPageError, match="UTF-8") as caught:
        read(made, "scan", "text")
    start, stop = caught.value.byte_range or (0, 0)
    assert start <= at < stop
    assert caught.value.page


@pytest.mark.parametrize("door", DOORS[:3])
def test_blocks_that_contradict_their_checksum_name_their_bytes(tmp_path: Path, door: str) -> None:
    made = tmp_path / "checked.lance"
    lance_arrow.write_table(table(), made, file_version="2.2", page_bytes=8_000)
    number, (_, stop) = page_of(made, "number")
    overwritten(made, stop - 44, stop - 40, b"\x55")
    with pytest.raises(CorruptPageError, match="checksum") as caught:
        read(made, door, "number")
    assert (caught.value.column, caught.value.page) == ("number", number)
    first, last = caught.value.byte_range or (0, 0)
    assert first <= stop - 44 < last


def test_a_file_that_became_shorter_is_told_as_such(path: Path) -> None:
    with lance_arrow.LanceFile(path) as file:
        _, (start, _) = page_of(path, "text")
        os.truncate(path, start + 10)
        with pytest.raises(TruncatedReadError, match="shorter") as caught:
            file.read(["text"])
    assert (caught.value.column, caught.value.path) == ("text", str(path))


@pytest.mark.parametrize("column", ["text", "lists"])
def test_no_byte_of_a_damaged_far_page_is_asked_for_twice(path: Path, column: str) -> None:
    _, (start, stop) = page_of(path, column)
    overwritten(path, start, stop, b"\xff")
    store = CountingStore({"file.lance": path.read_bytes()})
    with pytest.raises(CorruptPageError), lance_arrow.LanceFile("file.lance", filesystem=store) as file:
        file.read([column])
    asked = np.zeros(len(path.read_bytes()), np.int64)
    for wave in store.waves:
        for first, last in wave:
            asked[first:last] += 1
    assert asked[start:stop].max() == 1


def test_the_errors_of_refusals(path: Path) -> None:
    with lance_arrow.LanceFile(path) as file:
        for blame, kind in ((Blame.CALLER, InternalError), (Blame.OFFSETS, UnsupportedError)):
            assert type(error_of(Refusal("said", -1, blame), [], file._rows)) is kind
        for index, name in enumerate(("max_batch_bytes", "max_dictionary_bytes")):
            error = error_of(Refusal("said", index, Blame.LIMIT), [], file._rows)
            assert isinstance(error, ResourceLimitError)
            assert error.detail == name
        for blame in (Blame.BYTES, Blame.SHORT):
            assert isinstance(error_of(Refusal("said", 3, blame), [], file._rows), LanceError)
        error = error_of(Refusal("said", 5, Blame.SYSTEM), [], file._rows)
        assert isinstance(error, OSError)
        assert (error.errno, error.filename) == (5, str(path))
        cause = KeyboardInterrupt()
        assert error_of(Refusal("said", -1, Blame.BYTES, cause=cause), [], file._rows) is cause


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_items_above_a_limit_name_it(tmp_path: Path, version: str) -> None:
    table = pa.table({"c": pa.array([f"{row % 10}" * 3000 for row in range(4000)])})
    lance_arrow.write_table(
        table, tmp_path / "f.lance", file_version=version, column_options={"c": {"codec": "dictionary"}}
    )
    runtime = lance_arrow.Runtime(lance_arrow.Settings(limits=lance_arrow.Limits(max_dictionary_bytes=8000)))
    with lance_arrow.LanceFile(tmp_path / "f.lance", runtime=runtime) as file:
        with pytest.raises(ResourceLimitError) as caught:
            file.take([5])
        assert caught.value.detail == "max_dictionary_bytes"
        assert caught.value.column == "c"
