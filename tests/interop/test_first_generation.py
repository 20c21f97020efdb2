"""Files of 0.1 that the reference wrote: read equal, as far as that generation can hold rows; damage is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from first_files import FirstFile
from forge import scan
from manifests import change
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.errors import CorruptFileError, LanceError, UnknownEncodingError, UnsupportedError
from lance_arrow.proto import file_schema_pb2
from lance_arrow.runtime import Runtime
from lance_arrow.spi.loading import entry_points, load_plugins

pytestmark = pytest.mark.interop

NUM_ROWS = 2500
PLUGINS = {
    "codec.v01.plain": "i",
    "codec.v01.var_binary": "s",
    "codec.v01.list_offsets": "l",
    "codec.v01.dictionary": "d",
    "codec.v01.nothing": "n",
    "layout.array": "i",
}


def every_type() -> pa.Table:
    """Columns of each kind of page, over several batches, without what 0.1 forgets."""
    rows = range(NUM_ROWS)
    rng = seeded("0.1")
    words = [f"word {'x' * int(size)}" for size in rng.integers(0, 30, NUM_ROWS)]
    inner = pa.struct([("a", pa.int16()), ("b", pa.string())])
    return pa.table(
        {
            "i": pa.array(rng.integers(-100, 100, NUM_ROWS)),
            "h": pa.array(rng.standard_normal(NUM_ROWS).astype(np.float16)),
            "bit": pa.array(rng.random(NUM_ROWS) < 0.5),
            "s": pa.array([None if row % 7 == 0 else word for row, word in enumerate(words)]),
            "bin": pa.array([word.encode() for word in words], pa.large_binary()),
            "l": pa.array([list(range(row % 5)) for row in rows], pa.list_(pa.int32())),
            "ll": pa.array([[["q"] * j for j in range(row % 4)] for row in rows], pa.large_list(pa.list_(pa.string()))),
            "los": pa.array([[{"a": j, "b": f"z{j}"} for j in range(row % 4)] for row in rows], pa.list_(inner)),
            "fsl": pa.array([[row, row + 1.5] for row in rows], pa.list_(pa.float32(), 2)),
            "bits": pa.array([[row % 2 == 0, row % 3 == 0, True] for row in rows], pa.list_(pa.bool_(), 3)),
            "d": pa.array([f"c{row % 5}" for row in rows]).dictionary_encode(),
            "di": pa.DictionaryArray.from_arrays(pa.array([row % 3 for row in rows], pa.int8()), pa.array([5, 6, 7])),
            "n": pa.nulls(NUM_ROWS),
            "st": pa.array([{"x": row, "y": {"z": f"t{row}"}} for row in rows]),
            "dec": pa.array(rows).cast(pa.decimal128(19, 0)),
            "fsb": pa.array([b"abc"] * NUM_ROWS, pa.binary(3)),
            "ts": pa.array(rows, pa.timestamp("us", "UTC")),
        }
    )


def write(witness: Witness, table: pa.Table, folder: Path) -> Path:
    """Write a table of one fragment, and return its data file."""
    (path,) = (witness.write_directory(table, folder / "table.lance", "legacy") / "data").glob("*.lance")
    return path


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(witness, every_type(), tmp_path_factory.mktemp("legacy"))


def test_every_type_is_read(path: Path) -> None:
    expected = every_type()
    picks = seeded("picks").integers(0, NUM_ROWS, 60)
    with lance_arrow.LanceFile(path) as file:
        assert file.version == "0.1"
        assert file.schema.names == expected.column_names
        assert_same(expected, file.read())
        assert_same(taken(expected, picks), file.take(picks))
        assert_same(expected, pa.Table.from_batches(file.to_batches(batch_size=333), file.schema))
        assert_same(expected.select(["st", "l"]), file.read(["st", "l"]))
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert_same(expected, dataset.to_table())
    kept = pc.field("i") > 90
    assert_same(expected.filter(kept).select(["s", "i"]), dataset.to_table(columns=["s", "i"], filter=kept))


def test_no_rows(witness: Witness, tmp_path: Path) -> None:
    # Dictionaries need items there.
    empty = every_type().slice(0, 0).drop_columns(["d", "di"])
    table = witness.write_directory(empty, tmp_path / "table.lance", "legacy")
    assert_same(empty, lance_arrow.LanceTable.open(table).to_table())


def test_sizes_in_manifests_are_not_believed(witness: Witness, tmp_path: Path) -> None:
    """Releases 0.27 to 4.0 name the size that a file had before its end was written."""
    expected = every_type()
    path = write(witness, expected, tmp_path)
    table = path.parent.parent
    change(table, lambda message: setattr(message.fragments[0].files[0], "file_size_bytes", path.stat().st_size - 9000))
    assert_same(expected, lance_arrow.LanceTable.open(table).to_table())
    assert_same(expected, pads.dataset(table, format=lance_arrow.LanceFormat()).to_table())
    assert_same(expected.slice(7, 1), lance_arrow.dataset(table).take([7]))
    assert_same(expected, witness.read_directory(table))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugins_are_missed_by_name(path: Path, plugin: str) -> None:
    kept = load_plugins([point for point in entry_points() if point.name != plugin])
    with lance_arrow.LanceFile(path, runtime=Runtime(plugins=kept)) as file:
        with pytest.raises(UnknownEncodingError, match="LegacyPage") as caught:
            file.read(columns=[PLUGINS[plugin]])
        assert str(caught.value.column).startswith(PLUGINS[plugin])


def test_verify_finds_nothing_wrong(path: Path) -> None:
    report = lance_arrow.verify(path)
    assert report.ok
    assert not report.unchecked
    assert report.checked.rows == NUM_ROWS


def metadata_of(content: bytes) -> int:
    return struct.unpack("<Q", content[-16:-8])[0]


def damaged(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


@pytest.mark.parametrize("position", [2**63, 2**64 - 1, 10**9])
def test_metadata_outside_of_the_file(path: Path, tmp_path: Path, position: int) -> None:
    bad = tmp_path / "bad.lance"
    content = path.read_bytes()
    bad.write_bytes(damaged(content, len(content) - 16, position.to_bytes(8, "little")))
    with pytest.raises(CorruptFileError, match="metadata") as caught:
        scan(bad)
    assert caught.value.path == str(bad)


def test_no_manifest_is_no_schema(path: Path, tmp_path: Path) -> None:
    """Field 1 of the metadata, the manifest's position, is made a field that nobody knows."""
    bad = tmp_path / "bad.lance"
    content = path.read_bytes()
    place = metadata_of(content) + 4
    assert content[place] == 0x08
    bad.write_bytes(damaged(content, place, b"\x30"))
    with pytest.raises(UnsupportedError, match="schema"):
        scan(bad)


def test_a_field_of_unknown_bytes_is_refused_by_name(tmp_path: Path) -> None:
    rows = pa.table({"plain": [1, 2, 3], "runs": [4, 4, 4]})
    path = tmp_path / "runs.lance"
    path.write_bytes(FirstFile(rows, [3]).build())
    assert_same(rows, scan(path))
    path.write_bytes(FirstFile(rows, [3], encodings={"runs": file_schema_pb2.RLE}).build())
    with pytest.raises(UnsupportedError, match="RLE") as caught:
        scan(path)
    assert (caught.value.column, caught.value.path) == ("runs", str(path))


def test_damaged_files_give_rows_or_a_lance_error(path: Path, tmp_path: Path, whole_run: bool) -> None:
    """Page tables and messages lie behind the values: numbers at the borders of their types are written there."""
    content = path.read_bytes()
    rng = seeded("damage")
    bad = tmp_path / "bad.lance"
    outcomes = {"rows": 0, "refused": 0}
    tail = min(len(content), 30_000)
    count = 250 if whole_run else 100
    for _ in range(count):
        width = int(rng.choice([1, 4, 8]))
        at = len(content) - int(rng.integers(width, tail))
        number = int(rng.choice([0, 1, 2**7, 2**31, 2**62])) % 2 ** (8 * width)
        bad.write_bytes(damaged(content, at, number.to_bytes(width, "little")))
        try:
            # Arrow calls damaged decimals invalid by themselves.
            scan(bad).drop_columns(["dec"]).validate(full=True)
        except LanceError as error:
            assert error.path == str(bad)  # noqa: PT017
            outcomes["refused"] += 1
        else:
            outcomes["rows"] += 1
    assert outcomes["refused"] > count // 6
    assert outcomes["rows"] > count // 25
