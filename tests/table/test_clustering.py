"""`compact(cluster_by=...)`: the same rows, sorted, with their ids; sources of any size."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import ReadReport

IDENTITY = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def made(count: int) -> pa.Table:
    random = np.random.default_rng(11)
    numbers = random.integers(0, count // 3, count)
    is_null = random.random(count) < 0.02
    floats = np.where(random.random(count) < 0.01, np.nan, random.random(count))
    return pa.table(
        {
            "number": pa.array(numbers, pa.int32(), mask=is_null),
            "text": pa.array([f"text {number % 97}" for number in numbers], mask=is_null),
            "float": pa.array(floats, mask=is_null),
            "place": np.arange(count),
            "items": pa.array([[number, None] if number % 3 else None for number in numbers.tolist()]),
        }
    )


@pytest.fixture(params=["in memory", "in parts"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made; with a small memory budget if rows are to be parted."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    settings = Settings() if request.param == "in memory" else Settings(memory_budget_bytes=512 << 10)
    monkeypatch.setattr("lance_arrow.runtime._default", Runtime(settings))
    return folder


@pytest.mark.cover(1)
@pytest.mark.parametrize("cluster_by", ["number", "text", ["float"], ["text", "number"]])
@pytest.mark.parametrize("stable", [False, True])
def test_rows_are_sorted(tmp_path: Path, folder: Path, cluster_by: str | list[str], stable: bool) -> None:
    table = LanceTable.create(tmp_path / "t", made(8000), max_rows_per_file=1000, enable_stable_row_ids=stable)
    table.delete("place % 17 = 0")
    table.update({"text": "'new'"}, "place < 50")
    names = [*table.schema.names, *(IDENTITY if stable else [])]
    before = table.to_table(columns=names)
    told: list[tuple[int, int]] = []
    report = table.compact(
        cluster_by=cluster_by, target_rows_per_fragment=3000, on_progress=lambda *one: told.append(one)
    )
    after = table.to_table(columns=names)
    keys = [cluster_by] if isinstance(cluster_by, str) else cluster_by
    order = pc.sort_indices(before, sort_keys=[(key, "ascending") for key in keys])
    # NaN is not equal to itself.
    expected = before.take(order)
    for name in names:
        ours, theirs = after[name].combine_chunks(), expected[name].combine_chunks()
        if pa.types.is_floating(ours.type):
            ours, theirs = pc.fill_null(ours, -1).fill_null(0), pc.fill_null(theirs, -1)
            assert np.array_equal(ours.to_numpy(), theirs.to_numpy(), equal_nan=True)
        else:
            assert ours.equals(theirs)
    count = before.num_rows
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [3000, 3000, count - 6000]
    assert (told[-1], len(report.fragments_made)) == ((count, count), 3)
    assert not list(folder.iterdir())


def test_predicates_skip_files(tmp_path: Path, receipts: list[ReadReport]) -> None:
    table = LanceTable.create(tmp_path / "t", made(100_000), max_rows_per_file=25_000)
    decoded = []
    for _ in range(2):
        receipts.clear()
        found = table.to_table(filter=pc.field("number") < 20)
        decoded.append(sum(one.decoded_rows["number"] for one in receipts))
        table.compact(cluster_by="number", target_rows_per_fragment=25_000)
    assert decoded[0] > 90_000
    # Numbers of the rows that are left are decoded after they were compared.
    assert decoded[1] <= 8192 + found.num_rows


def test_refused(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", made(100))
    for cluster_by, message in (
        ("nunber", "did you mean 'number'"),
        (["number", "number"], "named twice"),
        ("items", "cannot be sorted by list"),
        ([3], "no column 3"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.compact(cluster_by=cluster_by)
    assert table.version == 1


def test_indices(tmp_path: Path) -> None:
    """An index that names rows by address keeps its fragments where they are, unless it is dropped."""
    table = LanceTable.create(tmp_path / "t", made(3000), max_rows_per_file=1000)
    table.create_zone_map("number")
    report = table.compact(cluster_by="number")
    assert (len(report.kept_out), table.version) == (1, 2)
    report = table.compact(cluster_by="number", drop_indices=True)
    assert len(report.dropped_indices) == 1
    assert table.to_table(filter=pc.field("number") == 7).num_rows == made(3000)["number"].to_pylist().count(7)
