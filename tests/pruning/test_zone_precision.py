"""What zones must not leave open: zones of one row are decided, and inequalities are as exact as their bounds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from filter_cases import FilterCase, filter_case
from zones_in_memory import zone_maps

from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_predicates import Verdict, is_understood
from lance_arrow.pruning.zone_pruning import zone_predicate
from lance_arrow.statistics.zone_bounds import MAX_BOUND_BYTES

NUM_CASES = 1500
INEQUALITIES = ("less", "less_equal", "greater", "greater_equal")


def kept_rows(case: FilterCase) -> np.ndarray | None:
    """Whether Arrow keeps each row, ``(num_rows,) bool``; None where it cannot evaluate the filter."""
    expected = case.expected()
    return None if expected is None else np.isin(np.arange(len(case.table)), expected["row"].to_numpy())


def is_exact(node: tuple[Any, ...], table: pa.Table) -> bool:
    """Whether bounds of one value tell what an expression gives of it."""
    if node[0] == "literal":
        return isinstance(node[1], pa.Scalar) and not pa.types.is_null(node[1].type)
    if node[0] == "field":
        column = table
        for name in node[1]:
            column = column[name] if isinstance(column, pa.Table) else pc.struct_field(column, name)
        if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
            return False
        is_variable = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        is_variable |= pa.types.is_binary(column.type)
        return not is_variable or (pc.max(pc.binary_length(column)).as_py() or 0) <= MAX_BOUND_BYTES
    if node[1] == "match_like" or not is_understood(node):
        return False
    if node[1] == "starts_with" and node[3][1]:
        return False
    if node[1] == "is_in" and (pa.types.is_floating(node[2][0][-1]) or not isinstance(node[3], tuple)):
        return False
    return all(is_exact(one, table) for one in node[2])


@cache
def cases() -> list[tuple[int, FilterCase, np.ndarray, tuple[Any, ...]]]:
    found = []
    for number in range(NUM_CASES):
        case = filter_case(number)
        if not 0 < len(case.table) <= 40:
            continue
        kept = kept_rows(case)
        predicate = zone_predicate(native_expressions, case.expression, case.table.schema)
        if kept is not None and predicate is not None and is_exact(predicate.tree, case.table):
            found.append((number, case, kept, predicate))
    return found


def test_zones_of_one_row_are_decided() -> None:
    assert len(cases()) > NUM_CASES // 8
    for number, case, kept, predicate in cases():
        verdicts = predicate.verdicts(zone_maps(case.table, 1), len(case.table))
        assert verdicts.tolist() == np.where(kept, Verdict.ALL, Verdict.NO).tolist(), (number, case.expression)


@pytest.mark.parametrize("rows_per_zone", [2, 3, 7, 64])
def test_inequalities_are_as_exact_as_bounds(rows_per_zone: int) -> None:
    """Bounds are values of the zone: some are below, or all are, or none is, and that is all an inequality asks."""
    asked = 0
    for number, case, kept, predicate in cases():
        tree = predicate.tree
        if tree[1] not in INEQUALITIES or {one[0] for one in tree[2]} != {"field", "literal"}:
            continue
        asked += 1
        starts = np.arange(0, len(kept), rows_per_zone)
        some, counts = np.logical_or.reduceat(kept, starts), np.add.reduceat(kept, starts)
        expected = np.where(some, Verdict.MAYBE, Verdict.NO)
        expected[counts == np.minimum(rows_per_zone, len(kept) - starts)] = Verdict.ALL
        verdicts = predicate.verdicts(zone_maps(case.table, rows_per_zone), len(starts))
        assert verdicts.tolist() == expected.tolist(), (number, case.expression)
    assert asked > 10
