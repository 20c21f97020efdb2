"""`order_by` with a limit, by every door: the rows of Arrow's stable sort, and how few zones are read for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from small_files import bare_files

import lance_arrow
from lance_arrow import LanceTable, errors
from lance_arrow.scan import open_files
from lance_arrow.scan.groups.group_sizes import GroupSizes
from lance_arrow.spi import ReadReport

ZONE_ROWS = 64
NUM_ROWS = 20 * ZONE_ROWS + 5
NUMBERS = np.random.default_rng(1).permutation(NUM_ROWS)


def expected(rows: pa.Table, keys: Sequence[tuple[str, ...]], start: int, stop: int | None) -> pa.Table:
    """Sort with Arrow alone: classes of nulls and NaN are columns of their own, as pyarrow documents their order."""
    columns, orders = [], []
    for name, order, *nulls in keys:
        top, *fields = name.split(".")
        values: Any = rows[top].combine_chunks()
        values = pc.struct_field(values, fields) if fields else values
        if isinstance(values.type, pa.DictionaryType):
            values = values.cast(values.type.value_type)
        if pa.types.is_float16(values.type):
            values = values.cast(pa.float32())
        is_nan = (
            pc.is_nan(values).fill_null(False) if pa.types.is_floating(values.type) else pa.array([False] * len(values))
        )
        first = nulls == ["at_start"]
        rank = pc.if_else(values.is_null(), 0 if first else 2, pc.if_else(is_nan, 1, 2 if first else 0))
        columns += [rank, values]
        orders += [(str(len(orders)), "ascending"), (str(len(orders) + 1), order)]
    batch = pa.RecordBatch.from_arrays(columns, [str(number) for number in range(len(columns))])
    return rows.take(pc.sort_indices(batch, sort_keys=orders)[start:stop])


def random_column(kind: str, rng: random.Random) -> pa.Array:
    few = rng.choice([3, 50, 10**6])
    shape = rng.choice(["random", "sorted", "nearly"])
    numbers = [rng.randrange(few) for _ in range(NUM_ROWS)]
    if shape != "random":
        numbers.sort(reverse=rng.random() < 0.5)
    if shape == "nearly":
        for _ in range(20):
            i, j = rng.randrange(NUM_ROWS), rng.randrange(NUM_ROWS)
            numbers[i], numbers[j] = numbers[j], numbers[i]
    nulls = rng.choice([0, 0.01, 0.3, 1.0]) if rng.random() < 0.6 else 0
    whole_zones = rng.random() < 0.3

    def is_null(row: int) -> bool:
        return (row // ZONE_ROWS) % 3 == 0 if whole_zones and nulls else rng.random() < nulls

    def value(number: int) -> Any:
        if kind in ("double", "half"):
            return (
                float("nan")
                if rng.random() < 0.02
                else rng.choice([number / 8, -0.0])
                if number < 2
                else number % 2000 / 8
            )
        if kind in ("string", "dictionary"):
            # Longer than the bounds of zone maps.
            return "é" * 40 + f"{number:07}" if few > 50 else f"{number:07}"
        if kind == "decimal":
            return Decimal(number % 10**5) / 100
        return number % 2 == 0 if kind == "bool" else number

    types = {
        "int": pa.int64(),
        "double": pa.float64(),
        "half": pa.float16(),
        "string": pa.string(),
        "dictionary": pa.string(),
        "decimal": pa.decimal128(9, 2),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
    }
    values = [None if is_null(row) else value(number) for row, number in enumerate(numbers)]
    array = pa.array(
        [None if one is None else np.float16(one) for one in values] if kind == "half" else values, types[kind]
    )
    return array.dictionary_encode() if kind == "dictionary" else array


KINDS = ["int", "double", "half", "string", "dictionary", "decimal", "bool", "time"]


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_rows_are_those_of_arrows_sort(
    seed: int, many: bool, tmp_path: Path, whole_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{seed} {many}")
    if many:
        # Files are read in groups; half of the cases by their ends, which have the zone maps.
        monkeypatch.setattr(open_files, "MOST_OPEN_FILES", 4)
        if seed // 2 % 2:
            monkeypatch.setattr(GroupSizes, "most_of_a_file", lambda self, share, is_judged: 100)
    kinds = [KINDS[seed % len(KINDS)], rng.choice(KINDS)]
    columns = {name: random_column(kind, rng) for name, kind in zip("ab", kinds, strict=True)}
    nested = pa.StructArray.from_arrays(
        [columns["a"]], ["x"], mask=pa.array([rng.random() < 0.05 for _ in range(NUM_ROWS)])
    )
    rows = pa.table({"id": NUMBERS, **columns, "s": nested})
    rows_per_zone = rng.choice([ZONE_ROWS, ZONE_ROWS, None])
    lance_arrow.write_table(rows, tmp_path / "f.lance", rows_per_zone=rows_per_zone)
    options: dict[str, Any] = {
        "rows_per_zone": rows_per_zone,
        "max_rows_per_file": 90 if many else rng.choice([300, NUM_ROWS]),
    }
    table = LanceTable.create(tmp_path / "t", rows, **options)
    if rows_per_zone is None and kinds[0] not in ("dictionary", "half"):
        table.create_zone_map("a")
    live = rows
    if rng.random() < 0.6:
        gone = rng.choice([f"id >= {NUM_ROWS // 2}", "id % 7 = 0", "id < 9"])
        table.delete(gone)
        live = rows.filter(pc.invert(_holds(rows, gone)))
    doors: list[tuple[Any, pa.Table]] = [
        (table, live),
        (table.dataset(), live),
        (lance_arrow.dataset(tmp_path / "f.lance"), rows),
    ]
    if many:
        folder = bare_files(tmp_path / "files", rows, 90, rows_per_zone=rows_per_zone)
        doors.append((lance_arrow.dataset(folder), rows))
    for _ in range(6 if whole_run else 2):
        keys: list[tuple[str, ...]] = [(rng.choice(["a", "b", "s.x"]), rng.choice(["ascending", "descending"]))]
        if rng.random() < 0.5:
            keys[0] += (rng.choice(["at_start", "at_end"]),)
        if rng.random() < 0.4:
            keys.append(("id", rng.choice(["ascending", "descending"])))
        filter = rng.choice([None, None, "id < 900", "id % 5 = 1", "id < 0"])
        limit, offset = rng.choice([1, 7, 100, 10**6, None]), rng.choice([0, 0, 5, 400])
        for door, source in doors:
            found = door.to_table(order_by=keys, limit=limit, offset=offset, filter=filter)
            left = source if filter is None else source.filter(_holds(source, filter))
            want = expected(left, keys, offset, None if limit is None else offset + limit)
            assert _shown(found) == _shown(want), (keys, limit, offset, filter, type(door))


def _holds(rows: pa.Table, text: str) -> pa.ChunkedArray:
    name, how, *rest = text.split()
    if how == "%":
        ids = rows[name].to_numpy()
        return pa.chunked_array([pa.array(ids % int(rest[0]) == int(rest[2]))])
    return {">=": pc.greater_equal, "<": pc.less}[how](rows[name], int(rest[0]))


def _shown(rows: pa.Table) -> str:
    # NaN is not equal to itself, and -0.0 is not shown as 0.0.
    return repr(rows.to_pydict())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ordered")
    rows = pa.table(
        {
            "up": np.arange(NUM_ROWS),
            "mixed": NUMBERS,
            "same": np.zeros(NUM_ROWS, np.int32),
            "late": pa.array([None] * (15 * ZONE_ROWS) + list(range(NUM_ROWS - 15 * ZONE_ROWS)), pa.int32()),
        }
    )
    LanceTable.create(place / "t", rows, rows_per_zone=ZONE_ROWS, max_rows_per_file=8 * ZONE_ROWS)
    lance_arrow.write_table(rows, place / "f.lance", rows_per_zone=ZONE_ROWS)
    lance_arrow.write_table(rows, place / "no_zones.lance", rows_per_zone=None)
    return place


def decoded(read: Callable[[], pa.Table], column: str) -> int:
    with lance_arrow.receipts() as found:
        read()
    return ReadReport.total(found).decoded_rows.get(column, 0)


@pytest.mark.parametrize(
    ("key", "limit", "num_zones"),
    [
        (("up", "ascending"), 10, 1),
        # The last zone has five rows.
        (("up", "descending"), 10, 2),
        (("up", "ascending"), ZONE_ROWS + 1, 2),
        (("same", "ascending"), 10, 1),
        (("late", "ascending"), 10, 1),
        (("late", "ascending", "at_start"), 10, 1),
        (("mixed", "ascending"), 5, 5),
        (("mixed", "descending"), 5, 5),
    ],
)
@pytest.mark.parametrize("name", ["t", "f.lance"])
def test_zones_without_a_first_row_are_not_read(
    place: Path, name: str, key: tuple[str, ...], limit: int, num_zones: int
) -> None:
    dataset = lance_arrow.dataset(place / name)
    # Of other columns, the wanted rows alone are read.
    others = "mixed" if key[0] != "mixed" else "up"
    with lance_arrow.receipts() as found:
        rows = dataset.to_table([key[0], others], order_by=[key], limit=limit)
    total = ReadReport.total(found).decoded_rows
    assert rows.num_rows == limit
    assert total[others] == limit
    assert total[key[0]] <= num_zones * ZONE_ROWS + limit


def test_files_without_zone_maps_are_read_once(place: Path) -> None:
    dataset = lance_arrow.dataset(place / "no_zones.lance")
    assert decoded(lambda: dataset.to_table(["up"], order_by="up", limit=3), "up") == NUM_ROWS + 3


def test_deleted_rows_promise_nothing(place: Path, tmp_path: Path) -> None:
    rows = pa.table({"a": np.arange(10 * ZONE_ROWS)})
    table = LanceTable.create(tmp_path / "t", rows, rows_per_zone=ZONE_ROWS)
    table.delete(f"a < {3 * ZONE_ROWS + 2}")
    read = lambda: table.to_table(order_by="a", limit=4)  # noqa: E731 - read twice
    assert read()["a"].to_pylist() == [3 * ZONE_ROWS + 2 + n for n in range(4)]
    assert decoded(read, "a") <= ZONE_ROWS + 4


def test_equal_rows_stay_in_order_of_the_table(place: Path) -> None:
    table = LanceTable.open(place / "t")
    found = table.to_table(["up"], order_by=[("same", "descending")], limit=3, offset=9 * ZONE_ROWS)
    assert found["up"].to_pylist() == [9 * ZONE_ROWS + n for n in range(3)]


def test_batches_are_of_the_wanted_size(place: Path) -> None:
    table = LanceTable.open(place / "t")
    batches = list(table.to_batches(["mixed"], batch_size=100, order_by="mixed"))
    assert max(batch.num_rows for batch in batches) <= 100
    assert [n for batch in batches for n in batch["mixed"].to_pylist()] == list(range(NUM_ROWS))


def test_expressions_and_hidden_keys(place: Path) -> None:
    for name in ("t", "f.lance"):
        dataset = lance_arrow.dataset(place / name)
        found = dataset.to_table({"double": pc.field("up") * 2}, order_by=[("mixed", "descending")], limit=2)
        want = [int(np.flatnonzero(NUM_ROWS - 1 - n == NUMBERS)[0]) * 2 for n in range(2)]
        assert found.to_pydict() == {"double": want}


def test_scanners_of_tables(place: Path) -> None:
    table = LanceTable.open(place / "t")
    scanner = table.scanner(["up"], "up >= 7", order_by=[("up", "descending")], limit=2, batch_size=1)
    assert [batch["up"].to_pylist() for batch in scanner.to_batches()] == [[NUM_ROWS - 1], [NUM_ROWS - 2]]


@pytest.mark.parametrize(
    ("order_by", "words"),
    [
        ("missing", "missing"),
        ("s", "single values"),
        ("l", "single values"),
        (["a", "a"], "twice"),
        ([("a", "up")], "'up'"),
        ([("a", "ascending", "first")], "'first'"),
        (7, "order_by has 7"),
        ([], "order_by has"),
        ([("a", "ascending", "at_end", 1)], "order_by has"),
    ],
)
def test_what_cannot_be_an_order_is_named(order_by: Any, words: str, tmp_path: Path) -> None:
    rows = pa.table({"a": [1], "s": [{"x": 1}], "l": [[1]]})
    table = LanceTable.create(tmp_path / "t", rows)
    for door in (table, table.dataset()):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            door.to_table(order_by=order_by)


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_nan_and_nulls_are_where_arrow_has_them(order: str, tmp_path: Path) -> None:
    rows = pa.table({"a": [1.0, None, float("nan"), 0.0, -0.0, None, 3.0], "n": range(7)})
    lance_arrow.write_table(rows, tmp_path / "f.lance")
    want = rows["n"].take(pc.sort_indices(rows, sort_keys=[("a", order)]))
    dataset = lance_arrow.dataset(tmp_path / "f.lance")
    for limit in (3, 5, 7):
        assert dataset.to_table(["n"], order_by=[("a", order)], limit=limit)["n"].equals(want[:limit])


def test_blobs_have_no_order_and_come_along(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}), ("n", pa.int8())])
    rows = pa.table({"b": [b"one", b"two"], "n": [2, 1]}, schema=schema)
    lance_arrow.write_table(rows, tmp_path / "f.lance")
    table = LanceTable.create(tmp_path / "t", rows)
    for door in (lance_arrow.dataset(tmp_path / "f.lance"), table, table.dataset()):
        assert door.to_table(order_by="n")["b"].to_pylist() == [b"two", b"one"]
        with pytest.raises(errors.InvalidArgumentError, match="blob"):
            door.to_table(order_by="b")


def test_addresses_are_an_order(place: Path) -> None:
    table = LanceTable.open(place / "t")
    with lance_arrow.receipts() as found:
        rows = table.to_table(["up"], order_by=[("_rowaddr", "descending")], limit=2)
    assert rows["up"].to_pylist() == [NUM_ROWS - 1, NUM_ROWS - 2]
    assert ReadReport.total(found).decoded_rows == {"up": 2}
