"""One case of `filter_cases`, written and read through every door that takes a filter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
from filter_cases import FilterCase, filter_case
from same import assert_same

from lance_arrow import LanceFile, LanceFormat, LanceFragmentScanOptions, write_table
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, hookimpl


@dataclass(slots=True)
class Checked:
    """What was seen: cases compared, cases that Arrow itself cannot evaluate, zones asked, pruned, sure of a count."""

    compared: int = 0
    refused: int = 0
    zones: int = 0
    pruned: int = 0
    sure: int = 0


class _Receipts:
    def __init__(self) -> None:
        self.last = ReadReport()

    @hookimpl
    def lance_read_finished(self, report: ReadReport) -> None:
        self.last = report


def check(number: int, folder: Path, seen: Checked) -> None:
    """Compare one case; raises `AssertionError` where a door gives other rows."""
    case = filter_case(number)
    expected = case.expected()
    if expected is None:
        seen.refused += 1
        return
    path = folder / f"{number}.lance"
    receipts = _Receipts()
    manager = default_runtime().plugins.manager
    manager.register(receipts)
    try:
        write_table(
            case.table,
            path,
            file_version=case.file_version,
            rows_per_zone=case.rows_per_zone,
            page_bytes=case.page_bytes,
        )
        _compare(case, expected, path, receipts, seen)
    finally:
        manager.unregister(receipts)
        path.unlink(missing_ok=True)
    seen.compared += 1


def _compare(case: FilterCase, expected: pa.Table, path: Path, receipts: _Receipts, seen: Checked) -> None:
    expression, names = case.expression, case.table.column_names
    with LanceFile(path) as file:
        assert file.count_rows(expression) == len(expected)
        report = receipts.last
        seen.zones += report.zones_total
        seen.pruned += report.zones_pruned
        seen.sure += report.zones_total - report.zones_pruned - report.zones_read
        assert_same(expected, file.read(filter=expression))
        assert_same(expected.select(names[:1]), file.read(names[:1], filter=expression))
        pair = ["row", names[0]]
        streamed = list(file.to_batches(pair, 50, filter=expression))
        assert all(len(batch) <= 50 for batch in streamed)
        assert_same(expected.select(pair), pa.Table.from_batches(streamed, case.table.select(pair).schema))
        start, stop = min(10, len(case.table)), min(70, len(case.table))
        part = case.table.slice(start, stop - start).filter(expression)
        assert_same(part.select(["row"]), file.read(["row"], filter=expression, rows=(start, stop)))
    dataset = pads.dataset(str(path), format=LanceFormat())
    assert dataset.count_rows(filter=expression) == len(expected)
    assert_same(expected, dataset.to_table(filter=expression))
    assert_same(expected.select(["row"]), dataset.to_table(columns=["row"], filter=expression, batch_size=64))
    # Without any statistic.
    blind = LanceFragmentScanOptions(zone_maps=False)
    assert_same(expected, dataset.to_table(filter=expression, fragment_scan_options=blind))
    assert dataset.count_rows(filter=expression, fragment_scan_options=blind) == len(expected)
