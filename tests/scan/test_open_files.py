"""Files that are held open, shown with other options: nothing of them is opened or asked for again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from stores import CountingStore

import lance_arrow
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.errors import LanceError
from lance_arrow.scan import open_files
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.open_files import OpenFiles

ROWS = pa.table({"n": range(1000), "s": [f"text {n % 7}" for n in range(1000)]})


@pytest.fixture
def store(tmp_path: Path) -> CountingStore:
    lance_arrow.write_table(ROWS, tmp_path / "f.lance")
    return CountingStore({"/f.lance": (tmp_path / "f.lance").read_bytes()})


def place_of(store: CountingStore) -> FilePlace:
    return FilePlace(path="/f.lance", filesystem=store, size=len(store.files["/f.lance"]), is_immutable=True)


def test_an_adopted_file_is_not_opened_again(store: CountingStore) -> None:
    first, second = OpenFiles(ReadOptions()), OpenFiles(ReadOptions(read_dictionary=("s",)))
    plain = first.get(place_of(store))
    assert len(store.waves) == 1
    second.adopt(first)
    coded = second.get(place_of(store))
    assert len(store.waves) == 1
    assert coded.source is plain.source
    assert pa.types.is_dictionary(coded.rows.schema.field("s").type)
    assert plain.rows.schema.field("s").type == pa.string()
    # What the second holds of its own stays.
    second.adopt(first)
    assert second.get(place_of(store)) is coded


@pytest.mark.parametrize("options", [ReadOptions(verify="full"), ReadOptions(memory_map=True)])
def test_files_that_were_opened_otherwise_are_not_adopted(tmp_path: Path, options: ReadOptions) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "f.lance")
    place = FilePlace(path=str(tmp_path / "f.lance"), filesystem=None)
    first, second = OpenFiles(ReadOptions()), OpenFiles(options)
    plain = first.get(place)
    second.adopt(first)
    assert second.get(place).source is not plain.source


def test_an_adopted_file_outlives_who_opened_it(store: CountingStore) -> None:
    first, second = OpenFiles(ReadOptions()), OpenFiles(ReadOptions(read_dictionary=("s",)))
    first.get(place_of(store))
    second.adopt(first)
    del first
    file = second.get(place_of(store))
    assert file.rows.num_rows == 1000
    assert len(store.waves) == 1


class ChangingStore(CountingStore):
    """Tells the content of a file by its tag, and counts how often it is asked."""

    num_asked = 0

    def info(self, path: str, **options: object) -> dict[str, object]:
        self.num_asked += 1
        return {**super().info(path, **options), "etag": str(hash(self.files[path]))}


@pytest.fixture
def changing(tmp_path: Path) -> ChangingStore:
    lance_arrow.write_table(ROWS, tmp_path / "f.lance")
    lance_arrow.write_table(ROWS.slice(0, 10), tmp_path / "g.lance")
    found = {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()}
    return ChangingStore(found)


def change(store: ChangingStore) -> None:
    store.files["/f.lance"] = store.files["/g.lance"]


def test_an_operation_asks_once_what_a_file_is(changing: ChangingStore) -> None:
    files, place = OpenFiles(ReadOptions()), FilePlace(path="/f.lance", filesystem=changing)
    with files.operation():
        first = files.get(place)
        asked = changing.num_asked
        assert files.get(place) is first
        # With or without a size that was listed.
        assert files.get(replace(place, size=len(changing.files["/f.lance"]))) is first
        assert changing.num_asked == asked
        # Another size is another content.
        with pytest.raises(LanceError):
            files.get(replace(place, size=100))
    asked = changing.num_asked
    assert files.get(place) is first
    assert changing.num_asked > asked


def test_a_younger_operation_sees_what_has_changed(changing: ChangingStore) -> None:
    files, place = OpenFiles(ReadOptions()), FilePlace(path="/f.lance", filesystem=changing)
    with files.operation():
        old = files.get(place)
        change(changing)
        assert files.get(place) is old
        with files.operation():
            new = files.get(place)
            assert (old.rows.num_rows, new.rows.num_rows) == (1000, 10)
        # What the other one has asked since is no older.
        assert files.get(place) is new
    assert files.get(place).rows.num_rows == 10


def test_an_operation_that_fails_has_ended(changing: ChangingStore) -> None:
    files, place = OpenFiles(ReadOptions()), FilePlace(path="/f.lance", filesystem=changing)
    missing = replace(place, path="/nothing.lance")
    files_seen = []

    def work() -> None:
        with files.operation():
            files_seen.append(files.get(place))
            files.get(missing)

    with pytest.raises(FileNotFoundError):
        work()
    change(changing)
    assert [one.rows.num_rows for one in (*files_seen, files.get(place))] == [1000, 10]


def test_what_an_operation_remembers_is_bounded(changing: ChangingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "MOST_OPEN_FILES", 1)
    files = OpenFiles(ReadOptions())
    with files.operation():
        for _ in range(2):
            for name in ("/f.lance", "/g.lance"):
                files.get(FilePlace(path=name, filesystem=changing))
        assert len(files._asked) == 1
    assert not files._asked
