"""Zone maps beside files: they prune as those in files do, and whatever is wrong with one never changes a row."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from witness import Witness

from lance_arrow import LanceFile, LanceFormat, LanceFragmentScanOptions, build_zones, write_table
from lance_arrow import dataset as open_dataset
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import resolve
from lance_arrow.statistics.zone_sidecar import sidecar_location

ROWS = 20_000
ZONE = 1000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "word": [None if i % 7 == 0 else f"word {i // 2000:03}" for i in range(ROWS)],
        "items": [[i, i + 1] for i in range(ROWS)],
        "vector": pa.array([[i, -i] for i in range(ROWS)], pa.list_(pa.float32(), 2)),
    }
)
CONDITION = (pc.field("id") >= 5100) & (pc.field("id") < 5200)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file without zone maps."""
    target = tmp_path_factory.mktemp("plain") / "f.lance"
    write_table(TABLE, target, rows_per_zone=0, checksums=False)
    return target.read_bytes()


@pytest.fixture
def path(plain: bytes, tmp_path: Path) -> Path:
    (tmp_path / "f.lance").write_bytes(plain)
    return tmp_path / "f.lance"


def sidecar_of(path: Path) -> Path:
    return path.with_name(f"_{path.name}.zones")


def rows_to_read(path: Path) -> int:
    return open_dataset(path).explain(filter=CONDITION).total("rows_to_read")


def check_rows(path: Path) -> None:
    assert open_dataset(path).to_table(filter=CONDITION).equals(TABLE.slice(5100, 100))


def test_sidecars_prune_as_maps_in_files_do(path: Path) -> None:
    assert rows_to_read(path) == ROWS
    (built,) = build_zones(path, rows_per_zone=ZONE)
    assert built.sidecar == str(sidecar_of(path))
    assert built.columns == ("id", "word", "items.item")
    assert (built.present, built.unbounded, built.num_rows) == ((), ("vector",), ROWS)
    assert built.size_bytes == sidecar_of(path).stat().st_size
    assert rows_to_read(path) == ZONE
    check_rows(path)
    with LanceFile(path) as file:
        assert file.zones("id").num_rows == ROWS // ZONE
        assert file.read(["id"], filter=CONDITION)["id"].to_pylist() == list(range(5100, 5200))
        assert file.count_rows([("word", "==", "word 003")]) == sum(w == "word 003" for w in TABLE["word"].to_pylist())
    fragment = LanceFormat().make_fragment(str(path))
    assert fragment.num_zones == ROWS // ZONE
    assert fragment.subset(CONDITION).rows == [(5000, 6000)]


def test_files_of_the_reference_get_them(witness: Witness, tmp_path: Path) -> None:
    path = witness.write(TABLE, tmp_path / "f.lance", "2.1")
    build_zones([path], rows_per_zone=ZONE)
    assert rows_to_read(path) == ZONE
    check_rows(path)


def test_folders_do_not_show_them(path: Path) -> None:
    build_zones(path)
    assert pads.dataset(str(path.parent), format=LanceFormat()).files == [str(path)]
    assert open_dataset(path.parent).count_rows() == ROWS


def test_what_is_in_the_file_is_not_built_again(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "f.lance", rows_per_zone=ZONE)
    (built,) = build_zones(tmp_path / "f.lance")
    assert (built.sidecar, built.size_bytes) == (None, 0)
    assert built.present == ("id", "word", "items.item")
    assert not sidecar_of(tmp_path / "f.lance").exists()


def test_only_wanted_columns_are_built(path: Path) -> None:
    (built,) = build_zones(path, columns=["word"], rows_per_zone=ZONE)
    assert built.columns == ("word",)
    assert rows_to_read(path) == ROWS
    with LanceFile(path) as file:
        assert file.zones("id") is None
        assert file.zones("word") is not None
    for wrong in (0, 1 << 32, True):
        with pytest.raises(InvalidArgumentError, match="rows_per_zone"):
            build_zones(path, rows_per_zone=wrong)
    with pytest.raises(InvalidArgumentError, match="nobody"):
        build_zones(path, columns=["nobody"])
    with pytest.raises(FileNotFoundError):
        build_zones(path.with_name("gone.lance"))


def test_the_same_file_has_the_same_sidecar(path: Path) -> None:
    build_zones(path)
    first = sidecar_of(path).read_bytes()
    build_zones(path)
    assert sidecar_of(path).read_bytes() == first


def test_a_file_written_after_its_sidecar_is_not_judged_by_it(path: Path) -> None:
    """Other values of the same widths leave size, footer and metadata as they are."""
    build_zones(path, rows_per_zone=ZONE)
    moved = TABLE.set_column(0, "id", pa.array([(i + 9000) % ROWS for i in range(ROWS)], pa.int64()))
    write_table(moved, path, rows_per_zone=0, checksums=False)
    os.utime(path, ns=(0, sidecar_of(path).stat().st_mtime_ns + 1))
    assert rows_to_read(path) == ROWS
    assert open_dataset(path).to_table(filter=CONDITION)["id"].to_pylist() == list(range(5100, 5200))


def test_a_sidecar_of_another_file_says_nothing(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.lance"
    write_table(TABLE.slice(10), other, rows_per_zone=0, checksums=False)
    build_zones(other, rows_per_zone=ZONE)
    sidecar_of(path).write_bytes(sidecar_of(other).read_bytes())
    assert rows_to_read(path) == ROWS
    check_rows(path)


def test_scans_may_pass_them_over_without_a_look(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = MemoryFileSystem()
    filesystem.pipe_file("/side/f.lance", plain)
    asked: list[str] = []
    original = filesystem.info

    def counted(path, **kwargs):  # type: ignore[no-untyped-def]
        asked.append(path)
        return original(path, **kwargs)

    build_zones("/side/f.lance", filesystem=filesystem, rows_per_zone=ZONE)
    monkeypatch.setattr(filesystem, "info", counted)
    dataset = open_dataset("/side/f.lance", filesystem=filesystem)
    asked.clear()
    off = LanceFragmentScanOptions(sidecars=False)
    assert dataset.to_table(filter=CONDITION, fragment_scan_options=off).num_rows == 100
    assert [path for path in asked if path.endswith(".zones")] == []
    assert dataset.to_table().num_rows == ROWS
    assert [path for path in asked if path.endswith(".zones")] == []
    assert dataset.to_table(filter=CONDITION).equals(TABLE.slice(5100, 100))
    assert len([path for path in asked if path.endswith(".zones")]) in (1, 2)
    filesystem.rm("/side", recursive=True)


def test_one_look_for_what_is_not_there(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = MemoryFileSystem()
    filesystem.pipe_file("/none/f.lance", plain)
    asked: list[str] = []
    original = filesystem.info

    def counted(path, **kwargs):  # type: ignore[no-untyped-def]
        asked.append(path)
        return original(path, **kwargs)

    monkeypatch.setattr(filesystem, "info", counted)
    dataset = open_dataset("/none/f.lance", filesystem=filesystem)
    for _ in range(3):
        assert dataset.to_table(filter=CONDITION).num_rows == 100
    assert len([path for path in asked if path.endswith(".zones")]) <= 1
    filesystem.rm("/none", recursive=True)


def test_places_in_any_filesystem() -> None:
    location = sidecar_location(resolve("memory://folder/f.lance"))
    assert location.path.endswith("folder/_f.lance.zones")
    assert sidecar_location(resolve("f.lance")).path == "_f.lance.zones"


@given(data=st.data())
@settings(max_examples=60)
def test_damage_is_no_pruning(data: st.DataObject, damaged: tuple[Path, bytes]) -> None:
    path, whole = damaged
    content = bytearray(whole)
    kind = data.draw(st.sampled_from(["flip", "cut", "grow", "header"]))
    if kind == "cut":
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    elif kind == "grow":
        content += data.draw(st.binary(min_size=1, max_size=20))
    else:
        stop = len(content) if kind == "flip" else 200
        content[data.draw(st.integers(0, stop - 1))] ^= 1 << data.draw(st.integers(0, 7))
    sidecar_of(path).write_bytes(content)
    kept = open_dataset(path).explain(filter=CONDITION).total("rows_to_read")
    # Of bytes that nothing means the map may still be read.
    assert kept in (ROWS, ZONE)
    check_rows(path)


@pytest.fixture(scope="module")
def damaged(plain: bytes, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("damaged") / "f.lance"
    path.write_bytes(plain)
    build_zones(path, rows_per_zone=ZONE)
    return path, sidecar_of(path).read_bytes()


def test_what_may_not_be_read_is_not_there(path: Path) -> None:
    sidecar_of(path).mkdir()
    assert rows_to_read(path) == ROWS
    check_rows(path)
