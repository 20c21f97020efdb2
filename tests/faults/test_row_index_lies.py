"""Row indices that lie: what a take notices by itself, and what only the proof by the whole page does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from forge import Forged
from forge_pages import words
from forged import GOOD, LISTS, ZIP_LISTS, ZIP_TEXTS

import lance_arrow
from lance_arrow import runtime
from lance_arrow.errors import CorruptPageError, LanceError
from lance_arrow.io import BufferSource, MeteredSource
from lance_arrow.pages.in_memory import prove_rows
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi.layouts import PageFacts
from lance_arrow.structure import page_scan


def proving() -> Runtime:
    return Runtime(Settings(prove_row_indices=True, num_threads=1))


def lists_index() -> np.ndarray:
    return np.frombuffer(LISTS.page.buffers[-1], "<u8").reshape(-1, 2).astype(np.int64)


def with_index(file: Forged, index: np.ndarray, width: int) -> Forged:
    return file.with_page(file.page.with_buffer(-1, words(index.ravel().tolist(), width)))


def lies() -> dict[str, tuple[Forged, list[int]]]:
    """Files, and rows that a take finds wrongly without noticing: it reads nothing that contradicts the index."""
    moved = lists_index()
    moved[[2, 3], 0] += [1, -1]  # rows 2 .. 10 are counted for the third chunk, one too many
    closed = lists_index()
    closed[:3] = [[2, 0], [1, 0], [3, 1]]
    texts = np.frombuffer(ZIP_TEXTS.page.buffers[1], "<u4").copy()
    texts[1] = texts[0]
    zipped = np.frombuffer(ZIP_LISTS.page.buffers[1], "<u4").copy()
    zipped[2] -= 5
    return {
        "rows counted for another chunk": (with_index(LISTS, moved, 8), [17]),
        "a row cut at the end of a chunk": (with_index(LISTS, closed, 8), [1]),
        "a row that begins early": (with_index(ZIP_TEXTS, texts, 4), [8]),
        "a list cut between its items": (with_index(ZIP_LISTS, zipped, 4), [1]),
    }


@pytest.mark.parametrize("name", lies())
def test_the_proof_finds_every_lie(name: str) -> None:
    file, unnoticed = lies()[name]
    content = file.build()
    with lance_arrow.LanceFile(content) as plain:
        assert plain.take(unnoticed).num_rows == len(unnoticed), "no longer a lie that goes unnoticed"
        every = list(range(plain.num_rows))
        with pytest.raises(CorruptPageError):
            plain.take(every[::-1]) if file.page.layout.HasField("mini_block_layout") else [
                plain.take([n]) for n in every
            ]
    with lance_arrow.LanceFile(content, runtime=proving()) as strict:
        for row in [*unnoticed, *unnoticed, *every]:
            with pytest.raises(CorruptPageError) as caught:
                strict.take([row])
            assert (caught.value.column[0], caught.value.page) == ("c", 0)
            assert caught.value.byte_range is not None


def test_an_index_of_a_refused_page_is_not_kept() -> None:
    content = with_index(ZIP_TEXTS, _swapped(), 4).build()
    strict = proving()
    with lance_arrow.LanceFile(content, runtime=strict) as file:
        for _ in range(2):
            with pytest.raises(LanceError):
                file.read()
        assert strict.indices.held_bytes == 0


def _swapped() -> np.ndarray:
    index = np.frombuffer(ZIP_TEXTS.page.buffers[1], "<u4").copy()
    index[1] = index[0]
    return index


@pytest.mark.parametrize("name", GOOD)
def test_good_files_pass_the_proof(name: str) -> None:
    file = GOOD[name]
    with lance_arrow.LanceFile(file.build(), runtime=proving()) as strict:
        rows = [file.table.num_rows - 1, 0, file.table.num_rows // 2]
        assert strict.take(rows)["c"].to_pylist() == [file.table["c"][row].as_py() for row in rows]
        assert strict.read()["c"].to_pylist() == file.table["c"].to_pylist()


def test_the_proof_is_paid_once(tmp_path) -> None:
    path = tmp_path / "lists.lance"
    path.write_bytes(LISTS.build())
    with lance_arrow.LanceFile(path, runtime=proving()) as file:
        source = file._source
        assert isinstance(source, MeteredSource)
        assert not isinstance(source, BufferSource)
        fetched = []
        for _ in range(2):
            before = source.snapshot()
            file.take([17])
            fetched.append((source.snapshot() - before).bytes_wanted)
    assert fetched[1] < fetched[0]
    assert fetched[0] >= len(LISTS.page.buffers[1])


def test_small_files_that_are_read_together_are_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"id": range(600), "c": [[row] * (row % 3) for row in range(600)]})
    lance_arrow.LanceTable.create(tmp_path / "t.lance", table, max_rows_per_file=50)
    proven = []

    def noted(page: object, facts: PageFacts, *rest: object) -> None:
        proven.append(facts.num_rows)
        prove_rows(page, facts, *rest)

    monkeypatch.setattr(page_scan, "prove_rows", noted)
    monkeypatch.setattr(runtime, "_default", proving())
    rows = list(range(0, 600, 30))
    assert lance_arrow.LanceTable.open(tmp_path / "t.lance").take(rows).equals(table.take(rows))
    assert proven == [50] * 12
