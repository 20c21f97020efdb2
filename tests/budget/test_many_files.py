"""What a filtered scan of many small files costs: requests, what is worked out, what Python is asked, all counted."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFormat, write_table
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.spi import ReadReport

NUM_FILES, FILE_ROWS = 60, 1000
F = pc.field
CONDITION = (F("id") >= 30_500) & (F("id") < 30_600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("many")
    rng = seeded("many small files")
    for number in range(NUM_FILES):
        ids = np.arange(FILE_ROWS) + number * FILE_ROWS
        columns = {f"c{one}": rng.standard_normal(FILE_ROWS) for one in range(6)}
        table = pa.table({"id": ids, **columns, "word": [f"w{one % 97}" for one in ids]})
        write_table(table, made / f"{number:03}.lance")
    return made


def test_what_is_equal_between_files_is_worked_out_once(folder: Path, receipts: list[ReadReport]) -> None:
    """Receipts have every file opened, in one thread: trees, filters and column encodings are made once."""
    dataset = pads.dataset(folder, format=LanceFormat())
    calls: Counter[str] = Counter()

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call":
            calls[f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"] += 1

    scanner = dataset.scanner(filter=CONDITION, use_threads=False)
    sys.setprofile(look)
    try:
        found = scanner.to_table()
    finally:
        sys.setprofile(None)
    assert found.num_rows == 100
    assert len(receipts) == NUM_FILES
    assert calls["lance_arrow.arrow_dataset.scan_handler.FileScanHandler.plan"] == NUM_FILES
    for once in (
        "lance_arrow.arrays.column_tree.column_tree",
        "lance_arrow.scan.filters.filter_plan.FilterPlan.__init__",
        "lance_arrow.pruning.zone_predicates.ZonePredicate.__init__",
        "lance_arrow_columns.zone_index.ZoneIndex.bind",
    ):
        assert calls[once] <= 1, once
    # Streams of zone maps that are laid out alike are read by Arrow once.
    assert calls["lance_arrow.statistics.zone_streams._read_batch"] <= 1
    # Pages are looked at in the one file that is left: each column has one.
    assert calls["lance_arrow.scan.native_pages._Unopened.add"] == 8
    # About 530 functions of Python are called for a file that is left out.
    assert sum(calls.values()) < 700 * NUM_FILES


def test_a_file_that_is_left_out_is_one_request(folder: Path) -> None:
    store = CountingStore({f"/many/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())})
    paths = sorted(store.files)
    dataset = pads.dataset(paths, format=LanceFormat(), filesystem=store)
    store.waves.clear()
    assert dataset.count_rows(filter=F("id") < 0) == 0
    # The first file was opened when its schema was asked for.
    assert len(store.waves) == NUM_FILES - 1
    assert all(len(wave) == 1 for wave in store.waves)
    assert store.bytes_fetched <= NUM_FILES * (64 << 10)


def test_few_local_files_are_left_to_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    plan = FileScanHandler.plan
    monkeypatch.setattr(
        FileScanHandler, "plan", lambda self, place, request: asked.append(place.path) or plan(self, place, request)
    )
    assert pads.dataset(folder, format=LanceFormat()).to_table(filter=CONDITION).num_rows == 100
    # One has rows; the others were read ahead before the second of them had told what files look like.
    assert len(asked) <= 1 + 16
