"""One case of `filter_cases`, written and read through every door that takes a filter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
from filter_cases import FilterCase, filter_case
from forced import forced, way_of
from same import assert_same

from lance_arrow import LanceFile, LanceFormat, LanceFragmentScanOptions, dataset, write_table
from lance_arrow.integrations.engine_rows import EngineRows
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
    as_dictionaries: int = 0


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
        with forced(way_of(number)):
            _compare(case, expected, path, receipts, seen)
            _compare_dictionaries(case, expected, path, seen)
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
    found = pads.dataset(str(path), format=LanceFormat())
    assert found.count_rows(filter=expression) == len(expected)
    assert_same(expected, found.to_table(filter=expression))
    assert_same(expected.select(["row"]), found.to_table(columns=["row"], filter=expression, batch_size=64))
    # Without any statistic.
    blind = LanceFragmentScanOptions(zone_maps=False)
    assert_same(expected, found.to_table(filter=expression, fragment_scan_options=blind))
    assert found.count_rows(filter=expression, fragment_scan_options=blind) == len(expected)


def _compare_dictionaries(case: FilterCase, expected: pa.Table, path: Path, seen: Checked) -> None:
    """Read strings as dictionaries, which filters see as plain values.

    pyarrow's own scans are left out: they evaluate filters over dictionaries, for which Arrow lacks kernels.
    """
    strings = [field.name for field in case.table.schema if _is_string(field.type)]
    schema = pa.schema([_encoded(field) if field.name in strings else field for field in case.table.schema])
    if not strings:
        return
    with LanceFile(path, read_dictionary=strings) as file:
        assert file.count_rows(case.expression) == len(expected)
        assert_same(expected, _decoded(file.read(filter=case.expression), case.table.schema))
        some = ["row", strings[-1]]
        streamed = pa.Table.from_batches(file.to_batches(some, 50, filter=case.expression), schema=_only(schema, some))
        assert_same(expected.select(some), _decoded(streamed, _only(case.table.schema, some)))
    rows = EngineRows(dataset(str(path), read_dictionary=strings))
    _, batches = rows.batches(case.table.column_names, case.expression, 64)
    assert_same(expected, _decoded(pa.Table.from_batches(batches, schema), case.table.schema))
    seen.as_dictionaries += 1


def _only(schema: pa.Schema, names: list[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _is_string(type_: pa.DataType) -> bool:
    return type_ in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _encoded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type))


def _decoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        table[field.name].cast(field.type) if table[field.name].type != field.type else table[field.name]
        for field in schema
    ]
    return pa.table(columns, schema=schema)
