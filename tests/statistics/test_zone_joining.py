"""`joined_maps`: nothing that either map says is lost where their zones fit, and nothing is said that neither does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_arrow.statistics.zone_joining import joined_maps
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import zones_schema


def zone_map(step: int, zones: list[tuple[Any, Any, int | None, int | None]], num_rows: int = 8) -> ZoneMap:
    """Zones of (lower bound, upper bound, nulls, NaN)."""
    rows = [min(step, num_rows - start) for start in range(0, num_rows, step)]
    low, high, nulls, nans = (list(column) for column in zip(*zones, strict=True))
    exact = [one is not None for one in low]
    schema = pa.schema([field.with_nullable(True) for field in zones_schema(pa.float64())])
    columns = [low, high, exact, exact, nulls, nans, rows, rows]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
    is_partial = any(one is None for zone in zones for one in zone)
    return ZoneMap(batch, step, is_repeated=False, is_partial=is_partial)


def told(found: ZoneMap) -> list[tuple[Any, ...]]:
    return [tuple(zone[name] for name in ("min", "max", "null_count", "nan_count")) for zone in found.zones.to_pylist()]


def test_what_is_open_is_filled_in() -> None:
    own = zone_map(2, [(1.0, 2.0, 0, None), (None, None, None, None), (5.0, 6.0, 0, None), (None, 8.0, 0, None)])
    beside = zone_map(4, [(0.0, 4.0, 0, 0), (4.5, 9.0, 1, 2)])
    for found in (joined_maps(own, beside), joined_maps(beside, own)):
        assert found.rows_per_zone == 2
        # One null and two NaN are somewhere in the last four rows.
        assert told(found) == [(1.0, 2.0, 0, 0), (0.0, 4.0, 0, 0), (5.0, 6.0, 0, None), (4.5, 8.0, 0, None)]
        assert found.zones.column("min_exact").to_pylist() == [True, False, True, False]
        assert found.zones.column("max_exact").to_pylist() == [True, False, True, False]
        assert found.is_partial


def test_zones_of_one_length_are_filled_in_whole() -> None:
    own = zone_map(4, [(None, None, None, None), (5.0, 6.0, 0, None)])
    beside = zone_map(4, [(0.0, 4.0, 2, 1), (5.0, 6.0, 0, 0)])
    found = joined_maps(own, beside)
    assert told(found) == [(0.0, 4.0, 2, 1), (5.0, 6.0, 0, 0)]
    assert not found.is_partial


@pytest.mark.parametrize("step", [1, 3])
def test_a_finer_map_that_leaves_nothing_open_is_all(step: int) -> None:
    own = zone_map(4, [(None, None, None, None), (5.0, 6.0, 0, None)])
    beside = zone_map(step, [(0.0, 1.0, 0, 0)] * -(-8 // step))
    assert joined_maps(own, beside) is beside


@pytest.mark.parametrize(
    ("nans", "expected"), [((0, 1, 0), (0, None, None, 0)), ((1, 0, 0), (None, None, 0, 0)), ((0, 0, 0), (0, 0, 0, 0))]
)
def test_zones_that_two_others_meet(nans: tuple[int, ...], expected: tuple[int | None, ...]) -> None:
    own = zone_map(2, [(1.0, 2.0, 0, None), (None, None, 0, None), (None, None, 0, None), (None, None, 0, None)])
    beside = zone_map(3, [(0.0, 4.0, 0, nans[0]), (3.0, 9.0, 0, nans[1]), (7.0, 8.0, 0, nans[2])])
    found = joined_maps(own, beside)
    bounds = [(1.0, 2.0), (0.0, 9.0), (3.0, 9.0), (7.0, 8.0)]
    assert told(found) == [(*both, 0, nan) for both, nan in zip(bounds, expected, strict=True)]
    assert found.is_partial == (None in expected)
    assert not found.is_repeated
