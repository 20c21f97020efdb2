"""Takes whose columns are imported at once: equal to scans, as long-lived as any array, and refused by name."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.arrow_dataset.bridge import loading  # noqa: F401 - so that results are from Arrow's pools
from lance_arrow.errors import CorruptPageError
from lance_arrow.scan import row_reader

ROWS = 500
PLAIN = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("bit", pa.bool_()),
        pa.field("text", pa.large_string()),
        pa.field("id", pa.uuid()),
        pa.field("lists", pa.list_(pa.string())),
        pa.field("deep", pa.large_list(pa.list_(pa.struct([("a", pa.int32()), ("b", pa.binary())])))),
        pa.field("struct", pa.struct([pa.field("x", pa.decimal128(20, 3)), pa.field("y", pa.list_(pa.binary(16)))])),
        pa.field("map", pa.map_(pa.string(), pa.struct([("v", pa.list_(pa.float32()))]))),
    ]
)


def rows(number: int) -> dict[str, object]:
    items = [f"{number}-{item}" if item != 2 else None for item in range(number % 5)]
    return {
        "number": number,
        "bit": None if number % 7 == 0 else number % 2 == 0,
        "text": None if number % 3 == 0 else "ü" * (number % 11),
        "id": number.to_bytes(16, "big") if number % 4 else None,
        "lists": items if number % 6 else None,
        "deep": [[{"a": number, "b": bytes([number % 251])}, None], [], None][: number % 4],
        "struct": None if number % 5 == 0 else {"x": number, "y": [number.to_bytes(16, "big"), None][: number % 3]},
        "map": {item: {"v": [number / 3] * (number % 4)} if number % 9 else None for item in items if item},
    }


@pytest.fixture(scope="module")
def table() -> pa.Table:
    pylist = [rows(number) for number in range(ROWS)]
    for row in pylist:
        row["map"] = list(row["map"].items())
    return pa.table([pa.array([row[field.name] for row in pylist], field.type) for field in PLAIN], schema=PLAIN)


@pytest.fixture(params=["2.2", "2.3"])
def path(request: pytest.FixtureRequest, table: pa.Table, tmp_path: Path) -> Path:
    lance_arrow.write_table(table, tmp_path / "file.lance", file_version=request.param, page_bytes=3_000)
    return tmp_path / "file.lance"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each read, whether its columns were imported at once."""
    answers: list[bool] = []
    serve = row_reader.take_leaves

    def watched(*arguments):
        answer = serve(*arguments)
        answers.append(isinstance(answer, pa.RecordBatch))
        return answer

    monkeypatch.setattr(row_reader, "take_leaves", watched)
    return answers


def test_takes_equal_scans(path: Path, table: pa.Table, imported: list[bool]) -> None:
    random = np.random.default_rng(1)
    with lance_arrow.LanceFile(path) as file:
        everything = file.read()
        assert everything.equals(table)
        for count in (1, 1, 2, 17, ROWS):
            indices = random.integers(0, ROWS, count)
            taken = file.take(indices)
            taken.validate(full=True)
            assert taken.equals(table.take(pa.array(indices)))
        for name in table.column_names:
            assert file.take([3, 400], columns=[name]).equals(table.select([name]).take(pa.array([3, 400])))
        assert file.take([], columns=["lists"]).num_rows == 0
    assert imported.count(True) >= 5 + table.num_columns - 1


def test_memory_is_held_as_long_as_an_array_and_no_longer(path: Path, table: pa.Table) -> None:
    with lance_arrow.LanceFile(path) as file:
        file.take([1])
        gc.collect()
        before = pa.total_allocated_bytes()
        # Only their arrays are left: of some columns, of children of others.
        lists = [file.take([number, number + 9])["deep"].chunk(0).values for number in range(0, 400, 9)]
    assert pa.total_allocated_bytes() > before
    for place, number in enumerate(range(0, 400, 9)):
        expected = table["deep"].take(pa.array([number, number + 9])).combine_chunks()
        expected = expected.chunk(0) if isinstance(expected, pa.ChunkedArray) else expected
        assert lists[place].equals(expected.flatten())
        del expected
    thread = threading.Thread(target=lists.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert pa.total_allocated_bytes() <= before


def test_text_that_is_none_is_named(tmp_path: Path, imported: list[bool]) -> None:
    """What is wrong with a column is said by the layouts, which read the same rows again."""
    path = tmp_path / "file.lance"
    table = pa.table({"lists": pa.array([["word-one", "word-two"]] * 10, pa.list_(pa.string()))})
    lance_arrow.write_table(table, path, checksums=False, column_options={"lists": {"compression": "none"}})
    content = path.read_bytes()
    assert content.count(b"word-one") > 0
    path.write_bytes(content.replace(b"word-one", b"word-\xffne"))
    with lance_arrow.LanceFile(path) as file, pytest.raises(CorruptPageError, match="UTF-8") as caught:
        file.take([0])
    assert (caught.value.column, imported) == ("lists.item", [False])
