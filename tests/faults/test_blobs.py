"""Places of blobs that lie: a located error, and nothing allocated on their word."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest
from blobs import first_kind, second_table, write_second
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile, Limits, Runtime, Settings
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import CorruptFileError, MissingFileError, ResourceLimitError, UnsupportedError
from lance_arrow.io import LocalSource

pytestmark = pytest.mark.interop

VALUES = [b"a" * 1111, b"b" * 2222, None, b"c" * 3333]


@pytest.fixture(scope="module", params=["2.1", "2.2"])
def whole(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return witness.write(first_kind(VALUES), tmp_path_factory.mktemp("whole") / "file.lance", request.param)


def place_of(path: Path, row: int) -> tuple[int, int]:
    with LanceFile(path, blobs="descriptors") as file:
        found = file.take([row], ["b"]).column("b")[0].as_py()
    return found["position"], found["size"]


def damaged(path: Path, row: int, position: int, size: int, target: Path) -> Path:
    """Change one place; it is stored plainly, and once."""
    content = path.read_bytes()
    old = struct.pack("<QQ", *place_of(path, row))
    assert content.count(old) == 1
    target.write_bytes(content.replace(old, struct.pack("<QQ", position, size)))
    return target


def data_stop(path: Path) -> int:
    with LanceFileReader(LocalSource(path)) as reader:
        return reader.footer.data_stop


HUGE = (1 << 64) - 1


@pytest.mark.parametrize(
    ("shift", "size"),
    [(0, 1 << 20), (0, HUGE), (0, 1 << 63), (HUGE, 1), (1 << 63, 1), (HUGE, HUGE), (1 << 62, 1 << 62)],
)
def test_places_beyond_the_file_are_refused(whole: Path, tmp_path: Path, shift: int, size: int) -> None:
    position = max(place_of(whole, 1)[0], shift)
    path = damaged(whole, 1, position, size, tmp_path / "bad.lance")
    with LanceFile(path) as file:
        for read in (file.read, lambda: file.take([1]), lambda: file.take_blobs("b", [1])):
            with pytest.raises(CorruptFileError, match=f"{size} bytes at {position}") as found:
                read()
            assert (found.value.path, found.value.column) == (str(path), "b")
        assert file.take([0, 2, 3]).column("b").to_pylist() == [VALUES[0], None, VALUES[3]]
        assert file.read(["n"]).num_rows == 4
    with pytest.raises(CorruptFileError, match="bytes at"):
        lance_arrow.dataset(path).to_table()


def test_places_end_where_metadata_begins(whole: Path, tmp_path: Path) -> None:
    stop = data_stop(whole)
    position, _ = place_of(whole, 1)
    with LanceFile(damaged(whole, 1, position, stop - position, tmp_path / "last.lance")) as file:
        assert len(file.take([1]).column("b")[0].as_py()) == stop - position
    bad = damaged(whole, 1, position, stop - position + 1, tmp_path / "bad.lance")
    with LanceFile(bad) as file, pytest.raises(CorruptFileError, match=f"values end at {stop}"):
        file.read()


def test_blobs_above_the_limit_are_not_allocated(whole: Path) -> None:
    runtime = Runtime(Settings(limits=Limits(max_batch_bytes=3000), blob_batch_bytes=2500, num_threads=1))
    with LanceFile(whole, runtime=runtime) as file:
        assert file.take([0, 1, 2]).column("b").to_pylist() == VALUES[:3]
        with pytest.raises(ResourceLimitError, match="max_batch_bytes"):
            file.take([3])


def test_many_rows_of_the_same_bytes_come_in_small_batches(witness: Witness, tmp_path: Path) -> None:
    """A file of 100 kB whose 500 rows all name its first 90 kB: 45 MB, of which never more than a batch is held."""
    values = [b"x" * 90_000, *(bytes([65 + n % 26]) * (n + 1) for n in range(500))]
    path = witness.write(first_kind(values), tmp_path / "file.lance", "2.1")
    with LanceFile(path, blobs="descriptors") as file:
        places = [(row["position"], row["size"]) for row in file.read(["b"]).column("b").to_pylist()]
    content = path.read_bytes()
    for place in places[1:]:
        content = content.replace(struct.pack("<QQ", *place), struct.pack("<QQ", *places[0]), 1)
    path.write_bytes(content)
    runtime = Runtime(Settings(blob_batch_bytes=1 << 20, num_threads=1))
    with LanceFile(path, runtime=runtime) as file:
        before = pa.total_allocated_bytes()
        most = rows = 0
        for batch in file.to_batches():
            rows += batch.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
            assert batch.column("b").nbytes <= (1 << 20) + 64 * batch.num_rows
        assert rows == 501
        assert most < 3 << 20


def test_scans_cut_windows_by_bytes(witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [bytes([n % 251]) * 50_000 if n % 9 else None for n in range(100)]
    path = witness.write(first_kind(values), tmp_path / "file.lance", "2.2")
    runtime = Runtime(Settings(blob_batch_bytes=200_000, num_threads=1))
    monkeypatch.setattr("lance_arrow.scan.open_files.default_runtime", lambda: runtime)
    batches = list(lance_arrow.dataset(path).to_batches())
    assert [value for batch in batches for value in batch.column("b").to_pylist()] == values
    assert max(batch.column("b").nbytes for batch in batches) < 201_000
    assert max(batch.num_rows for batch in batches) >= 4


def test_wrong_sidecars_are_refused(witness: Witness, tmp_path: Path) -> None:
    values = [b"in", bytes(100_000), b"\1" * 90_000]
    _, alone = write_second(witness, second_table(values), tmp_path, "2.2")
    (sidecar,) = alone.with_suffix("").iterdir()
    assert sidecar.name == "1" + "0" * 31 + ".blob"
    content = sidecar.read_bytes()
    sidecar.write_bytes(content[:-1])
    with LanceFile(alone) as file:
        assert file.take([0, 1]).column("b").to_pylist() == values[:2]
        with pytest.raises(CorruptFileError, match="sidecar") as found:
            file.take([2])
        assert found.value.column == "b"
    sidecar.unlink()
    with LanceFile(alone) as file:
        for read in (file.read, lambda: file.take_blobs("b", [1])):
            with pytest.raises(MissingFileError) as missing:
                read()
            assert isinstance(missing.value, FileNotFoundError)
            assert missing.value.column == "b"
        assert file.take([0]).column("b").to_pylist() == [b"in"]
    sidecar.mkdir()
    with LanceFile(alone) as file, pytest.raises(IsADirectoryError):
        file.read()


@pytest.mark.parametrize(
    ("kind", "error"), [(4, UnsupportedError), (5, CorruptFileError), (255, CorruptFileError), (3, UnsupportedError)]
)
def test_kinds_that_no_file_can_hold_are_refused(
    witness: Witness, tmp_path: Path, kind: int, error: type[Exception]
) -> None:
    marked = [b"x" * 300, b"y" * 301]
    _, alone = write_second(witness, second_table(marked), tmp_path, "2.2")
    with LanceFile(alone, blobs="descriptors") as file:
        row = file.read().column("b")[1].as_py()
    old = struct.pack("<BQQI", 0, row["position"], row["size"], 0)
    content = alone.read_bytes()
    assert content.count(old) == 1
    alone.write_bytes(content.replace(old, bytes([kind]) + old[1:]))
    with LanceFile(alone) as file:
        with pytest.raises(error, match="blob"):
            file.read()
        assert file.take([0]).column("b").to_pylist() == marked[:1]
