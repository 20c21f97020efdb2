"""FSST tables of a column: trained on a sample, and used for further pages where samples say that they fit."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import read_table, write_table
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow_codecs import fsst

NUM_ROWS = 60_000
PAGE_BYTES = 128 << 10
WORDS = np.array(["alpha", "beta", "gamma", "error", "warning", "request", "timeout", "connection", "server", "the"])


def sentences(random: np.random.Generator) -> list[str]:
    return [" ".join(words) for words in WORDS[random.integers(0, len(WORDS), (NUM_ROWS, 8))]]


def addresses(random: np.random.Generator) -> list[str]:
    words, numbers = WORDS[random.integers(0, len(WORDS), (NUM_ROWS, 2))], random.integers(0, 1 << 30, NUM_ROWS)
    return [f"https://www.example.com/{a}/{b}?q={n}" for (a, b), n in zip(words, numbers, strict=True)]


def identifiers(random: np.random.Generator) -> list[str]:
    return [str(uuid.UUID(bytes=random.bytes(16))) for _ in range(NUM_ROWS)]


def few_words(random: np.random.Generator) -> list[str | None]:
    return [None if one > 5 else f"a value of {one} words" * (one % 3) for one in random.integers(0, 9, NUM_ROWS)]


KINDS: dict[str, Callable[[np.random.Generator], list[str | None]]] = {
    "sentences": sentences,
    "addresses": addresses,
    "identifiers": identifiers,
    "few": few_words,
}


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of the values of each training."""
    found: list[int] = []
    train = fsst.native.train_symbols

    def counted(offsets: np.ndarray, bits: int, data: np.ndarray, table: np.ndarray) -> None:
        found.append(len(data))
        train(offsets, bits, data, table)

    monkeypatch.setattr(fsst.native, "train_symbols", counted)
    return found


def column(kind: str) -> pa.Table:
    return pa.table({"s": pa.array(KINDS[kind](np.random.default_rng(7)), pa.string())})


@pytest.mark.parametrize("kind", ["sentences", "addresses"])
def test_a_table_that_fits_is_trained_once(kind: str, trainings: list[int], tmp_path: Path) -> None:
    table = column(kind)
    write_table(table, tmp_path / "t.lance", page_bytes=PAGE_BYTES)
    num_pages = table.nbytes // PAGE_BYTES
    assert num_pages > 15
    # It is proven when another one is trained that is no better.
    assert len(trainings) <= num_pages // 2
    assert read_table(tmp_path / "t.lance").equals(table)


def test_values_that_change_get_another_table(trainings: list[int], tmp_path: Path) -> None:
    first, second = column("sentences"), column("addresses")
    write_table(pa.concat_tables([first, second]), tmp_path / "t.lance", page_bytes=PAGE_BYTES)
    alone = (tmp_path / "t.lance").stat().st_size
    assert read_table(tmp_path / "t.lance").equals(pa.concat_tables([first, second]))
    trained = len(trainings)
    for part in (first, second):
        write_table(part, tmp_path / "part.lance", page_bytes=PAGE_BYTES)
        alone -= (tmp_path / "part.lance").stat().st_size
    assert trained >= 2
    # As small as the two by themselves, up to a page with values of both.
    assert alone <= PAGE_BYTES // 2


def test_no_table_is_trained_where_indices_are_smaller_than_offsets(trainings: list[int], tmp_path: Path) -> None:
    table = column("few")
    write_table(table, tmp_path / "t.lance")
    assert trainings == []
    assert (tmp_path / "t.lance").stat().st_size < NUM_ROWS
    assert read_table(tmp_path / "t.lance").equals(table)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_earlier_pages_make_files_no_larger(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = column(kind)
    write_table(table, tmp_path / "carried.lance", page_bytes=PAGE_BYTES)
    monkeypatch.setattr("lance_arrow.structure.carried_facts.CarriedFacts._known", lambda *_: None)
    write_table(table, tmp_path / "alone.lance", page_bytes=PAGE_BYTES)
    carried, alone = ((tmp_path / f"{name}.lance").stat().st_size for name in ("carried", "alone"))
    assert carried <= alone
    assert read_table(tmp_path / "carried.lance").equals(table)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path, whole_run: bool) -> None:
    table = pa.table({name: column(name)["s"] for name in KINDS})
    written = set()
    for threads in (1, 2, 7) if whole_run else (1, 7):
        runtime = Runtime(Settings(num_threads=threads))
        write_table(table, tmp_path / "t.lance", page_bytes=PAGE_BYTES, runtime=runtime)
        written.add((tmp_path / "t.lance").read_bytes())
    assert len(written) == 1
