"""What compactions do and hold: pages that are copied are neither decoded nor encoded, and read once."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from copied_early import copied_early
from outside import run
from resident import RESIDENT, RETURNING

from lance_arrow import LanceTable
from lance_arrow.container.stored_pages import StoredPages
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.settings import MEBIBYTE
from lance_arrow.structure.page_encoder import PageEncoder

BUDGET_BYTES = 32 * MEBIBYTE
MARGIN_BYTES = 12 * MEBIBYTE

COMPACT = (
    RESIDENT
    + """
import sys
import numpy as np
import pyarrow as pa
from lance_arrow import LanceTable

def batches(total):
    rng, rows, written = np.random.default_rng(1), 1024, 0
    while written < total:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 768, dtype=np.float32)), 768)
        batch = pa.record_batch({"vector": vectors})
        written += batch.nbytes
        yield batch

small = LanceTable.create(sys.argv[1] + "/small", batches(20 << 20), max_rows_per_file=4096)
large = LanceTable.create(sys.argv[1] + "/large", batches(int(sys.argv[2])), max_rows_per_file=16384)
count = len(large.manifest.fragments)
assert count > 6
small.compact()
num_bytes = growth(large.compact)
assert len(large.manifest.fragments) == 1
print(num_bytes)
"""
)


def test_copied_pages_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is decoded where zone maps fit, no page is encoded, and each file is opened once."""
    rows = pa.table({"id": np.arange(3 * 8192), "text": [f"text {i % 911}" for i in range(3 * 8192)]})
    table = LanceTable.create(tmp_path / "t", rows, max_rows_per_file=8192)
    asked: list[int] = []
    read = StoredPages.read

    def counted(self: StoredPages, wave: list[tuple[int, int]]) -> object:
        asked.append(len(wave))
        return read(self, wave)

    opened: list[str] = []
    get = OpenFiles.get

    def open_file(self: OpenFiles, place: FilePlace, scan_options: ScanOptions | None = None) -> OpenFile:
        opened.append(place.path)
        return get(self, place, scan_options)

    def refused(*args: object, **options: object) -> object:
        raise AssertionError("a row was decoded, or a page encoded")

    with copied_early() as counts, monkeypatch.context() as patched:
        patched.setattr(StoredPages, "read", counted)
        patched.setattr(OpenFiles, "get", open_file)
        patched.setattr(PageEncoder, "encode", refused)
        patched.setattr(TableReader, "batches", refused)
        table.compact()
    assert counts == {"id": 3, "text": 3}
    assert asked == [2, 2, 2]
    assert len(opened) == len(set(opened)) == 3
    assert table.to_table().equals(rows)


@pytest.mark.whole
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_copies_stay_within_the_budget(tmp_path: Path) -> None:
    variables = {"LANCE_ARROW_MEMORY_BYTES": str(BUDGET_BYTES), "LANCE_ARROW_THREADS": "2", **RETURNING}
    done = run(COMPACT, tmp_path, str(10 * BUDGET_BYTES), **variables)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= BUDGET_BYTES + MARGIN_BYTES
