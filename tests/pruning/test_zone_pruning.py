"""Filtered reads of files with zone maps: the same rows as without, out of fewer bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same
from witness import Witness
from zoned import with_zone_maps

from lance_arrow import LanceFile, LanceFormat
from lance_arrow.errors import CorruptFileError, InvalidArgumentError

pytestmark = pytest.mark.interop

NUM_ROWS = 20_000
ROWS_PER_ZONE = 1000
F = pc.field
FILTERS = [
    F("n") < 1500,
    (F("n") >= 4999) & (F("n") < 6001),
    F("n").isin([3, 19_999, 77_777]),
    F("n") > 1_000_000,
    ~(F("n") < 19_000),
    F("x").is_null(),
    (F("x") > 0.99) | (F("n") == 7),
    F("s") == "word 012345",
    pc.starts_with(F("s"), "word 0199"),
    F("st", "a") == 1234,
    F("st", "a").is_null() & (F("n") < 3000),
    F("d") == "red",
    F("n") + 1 == 5000,
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(4)
    n = np.arange(NUM_ROWS)
    x = pa.array(rng.random(NUM_ROWS), mask=(n // 500) % 7 == 0)
    structs = pa.StructArray.from_arrays([pa.array(n // 2), x], names=["a", "b"], mask=pa.array(n % 11 == 0))
    return pa.table(
        {
            "n": pa.array(n),
            "x": x,
            "s": [f"word {one:06}" for one in n],
            "st": structs,
            "l": pa.array([[one, one + 1] for one in n.tolist()]),
            "d": pa.array(np.where(n < 7000, "red", "blue")).dictionary_encode(),
        }
    )


@pytest.fixture(scope="module", params=["2.1", "2.2", "2.3"])
def path(request, table: pa.Table, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoned")
    plain = witness.write(table, folder / "plain.lance", request.param)
    made = folder / "zoned.lance"
    made.write_bytes(with_zone_maps(plain.read_bytes(), table, ROWS_PER_ZONE, request.param))
    return made


@pytest.mark.cover(1)
@pytest.mark.parametrize("expression", FILTERS, ids=str)
def test_every_door_finds_the_same_rows(path, table, expression):
    expected = table.filter(expression)
    with LanceFile(path) as file:
        assert_same(file.read(filter=expression), expected)
        assert_same(pa.Table.from_batches(file.to_batches(filter=expression), file.schema), expected)
        assert file.count_rows(expression) == len(expected)
        assert_same(file.read(filter=expression, rows=(500, 15_500)), table.slice(500, 15_000).filter(expression))
    dataset = pads.dataset(str(path), format=LanceFormat())
    assert_same(dataset.to_table(filter=expression), expected)
    assert dataset.count_rows(filter=expression) == len(expected)


def test_zones_that_say_no_are_not_decoded(path, table, receipts):
    with LanceFile(path) as file:
        file.read(["s"], filter=F("n") < 1500)
    assert receipts[-1].decoded_rows == {"n": ROWS_PER_ZONE, "s": 1500}
    assert receipts[-1].rows == 1500
    pads.dataset(str(path), format=LanceFormat()).to_table(columns=["s"], filter=(F("n") < 10) | (F("n") > 19_990))
    assert receipts[-1].decoded_rows == {"n": 2 * ROWS_PER_ZONE, "s": 19}
    report = receipts[-1]
    assert (report.zones_total, report.zones_pruned, report.zones_read) == (20, 18, 2)


def test_the_reference_passes_maps_over(path, table, witness):
    assert_same(witness.read(path), table)


def test_zones_are_shown(path):
    with LanceFile(path) as file:
        zones = file.zones("n")
        assert zones.column("min").to_pylist() == list(range(0, NUM_ROWS, ROWS_PER_ZONE))
        assert file.zones("st.a").column("null_count").to_pylist()[0] == len(range(0, 1000, 11))
        assert file.zones("l").column("value_count").to_pylist() == [2000] * 20
        with pytest.raises(InvalidArgumentError, match=r"st\.a, st\.b"):
            file.zones("st")
        with pytest.raises(InvalidArgumentError, match="nowhere"):
            file.zones("nowhere")


def test_files_without_maps_have_none(table, witness, tmp_path):
    plain = witness.write(table, tmp_path / "plain.lance", "2.2")
    with LanceFile(plain) as file:
        assert file.zones("n") is None


def test_damaged_maps_are_refused_by_filtered_reads_alone(path, table):
    content = bytearray(path.read_bytes())
    start = content.index(b"row_count")
    content[start] ^= 1
    with LanceFile(bytes(content)) as file:
        assert file.read(["n"]).num_rows == NUM_ROWS
        with pytest.raises(CorruptFileError, match="zone map"):
            file.read(filter=F("n") < 5)
