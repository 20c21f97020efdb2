"""Merges whose source does not fit in the memory budget: the same rows, ids and counts as with one that does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.table.row_parts import RowPart, parted_rows

SMALL_BUDGET = 256 << 10
COLUMNS = ("number", "far", "text", "day", "float")


def made(count: int, seed: int) -> pa.Table:
    """Rows with keys of several types, each distinct but in few rows, and null in some."""
    random = np.random.default_rng(seed)
    numbers = random.permutation(2 * count)[:count]
    is_null = random.random(count) < 0.01
    return pa.table(
        {
            "number": pa.array(numbers, pa.int64(), mask=is_null),
            "far": pa.array(numbers.astype(np.int64) << 40, mask=is_null),
            "text": pa.array([f"key {number:07}" for number in numbers], mask=is_null),
            "day": pa.array(numbers.astype(np.int32), pa.date32(), mask=is_null),
            "float": pa.array(numbers / 4, mask=is_null),
            "value": random.random(count),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def num_parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each source had, while the memory budget is small."""
    found: list[int] = []

    @contextmanager
    def watched(*arguments: Any) -> Iterator[Sequence[RowPart]]:
        with parted_rows(*arguments) as parts:
            found.append(len(parts))
            yield parts

    monkeypatch.setattr("lance_arrow.table.merges.merge_rows.parted_rows", watched)
    return found


def rows(table: LanceTable) -> list[tuple[Any, ...]]:
    columns = [*COLUMNS, "value", "_rowid"]
    found = table.to_table(columns=columns).to_pylist()
    # Rows that are new have ids that nothing promises; those that were there keep theirs.
    return sorted((tuple(row[name] for name in columns[:-1]) for row in found), key=repr)


CLAUSES = [("update", True, True), ("update", True, False), ("delete", False, True), ("", True, False)]


@pytest.mark.parametrize(
    "keys",
    [
        ["number", "text"],
        *(pytest.param(keys, marks=pytest.mark.whole) for keys in (["number"], ["far"], ["text"], ["float", "day"])),
    ],
)
def test_parts_give_what_one_pass_gives(
    tmp_path: Path, folder: Path, num_parts: list[int], monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    target, source = made(6000, 1), made(9000, 2)
    for number, clauses in enumerate(CLAUSES):
        found = []
        for budget in (None, SMALL_BUDGET):
            settings = Settings() if budget is None else Settings(memory_budget_bytes=budget)
            monkeypatch.setattr("lance_arrow.runtime._default", Runtime(settings))
            table = LanceTable.create(
                tmp_path / f"{number}-{budget}", target, max_rows_per_file=1500, enable_stable_row_ids=True
            )
            ids = {row["text"]: row["_rowid"] for row in table.to_table(columns=["text", "_rowid"]).to_pylist()}
            counts = merged(table, iter(source.to_batches(max_chunksize=1000)), keys, clauses, source.schema)
            after = table.to_table(columns=["text", "_rowid"]).to_pylist()
            assert len({row["_rowid"] for row in after}) == len(after)
            kept = [row for row in after if row["text"] in ids and row["text"] is not None]
            assert all(row["_rowid"] == ids[row["text"]] for row in kept)
            found.append((counts, rows(table)))
        assert found[0] == found[1]
    assert all(count == 1 for count in num_parts[::2])
    assert all(4 < count < 30 for count in num_parts[1::2])
    assert not list(folder.iterdir())


def merged(table: LanceTable, source: Any, keys: list[str], clauses: Any, schema: pa.Schema) -> dict[str, int]:
    matched, inserts, others = clauses
    merge = table.merge(source, on=keys, schema=schema)
    if matched:
        merge = merge.when_matched_update_all() if matched == "update" else merge.when_matched_delete()
    if inserts:
        merge = merge.when_not_matched_insert_all()
    if others:
        merge = merge.when_not_matched_by_source_delete("value < 0.5")
    return merge.execute(max_rows_per_file=2000)


def test_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one key come into one part, wherever they are in the source; nothing is left of a merge that fails."""
    monkeypatch.setattr("lance_arrow.runtime._default", Runtime(Settings(memory_budget_bytes=SMALL_BUDGET)))
    target = made(6000, 1)
    table = LanceTable.create(tmp_path / "t", target)
    twice = pa.concat_tables([target, made(9000, 2).slice(0, 5000), target.slice(17, 1)])
    with pytest.raises(InvalidArgumentError, match="several rows of the source"):
        table.merge(twice, on="number").when_matched_update_all().execute()

    def broken() -> Iterator[pa.RecordBatch]:
        yield from target.to_batches(max_chunksize=500)
        raise OSError("the source went away")

    with pytest.raises(OSError, match="went away"):
        table.merge(broken(), on="number", schema=target.schema).when_matched_update_all().execute()
    assert (table.version, table.count_rows()) == (1, 6000)
    assert len(list((tmp_path / "t" / "data").iterdir())) == 1
    assert not list(folder.iterdir())


@pytest.mark.parametrize("column", ["number", "text", "day"])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_every_row_is_in_one_part(folder: Path, column: str, is_sorted: bool) -> None:
    source = made(9000, 3)
    source = source.sort_by("number") if is_sorted else source
    with parted_rows(iter(source.to_batches(max_chunksize=333)), source.schema, column, 40_000) as parts:
        assert len(parts) == -(-source.nbytes // 40_000)
        held = [part.rows() for part in parts]
        assert max(part.nbytes for part in held) < 2 * 40_000
        assert [part.num_chunks for one in held for part in one.columns] == [1] * len(held) * source.num_columns
        again = pa.concat_tables(held).sort_by("value")
        assert again.equals(source.sort_by("value").combine_chunks().select(again.column_names))
        for part, one in zip(parts, held, strict=True):
            assert source.filter(part.within).equals(one)
    assert not list(folder.iterdir())


def test_one_part(folder: Path) -> None:
    """One value alone cannot part rows, and nothing does without a column."""
    source = pa.table({"float": np.arange(9000.0), "same": ["x"] * 9000})

    def held(by: str | None) -> list[RowPart]:
        with parted_rows(iter(source.to_batches()), source.schema, by, 10_000) as parts:
            assert pa.concat_tables([part.rows() for part in parts]).equals(source)
            return [part for part in parts if part.rows().num_rows]

    assert held(None)[0].within is None
    assert len(held("same")) == 1
    assert not list(folder.iterdir())


def test_keys_without_ranges(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floating point numbers are matched in one part: no range holds NaN."""
    monkeypatch.setattr("lance_arrow.runtime._default", Runtime(Settings(memory_budget_bytes=SMALL_BUDGET)))
    source = made(9000, 2).set_column(4, "float", pa.array(np.append(np.arange(8999.0), np.nan)))
    table = LanceTable.create(tmp_path / "t", source)
    assert table.merge(source, on="float").when_matched_update_all().execute()["num_updated_rows"] == 9000
