"""Native code judges zones as the reference does: random filters on random zone maps, and single rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from zone_judge.judge import verdicts
from zone_trees import ZoneCase, zone_case
from zones_in_memory import zone_maps

from lance_arrow import LanceFormat, write_table
from lance_arrow.engine import NativeProgram, NativeZones
from lance_arrow.errors import InternalError
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_predicates import Verdict, ZonePredicate
from lance_arrow.pruning.zone_pruning import zone_predicate
from lance_arrow.pruning.zone_values import zones_as

NUM_CASES, STRIDE = 6000, 1000
UNKNOWN, FACTS, IS_NAN, LESS, LESS_EQUAL, EQUAL, IS_IN, AND, AND_STRICT, NOT, IS_NULL, _, IF_ELSE = range(13)
F = pc.field


def judged(case: ZoneCase) -> tuple[list[int], list[int]]:
    """What native code, and the reference, say of a case."""
    return (
        ZonePredicate(case.tree).verdicts(case.maps, case.num_zones).tolist(),
        verdicts(case.tree, case.maps, case.num_zones).tolist(),
    )


@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(first, marks=pytest.mark.whole) for first in range(STRIDE, NUM_CASES, STRIDE))],
)
def test_native_code_judges_as_the_reference(first: int) -> None:
    seen = np.zeros(3, np.int64)
    for number in range(first, first + STRIDE):
        native, expected = judged(zone_case(number))
        assert native == expected, number
        seen += np.bincount(expected, minlength=3)
    assert seen.min() > seen.sum() // 20


@pytest.mark.parametrize(
    "instructions",
    [
        [],
        [(AND, 0, 0, 0)],
        [(NOT, 0, 0, 0)],
        [(UNKNOWN, 0, 0, 0)] * 2,
        [(UNKNOWN, 0, 0, 0), (AND, 0, 0, 0)],
        [*[(UNKNOWN, 0, 0, 0)] * 2, (IF_ELSE, 0, 0, 0)],
        [(99, 0, 0, 0)],
        [(-1, 0, 0, 0)],
        # Operands that there are not, or of other types: column 0 is an integer, 1 text; of literals -1 an integer.
        [(FACTS, 2, 0, 0)],
        [(IS_NAN, -4, 0, 0)],
        [(LESS, 0, -2, 0)],
        [(LESS, 0, 1, 0)],
        [(EQUAL, 1, -1, 0)],
        [(LESS_EQUAL, 0, -3, 0)],
        [(IS_IN, 0, 3, 0)],
        [(IS_IN, 0, -1, 0)],
        [(IS_IN, 1, 0, 0)],
        [(IS_IN, -(2**31), 0, 0)],
    ],
    ids=str,
)
def test_programs_that_cannot_run_are_refused(instructions: list[tuple[int, int, int, int]]) -> None:
    literals = [
        (pa.array([5]), "i", 8),
        (pa.array(["five"]), "b", 4),
        # Many are no operand.
        (pa.array([5, 6]), "i", 8),
    ]
    columns = [("i", False), ("b", False)]
    NativeProgram([(LESS, 0, -1, 0), (EQUAL, 1, -2, 0), (AND, 0, 0, 0)], columns, literals)
    with pytest.raises(InternalError):
        NativeProgram(instructions, columns, literals)


def test_arrays_that_are_too_short_are_refused() -> None:
    flags = np.ones(3, np.uint8)
    for kind, width in (("i", 16), ("f", 1), ("z", 8), ("d", 8), ("b", 2)):
        with pytest.raises(InternalError):
            NativeZones(pa.array([1, 2, 3]), pa.array([1, 2, 3]), kind, width, flags)
    with pytest.raises(InternalError):
        NativeZones(pa.array([1, 2, 3], pa.int32()), pa.array([1, 2, 3], pa.int32()), "i", 8, flags)
    with pytest.raises(InternalError):
        NativeZones(pa.array([1, 2]), pa.array([1, 2]), "i", 8, flags)
    program = NativeProgram([(FACTS, 0, 0, 0)], [("i", False)], [])
    zones = NativeZones(pa.array([1, 2, 3]), pa.array([1, 2, 3]), "i", 8, flags)
    assert program.judge([zones], 3).tolist() == [Verdict.MAYBE] * 3
    for columns, num_zones in (([zones], 2), ([], 3), ([zones, zones], 3)):
        with pytest.raises(InternalError):
            program.judge(columns, num_zones)


def test_whether_a_value_is_null_is_never_null() -> None:
    table = pa.table({"x": [1, 2], "l": [[1], None]})
    for expression in (F("l").is_null().is_valid(), (F("x") + 1).is_valid().is_valid()):
        assert verdict_of(expression, table) == Verdict.ALL


def test_values_shown_as_a_narrower_type_are_rounded_before_they_are_judged(tmp_path: Path) -> None:
    write_table(pa.table({"x": pa.array([1.0001, 2, 3], pa.float32())}), tmp_path / "x.lance", rows_per_zone=1)
    shown = pads.dataset(tmp_path, format=LanceFormat(), schema=pa.schema([("x", pa.float16())]))
    above_one = F("x").cast(pa.float32()) > 1.0
    assert shown.count_rows(filter=above_one) == shown.to_table(filter=above_one).num_rows == 2


def test_zone_maps_are_cast_once() -> None:
    (zone_map,) = zone_maps(pa.table({"x": pa.array([1, 2], pa.timestamp("s"))}), 1).values()
    kept = zones_as(zone_map, (pa.timestamp("s"),))
    assert kept is zones_as(zone_map, (pa.timestamp("s"),))
    finer = zones_as(zone_map, (pa.timestamp("s"), pa.timestamp("us")))
    assert finer is not kept
    assert finer is zones_as(zone_map, (pa.timestamp("us"),))
    assert zones_as(zone_map, (pa.timestamp("s"), pa.date32())) is None


def verdict_of(expression: pc.Expression, table: pa.Table) -> int:
    predicate = zone_predicate(native_expressions, expression, table.schema)
    assert predicate is not None
    (found,) = predicate.verdicts(zone_maps(table, len(table)), 1).tolist()
    return int(found)
