"""What the file pruner and zone predicates say of files, sets and zones that are not as usual."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from zones_in_memory import zone_maps

from lance_arrow import write_table
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning import file_pruner as module
from lance_arrow.pruning import zone_pruning
from lance_arrow.pruning.file_pruner import FilePruner, file_pruner
from lance_arrow.pruning.zone_predicates import Verdict, ZonePredicate
from lance_arrow.pruning.zone_pruning import prune_rows, zone_predicate
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_streams import stream_layout

F = pc.field
ROWS = pa.table({"id": np.arange(100), "x": np.arange(100) / 2})


def opened(path: Path) -> OpenFile:
    return OpenFiles(ReadOptions()).get(FilePlace(path=str(path), filesystem=None))


def pruner_of(expression: pc.Expression) -> FilePruner:
    predicate = FilterPlan(expression, ROWS.schema).predicate
    assert predicate is not None
    found = file_pruner(predicate, has_checks=True)
    assert found is not None
    return found


def left(pruner: FilePruner, *paths: Path) -> list[int]:
    """Numbers of the files that are not left out."""
    return list(pruner.native.left([str(path) for path in paths]))


def test_only_zone_maps_leave_files_out(tmp_path: Path) -> None:
    named = {name: tmp_path / f"{name}.lance" for name in ("zones", "none", "empty", "old")}
    write_table(ROWS, named["zones"], rows_per_zone=10)
    write_table(ROWS, named["none"], rows_per_zone=None)
    write_table(ROWS.slice(0, 0), named["empty"], rows_per_zone=10)
    write_table(ROWS, named["old"], rows_per_zone=10, file_version="2.0")
    pruner = pruner_of(F("id") > 1000)
    for path in named.values():
        pruner.register(opened(path).rows)
    # Files of 2.0 are not looked at; an empty one has no zone that could say no.
    assert 0 not in left(pruner, named["zones"])
    assert left(pruner, named["none"]) == [0]
    assert left(pruner, named["old"]) == [0]


def test_a_zone_map_without_zones_leaves_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "zones.lance"
    write_table(ROWS, path, rows_per_zone=10)
    laid_out = stream_layout

    def without_zones(*arguments: Any) -> Any:
        head, layout = laid_out(*arguments) or (b"", None)
        return head, replace(layout, num_zones=0)

    monkeypatch.setattr(module, "stream_layout", without_zones)
    pruner = pruner_of(F("id") > 1000)
    pruner.register(opened(path).rows)
    assert left(pruner, path) == [0]


def test_leaves_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "renamed.lance"
    write_table(ROWS.rename_columns(["key", "x"]), path, rows_per_zone=10)
    file = opened(path)
    leaf = next(one for root in file.rows.roots for one in root.leaves() if one.path == "key")
    for leaves, expected in (({("id",): leaf}, []), ({}, [0])):
        pruner = pruner_of(F("id") > 1000)
        pruner.register(file.rows, leaves)
        assert left(pruner, path) == expected


@pytest.mark.parametrize(
    ("given", "verdict"),
    [(pa.array([300], pa.int64()), Verdict.MAYBE), (pa.array([30], pa.int64()), Verdict.NO)],
    ids=["no value of the column", "a value of it"],
)
def test_sets_of_another_type(given: pa.Array, verdict: Verdict) -> None:
    """A set that cannot be cast to the column's type decides nothing."""
    table = pa.table({"a": pa.array([1, 2, 3], pa.int8())})
    predicate = ZonePredicate(native_expressions.expression_tree(F("a").isin(given), table.schema))
    assert predicate.verdicts(zone_maps(table, 3), 1).tolist() == [verdict]


def test_without_a_module_for_expressions_nothing_is_judged() -> None:
    assert zone_predicate(None, F("id") > 3, ROWS.schema) is None
    assert zone_predicate(native_expressions, F("other") > 3, ROWS.schema) is None


class TwoLengths:
    """A file of 100 rows whose columns have zones of 10 and of 25 rows."""

    num_rows = 100
    roots = ()

    def get(self, leaves: list[str]) -> list[ZoneMap]:
        maps = {**zone_maps(ROWS.select(["id"]), 10), **zone_maps(ROWS.select(["x"]), 25)}
        return [maps[(leaf,)] for leaf in leaves]


@pytest.mark.parametrize("within", [[(0, 100)], [(0, 20), (40, 100)]], ids=["all", "some"])
def test_zones_of_several_lengths_are_cut_at_each_border(
    within: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TwoLengths()
    monkeypatch.setattr(ZonePredicate, "leaves", lambda self, roots: {("id",): "id", ("x",): "x"})
    predicate = zone_predicate(native_expressions, (F("id") >= 12) & (F("x") < 20), ROWS.schema)
    rows = RowRanges(*(np.array(side, np.int64) for side in zip(*within, strict=True)))
    found = prune_rows(file, file, predicate, rows)  # type: ignore[arg-type]
    kept = {row for start, stop in zip(found.rows.starts, found.rows.stops, strict=True) for row in range(start, stop)}
    # The second condition ends at row 40, in a zone of 25 rows.
    candidates = {row for row in range(10, 50)} & {row for start, stop in within for row in range(start, stop)}
    assert kept == candidates
    sure = {row for start, stop in zip(found.all.starts, found.all.stops, strict=True) for row in range(start, stop)}
    assert sure == {row for row in range(20, 25)} & candidates
    assert zone_pruning._aligned(file_maps(file), 100)[0].tolist() == [
        0,
        10,
        20,
        25,
        30,
        40,
        50,
        60,
        70,
        75,
        80,
        90,
        100,
    ]


def file_maps(file: TwoLengths) -> dict[tuple[str, ...], ZoneMap]:
    return {(name,): one for name, one in zip(("id", "x"), file.get(["id", "x"]), strict=True)}
