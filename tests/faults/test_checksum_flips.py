"""Flipped bits in files with checksums: right rows, or `CorruptFileError`; nothing else, and never silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from checksummed import with_checksums
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.container import checksums
from lance_arrow.errors import CorruptFileError

pytestmark = pytest.mark.interop

BLOCK_BYTES = 512
RNG = seeded("checksum flips")


def many_kinds(num_rows: int) -> pa.Table:
    rows = range(num_rows)
    return pa.table(
        {
            "n": pa.array(RNG.integers(0, 2**50, num_rows)),
            "s": pa.array([None if i % 5 == 0 else f"text {i % 77} " * (i % 4) for i in rows]),
            "l": pa.array([[{"x": i + k, "y": None} for k in range(i % 4)] for i in rows]),
            "v": pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(num_rows * 64).astype(np.float32)), 64),
        }
    )


class Sums:
    """One file with checksums, its rows, and its end by parts."""

    def __init__(self, whole: bytes, table: pa.Table, block_bytes: int = BLOCK_BYTES) -> None:
        self.table = table
        self.data, self.tail = with_checksums(whole, block_bytes)
        self.take = RNG.choice(table.num_rows, min(40, table.num_rows), replace=False)

    def flipped(self, bit: int) -> bytes:
        damaged = bytearray(self.data)
        damaged[bit // 8] ^= 1 << bit % 8
        return bytes(damaged)

    def outcome(self, bit: int, path: Path | None = None) -> str:
        """Read, and take, from a file with a flipped bit."""
        source: object = self.flipped(bit)
        if path is not None:
            path.write_bytes(source)
            source = str(path)
        outcomes = []
        for read in (lambda file: file.read(), lambda file: file.take(self.take)):
            try:
                with lance_arrow.LanceFile(source) as file:
                    rows = read(file)
            except CorruptFileError:
                outcomes.append("noticed")
            else:
                wanted = self.table.take(pa.array(self.take)) if outcomes else self.table
                outcomes.append("right" if rows.equals(wanted) else "SILENT")
        return " ".join(sorted(set(outcomes)))


@pytest.fixture(scope="module")
def write(witness: Witness, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("flips")

    def call(table: pa.Table, version: str) -> bytes:
        return witness.write(table, folder / f"file-{version}.lance", version).read_bytes()

    return call


@pytest.fixture(params=["whole", "late"])
def sums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether checksums of blocks are read at once, or when blocks are: as in large files."""
    monkeypatch.setattr(checksums, "LATE_BYTES", 0 if request.param == "late" else checksums.LATE_BYTES)
    return request.param


@pytest.mark.usefixtures("sums")
def test_every_bit_behind_the_data(write):
    one = Sums(write(pa.table({"a": pa.array([1, 2, 3])}), "2.2"), pa.table({"a": [1, 2, 3]}))
    covered = np.zeros(len(one.data), bool)
    for block in one.tail.blocks():
        covered[block.position : block.stop] = True
    found: dict[str, set[bool]] = {"noticed": set(), "right": set()}
    for bit in range(one.tail.table.position * 8, len(one.data) * 8):
        try:
            with lance_arrow.LanceFile(one.flipped(bit)) as file:
                outcome = "right" if file.read().equals(one.table) else "SILENT"
        except CorruptFileError:
            outcome = "noticed"
        # What is noticed is exactly what means something: what lies between may hold anything.
        found[outcome].add(bool(covered[bit // 8]))
    assert found == {"noticed": {True}, "right": {False}}


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_bits_everywhere(write, version, tmp_path):
    table = many_kinds(600)
    one = Sums(write(table, version), table)
    outcomes: dict[str, int] = {}
    for number, bit in enumerate(RNG.choice(len(one.data) * 8, 120, replace=False).tolist()):
        # Files are read by position, memory is not: both are checked in the native engine, each in its own way.
        outcome = one.outcome(bit, tmp_path / "damaged.lance" if number % 2 else None)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert set(outcomes) <= {"noticed", "right", "noticed right"}
    assert sum(count for outcome, count in outcomes.items() if "noticed" in outcome) > 50


def test_the_error_names_column_page_and_bytes(write, tmp_path):
    table = many_kinds(600)
    one = Sums(write(table, "2.2"), table)
    with lance_arrow.LanceFile(one.data) as file:
        page = file._file.columns([3])[0].pages[0]
    position = int(page.buffer_offsets[-1]) + 1000
    path = tmp_path / "damaged.lance"
    path.write_bytes(one.flipped(position * 8))
    for read in (lambda file: file.read(["v"]), lambda file: file.take([3, 4, 5, 6], ["v"])):
        with lance_arrow.LanceFile(path) as file, pytest.raises(CorruptFileError, match="checksum") as caught:
            read(file)
        error = caught.value
        assert (error.column, error.page, error.path) == ("v", 0, str(path))
        assert error.byte_range[0] <= position < error.byte_range[1]
        assert error.byte_range[1] - error.byte_range[0] <= BLOCK_BYTES
    with lance_arrow.LanceFile(path) as file:
        # Blocks that nobody touches are nobody's concern.
        assert file.read(["n", "s", "l"]) == table.select(["n", "s", "l"])
    with lance_arrow.LanceFile(path, verify="off") as file:
        assert file.read(["v"]) != table.select(["v"])
    with pytest.raises(CorruptFileError, match="checksum"):
        lance_arrow.LanceFile(path, verify="full")


def test_takes_pay_once(write, tmp_path):
    table = many_kinds(600)
    path = tmp_path / "sound.lance"
    path.write_bytes(Sums(write(table, "2.2"), table).data)
    wanted = [5, 77, 300, 555]

    def fetched(file):
        before = file._source.snapshot()
        assert file.take(wanted) == table.take(wanted)
        return (file._source.snapshot() - before).bytes_fetched

    with lance_arrow.LanceFile(path) as checked, lance_arrow.LanceFile(path, verify="off") as plain:
        first, unchecked = fetched(checked), fetched(plain)
        assert first > unchecked
        assert fetched(checked) == fetched(plain)


def test_lance_format_verifies(write, tmp_path):
    table = many_kinds(600)
    one = Sums(write(table, "2.2"), table)
    path = tmp_path / "damaged.lance"
    path.write_bytes(one.flipped(1000))
    with pytest.raises(CorruptFileError, match="checksum"):
        lance_arrow.dataset(path).to_table()
    assert lance_arrow.dataset(path, verify="off").to_table() != table
    with pytest.raises(CorruptFileError, match="checksum"):
        lance_arrow.read_table(path)
    assert lance_arrow.read_table(path, verify="off") != table
    assert lance_arrow.LanceFormat(verify="off") != lance_arrow.LanceFormat()
    assert repr(lance_arrow.LanceFormat(verify="full")) == "LanceFormat(verify='full')"


def test_the_reference_reads_files_with_checksums(write, witness, tmp_path):
    for version in ("2.1", "2.2", "2.3"):
        table = many_kinds(600)
        path = tmp_path / f"{version}.lance"
        path.write_bytes(Sums(write(table, version), table).data)
        assert witness.read(path) == table
        assert witness.take(path, [0, 5, 599]) == table.take([0, 5, 599])
