"""Files that are mapped into memory: the rows and errors of files that are read, and no copy of what lies there."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceFile
from lance_arrow.errors import CorruptFileError, CorruptPageError, InvalidArgumentError
from lance_arrow.spi import ReadReport

ROWS = 6000
SOME = [5999, 0, 17, 17, 4096]


def table() -> pa.Table:
    rng = np.random.default_rng(1)
    few = rng.integers(0, 30, ROWS)
    return pa.table({
        "packed": rng.integers(0, 1000, ROWS),
        "plain": rng.normal(size=ROWS),
        "null": pa.array(rng.integers(0, 9, ROWS), mask=rng.random(ROWS) < 0.2),
        "text": [f"{number} of {ROWS}" for number in range(ROWS)],
        "word": pa.array([f"word {one}" for one in few]),
        "list": [[int(one)] * (one % 4) if one % 5 else None for one in few],
        "large": pa.array([b"%d" % one * 500 for one in few], pa.large_binary()),
        "vector": pa.FixedSizeListArray.from_arrays(rng.normal(size=4 * ROWS), 4),
    })  # fmt: skip


@pytest.fixture(scope="module", params=["2.0", "2.2", "2.3"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mapped") / f"{request.param}.lance"
    lance_arrow.write_table(table(), path, file_version=request.param)
    return path


def test_rows_are_those_that_are_read(path: Path) -> None:
    with LanceFile(path) as read, LanceFile(path, memory_map=True) as mapped:
        assert mapped.schema.equals(read.schema)
        for columns in (None, ["text"], ["packed", "list"]):
            assert mapped.read(columns).equals(read.read(columns))
            assert mapped.take(SOME, columns).equals(read.take(SOME, columns))
        condition = (pc.field("packed") < 9) & (pc.field("word") != "word 3")
        assert mapped.read(filter=condition).equals(read.read(filter=condition))
        assert mapped.read(filter=condition).num_rows


def test_rows_outlive_the_file(path: Path) -> None:
    with LanceFile(path, memory_map=True) as file:
        found = file.read()
        batches = file.to_batches()
        next(batches)
    assert found.equals(table().cast(found.schema))
    assert found.slice(3, 2).to_pylist() == table().slice(3, 2).to_pylist()


def test_a_replaced_file_keeps_its_rows(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lance"
    copy.write_bytes(path.read_bytes())
    with LanceFile(copy, memory_map=True) as file:
        lance_arrow.write_table(table().slice(0, 10), tmp_path / "new.lance")
        (tmp_path / "new.lance").replace(copy)
        assert file.read(["text"]).equals(table().select(["text"]))
    assert LanceFile(copy, memory_map=True).num_rows == 10


def test_damage_is_noticed(path: Path, tmp_path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    damaged = tmp_path / "damaged.lance"
    damaged.write_bytes(data)
    with LanceFile(damaged, memory_map=True) as file:
        with pytest.raises(CorruptFileError, match="checksum") as mapped:
            file.read()
        # What was refused once is refused again.
        with pytest.raises(CorruptFileError, match="checksum"):
            file.read()
    with LanceFile(damaged) as file, pytest.raises(CorruptFileError, match="checksum") as read:
        file.read()
    told = [
        (error.value.path, error.value.column, error.value.page, error.value.byte_range) for error in (mapped, read)
    ]
    assert told[0] == told[1]


def test_bytes_that_contradict_themselves_are_refused_as_in_a_read_file(path: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.lance"
    # Any bits are floats, and not all of them equal themselves.
    lance_arrow.write_table(
        table().drop(["plain", "vector", "large"]), bare, file_version=path.stem, checksums=False, page_bytes=5000
    )
    data = bare.read_bytes()
    damaged = tmp_path / "damaged.lance"
    refused = 0
    for place in np.random.default_rng(2).integers(0, len(data) - 64, 30).tolist():
        damaged.write_bytes(data[:place] + b"\xff" * 16 + data[place + 16 :])
        outcomes = [outcome(damaged, memory_map=is_mapped) for is_mapped in (False, True)]
        assert outcomes[0] == outcomes[1], place
        refused += not isinstance(outcomes[0], pa.Table)
    # Plain values have no bytes that could be wrong.
    assert refused or path.stem == "2.0"


def outcome(path: Path, *, memory_map: bool) -> object:
    try:
        with LanceFile(path, memory_map=memory_map) as file:
            return file.take(list(range(0, ROWS, 10)))
    except (CorruptFileError, CorruptPageError) as error:
        return type(error), error.column, error.page, error.byte_range


def test_it_opens_again_from_a_pickle(path: Path) -> None:
    with LanceFile(path, memory_map=True) as file:
        again = pickle.loads(pickle.dumps(file))
    assert again.take(SOME, ["word"]).equals(table().take(SOME).select(["word"]))
    assert type(again._source._inner).__name__ == "MappedSource"


def test_only_local_files_are_mapped(path: Path, tmp_path: Path) -> None:
    for source in (path.read_bytes(), io.BytesIO(path.read_bytes()).getbuffer(), "memory://somewhere.lance"):
        with pytest.raises(InvalidArgumentError, match="only local files can be mapped"):
            LanceFile(source, memory_map=True)
    with pytest.raises(FileNotFoundError):
        LanceFile(tmp_path / "missing.lance", memory_map=True)
    with pytest.raises(IsADirectoryError):
        LanceFile(tmp_path, memory_map=True)
    (tmp_path / "empty.lance").touch()
    with pytest.raises(CorruptFileError):
        LanceFile(tmp_path / "empty.lance", memory_map=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors are counted in /proc")
def test_nothing_stays_open(path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    file = LanceFile(path, memory_map=True)
    file.read(["packed"])
    file.close()
    del file
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_each_byte_is_counted_once(path: Path, receipts: list[ReadReport]) -> None:
    for is_mapped in (False, True):
        with LanceFile(path, memory_map=is_mapped) as file:
            file.read(["packed"])
    read, mapped = receipts
    assert mapped.requested_bytes == read.requested_bytes
    assert mapped.fetched_bytes <= read.fetched_bytes
    assert mapped.requests <= read.requests
