"""Reads of far files by the engine: the rows of near ones, in few waves; stores that fail or give too few bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from stores import CountingStore
from values import seeded

import lance_arrow
from lance_arrow.errors import CorruptFileError, StoreError, TruncatedReadError
from lance_arrow.runtime import Runtime

ROWS = 30_000
PATH = "/far.lance"
VERSIONS = ("2.0", "2.1", "2.2")


def _table() -> pa.Table:
    rng = seeded("far reads")
    nulls = rng.random(ROWS) < 0.2
    lists = [rng.integers(0, 99, n).tolist() if n < 5 else None for n in rng.integers(0, 6, ROWS)]
    words = np.array(["one", "two", "three", "", "a longer word"])
    return pa.table(
        {
            "id": np.arange(ROWS),
            "small": pa.array(rng.integers(0, 100, ROWS), pa.int32(), mask=nulls),
            "real": rng.random(ROWS),
            "flag": pa.array(rng.random(ROWS) < 0.5, mask=nulls),
            "text": pa.array([f"row {v:x}" for v in rng.integers(0, 2**40, ROWS)], mask=nulls),
            "word": words[rng.integers(0, len(words), ROWS)],
            "long": pa.array([f"{v:x}" * 40 for v in rng.integers(0, 2**40, ROWS)], mask=nulls),
            "list": pa.array(lists, pa.list_(pa.int64())),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(8 * ROWS), pa.float32()), 8),
            "same": pa.array(np.full(ROWS, 7)),
        }
    )


@pytest.fixture(scope="module", params=VERSIONS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, bytes]:
    table = _table()
    path = tmp_path_factory.mktemp("far") / "far.lance"
    lance_arrow.write_table(table, path, file_version=request.param)
    return table, path.read_bytes()


@pytest.fixture
def opened(written: tuple[pa.Table, bytes]) -> Iterator[tuple[pa.Table, CountingStore, lance_arrow.LanceFile]]:
    table, content = written
    store = CountingStore({PATH: content})
    with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
        yield table, store, file


def selections() -> list[Any]:
    rng = seeded("selections")
    few = [np.sort(rng.choice(ROWS, count, replace=False)) for count in (1, 7, 100, 3000)]
    return [*few, np.arange(ROWS), np.arange(500, 20_000), np.arange(0, ROWS, 2)]


def test_takes_are_those_of_the_table(opened: tuple[pa.Table, CountingStore, lance_arrow.LanceFile]) -> None:
    table, _, file = opened
    for rows in selections():
        assert file.take(rows).replace_schema_metadata(None).equals(table.take(rows))
    for name in table.column_names:
        rows = selections()[2]
        assert file.take(rows, columns=[name]).replace_schema_metadata(None).equals(table.select([name]).take(rows))


def test_scans_and_filters_are_those_of_the_table(
    opened: tuple[pa.Table, CountingStore, lance_arrow.LanceFile],
) -> None:
    table, _, file = opened
    assert file.read().replace_schema_metadata(None).equals(table)
    for filter in (pc.field("id") < 400, pc.field("small") == 7, pc.field("word") == "two", pc.field("flag")):
        assert file.read(filter=filter).replace_schema_metadata(None).equals(table.filter(filter))
        assert file.count_rows(filter) == len(table.filter(filter))


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_pages_without_rows_to_fetch(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constant pages, whose scalars and levels are all that is fetched; the first lies at place 0 of the file."""
    from lance_arrow.scan import row_reader  # noqa: PLC0415 - patched here

    holes = np.arange(ROWS) % 3 == 0
    items = np.arange(4 * ROWS)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(items, pa.int32(), mask=items % 5 == 0), 4)
    same = pa.array(np.full(ROWS, "the same"), mask=holes)
    table = pa.table({"same": same, "nulls": pa.nulls(ROWS), "none": pa.nulls(ROWS, pa.int8()), "vectors": vectors})
    lance_arrow.write_table(table, tmp_path / "far.lance", file_version=version)
    serve, served = row_reader.take_leaves, []

    def watched(*arguments: Any) -> Any:
        served.append(serve(*arguments))
        return served[-1]

    monkeypatch.setattr(row_reader, "take_leaves", watched)
    store = CountingStore({PATH: (tmp_path / "far.lance").read_bytes()})
    with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
        for rows in selections():
            assert file.take(rows).replace_schema_metadata(None).equals(table.take(rows))
        assert file.read().replace_schema_metadata(None).equals(table)
    assert len(served) > len(selections())
    assert all(done and None not in done for done in served)


def test_the_engine_reads_what_it_reads_near(written: tuple[pa.Table, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts in Python open no page of a far file that they do not open of a near one."""
    from lance_arrow.scan import row_reader  # noqa: PLC0415 - patched here
    from lance_arrow.scan.legacy import v2_0_row_reader  # noqa: PLC0415

    opened: list[str] = []
    for module in (row_reader, v2_0_row_reader):
        load = module.load_pages

        def counted(source: Any, tasks: Any, cache: Any, load: Any = load) -> Any:
            opened.extend(task.column for task in tasks)
            return load(source, tasks, cache)

        monkeypatch.setattr(module, "load_pages", counted)
    _, content = written
    near: set[str] = set()
    for way in ({"source": content}, {"source": PATH, "filesystem": CountingStore({PATH: content})}):
        opened.clear()
        with lance_arrow.LanceFile(**way, runtime=Runtime()) as file:
            file.take(selections()[2])
        if "filesystem" in way:
            assert set(opened) == near
        near = set(opened)


def test_a_take_has_a_wave_of_indices_and_one_of_rows(
    opened: tuple[pa.Table, CountingStore, lance_arrow.LanceFile],
) -> None:
    table, store, file = opened
    natively = ["id", "small", "real", "flag", "text", "word", "long"]
    store.waves.clear()
    file.take(selections()[2], columns=natively)
    # Metadata of the columns, which lie before the end that was read at once, and where they are; indices; rows. Pages
    # of 2.0 have no indices, but the ends of their strings come before the bytes.
    assert len(store.waves) <= 4
    store.waves.clear()
    file.take(selections()[2][:3] + 1, columns=natively)
    # Indices are at hand.
    assert len(store.waves) <= 2
    assert table.num_rows == file.num_rows


def test_damaged_bytes_are_noticed(written: tuple[pa.Table, bytes], whole_run: bool) -> None:
    table, content = written
    count = 40 if whole_run else 6
    rng = seeded("damage")
    noticed = 0
    for place in rng.integers(0, len(content) - (64 << 10), count).tolist():
        changed = bytearray(content)
        changed[place] ^= 0x10
        store = CountingStore({PATH: bytes(changed)})
        with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
            try:
                found = file.read()
            except CorruptFileError:
                noticed += 1
            else:
                # The byte is padding, or of a buffer that this read does not need.
                assert found.replace_schema_metadata(None).equals(table)
    assert noticed >= count * 3 // 4


class FailingStore(CountingStore):
    """A store that stops answering, or answers too little, after some waves."""

    fails_after = 1 << 30
    answers_short = False

    def cat_ranges(self, *args: Any, **kwargs: Any) -> list[bytes]:
        answers = super().cat_ranges(*args, **kwargs)
        if len(self.waves) <= self.fails_after:
            return answers
        if self.answers_short:
            return [answer[:-1] for answer in answers]
        raise ConnectionResetError("the store is gone")


@pytest.mark.cover(1)
@pytest.mark.parametrize("answers_short", [False, True])
def test_a_store_that_fails_meanwhile_is_an_error_of_the_read_and_no_other(
    written: tuple[pa.Table, bytes], monkeypatch: pytest.MonkeyPatch, *, answers_short: bool
) -> None:
    monkeypatch.setenv("LANCE_ARROW_READ_ATTEMPTS", "1")
    table, content = written
    store = FailingStore({PATH: content})
    store.answers_short = answers_short
    rows = selections()[2]
    expected: type[Exception] = TruncatedReadError if answers_short else StoreError
    failures = 0
    for waves in range(8):
        store.waves.clear()
        store.fails_after = 1 << 30
        with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
            store.fails_after = len(store.waves) + waves
            try:
                found = file.take(rows)
            except expected:
                failures += 1
                store.fails_after = 1 << 30
                # The file reads on when the store answers again.
                found = file.take(rows)
            assert found.replace_schema_metadata(None).equals(table.take(rows))
    assert 2 <= failures < 8


def test_a_file_that_became_shorter_is_truncated(written: tuple[pa.Table, bytes]) -> None:
    _, content = written
    store = CountingStore({PATH: content})
    with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
        store.files[PATH] = content[:1000]
        with pytest.raises(TruncatedReadError):
            file.take(selections()[3])


def test_an_interrupted_wave_ends_the_take(written: tuple[pa.Table, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    _, content = written
    store = CountingStore({PATH: content})
    with lance_arrow.LanceFile(PATH, filesystem=store, runtime=Runtime()) as file:
        with monkeypatch.context() as patched:

            def interrupted(*_: Any, **__: Any) -> list[bytes]:
                raise KeyboardInterrupt

            patched.setattr(store, "cat_ranges", interrupted)
            with pytest.raises(KeyboardInterrupt):
                file.take([5])
        assert file.take([5], columns=["id"])["id"].to_pylist() == [5]
