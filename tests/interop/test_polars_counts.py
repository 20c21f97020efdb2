"""Counts behind Polars' door: columns that only a predicate mentions are not made, where no plan needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from lance_arrow import LanceTable
from lance_arrow.integrations import polars as door
from lance_arrow.integrations.engine_rows import EngineRows

c = pl.col
ROWS = pa.table({
    "a": ["x", "y", "z", "x", None, "y"] * 40, "b": list(range(240)), "f": [0.5, float("nan"), None, 2.0] * 60,
})  # fmt: skip
AMONG = c("a").is_in(["x", "y"])
ODD = c("b").map_elements(lambda value: str(value)[-1] in "13579", return_dtype=pl.Boolean)

Plan = Callable[[pl.LazyFrame], pl.LazyFrame]
PLANS: Mapping[str, Plan] = {
    "count": lambda frame: frame.filter(AMONG).select(pl.len()),
    "count of one": lambda frame: frame.filter(c("a") == "x").select(pl.len()),
    "two columns": lambda frame: frame.filter(AMONG & (c("f") > 1)).select(pl.len()),
    "left to Polars": lambda frame: frame.filter(c("a").str.contains("[xz]")).select(pl.len()),
    "partly left": lambda frame: frame.filter(AMONG & c("a").str.contains("x|z") & (c("b") > 7)).select(pl.len()),
    "python": lambda frame: frame.filter(AMONG & ODD).select(pl.len()),
    "chained python": lambda frame: frame.filter(ODD).filter(AMONG).select(pl.len()),
    "window": lambda frame: frame.filter(AMONG).filter(c("b") == c("b").max().over("a")).select(pl.len()),
    "window of the same": lambda frame: frame.filter(AMONG).filter(c("a").count().over("a") > 1).select(pl.len()),
    "aggregate": lambda frame: frame.filter(AMONG).filter(c("a") == c("a").max()).select(pl.len()),
    "neighbours": lambda frame: frame.filter(AMONG).filter(c("a") != c("a").shift(1)).select(pl.len()),
    "first rows": lambda frame: frame.head(50).filter(AMONG).select(pl.len()),
    "first of filtered": lambda frame: frame.filter(AMONG).head(50).filter(c("a") == "x").select(pl.len()),
    "last of filtered": lambda frame: frame.filter(AMONG).tail(50).filter(c("a") == "x").select(pl.len()),
    "row index": lambda frame: frame.with_row_index().filter(AMONG & (c("index") > 9)).select(pl.len()),
    "new column": lambda frame: frame.filter(AMONG).with_columns(n=pl.len()).filter(c("a") == "x").select("n"),
    "new column counted": lambda frame: (
        frame.filter(AMONG).with_columns(n=pl.len()).filter((c("a") == "x") & (c("n") > 1)).select(pl.len())
    ),
    "unique": lambda frame: frame.filter(AMONG).unique("a").select(pl.len()),
    "sorted": lambda frame: frame.filter(AMONG).sort("a").select(pl.len()),
    "literal": lambda frame: frame.filter(AMONG).select(pl.lit(1)),
    "cast": lambda frame: frame.filter(AMONG).filter(c("b").cast(pl.UInt8) > 1).select(pl.len()),
    "joined": lambda frame: frame.filter(AMONG).join(frame.filter(c("b") > 230), how="cross").select(pl.len()),
    "count and column": lambda frame: (
        frame.filter(AMONG).select("a").join(frame.filter(AMONG).select(pl.len()), how="cross").sort("a")
    ),
    "counts of two": lambda frame: pl.concat([frame.filter(AMONG), frame.filter(c("a") == "z")]).select(pl.len()),
    "filtered behind": lambda frame: pl.concat([frame, frame]).filter(AMONG).filter(ODD).select(pl.len()),
    "groups": lambda frame: frame.filter(AMONG).group_by("a").len().sort("a"),
    "counted values": lambda frame: frame.filter(AMONG).select(c("a").count()),
    "counted nulls": lambda frame: frame.filter(c("b") > 3).select(c("a").null_count()),
    "all": lambda frame: frame.filter(AMONG),
}
FLAGS = {
    "all": pl.QueryOptFlags(),
    "none": pl.QueryOptFlags.none(),
    "no predicates": pl.QueryOptFlags(predicate_pushdown=False),
    "no columns": pl.QueryOptFlags(projection_pushdown=False),
    "not simplified": pl.QueryOptFlags(simplify_expression=False),
    "not shared": pl.QueryOptFlags(comm_subplan_elim=False, comm_subexpr_elim=False),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("polars") / "t.lance"
    LanceTable.create(path, ROWS, max_rows_per_file=100).delete("b = 17")
    return path


@pytest.mark.share(3)
@pytest.mark.cover(2)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("name", PLANS)
def test_no_plan_needs_what_is_not_read(path: Path, name: str, flags: str, engine: str) -> None:
    plain = pl.from_arrow(ROWS).lazy().filter(c("b") != 17)
    wanted = PLANS[name](plain).collect(optimizations=pl.QueryOptFlags.none())
    for categoricals in (False, True):
        frame = door.scan(path, categoricals=categoricals).with_columns(c("a").cast(pl.String))
        for asked in (frame, door.scan(path)):
            assert_frame_equal(wanted, PLANS[name](asked).collect(engine=engine, optimizations=FLAGS[flags]))


def test_plans_of_one_frame_together(path: Path) -> None:
    frame = door.scan(path).filter(AMONG)
    plans = [frame.select(pl.len()), frame.select("a"), frame.filter(c("b") > 9).select(pl.len())]
    for one, found in zip(plans, pl.collect_all(plans), strict=True):
        assert_frame_equal(one.collect(), found)


@pytest.mark.parametrize("is_checked", [True, False])
def test_rows_of_counts_are_made_for_unknown_versions_alone(
    path: Path, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    batches = EngineRows.batches

    def watched(self: EngineRows, columns: Sequence[str], *rest: Any, **options: Any) -> Any:
        asked.append(tuple(columns))
        return batches(self, columns, *rest, **options)

    monkeypatch.setattr(EngineRows, "batches", watched)
    monkeypatch.setattr(door, "_ROWS_ARE_ALL", is_checked)
    frame = door.scan(path)
    assert frame.filter(AMONG & (c("b") > 50)).select(pl.len()).collect().item() == 126
    assert asked == ([] if is_checked else [("a", "b")])
    asked.clear()
    # What Polars filters by is read.
    assert frame.filter(AMONG & c("f").is_in([2.0, None])).select(pl.len()).collect().item() == 60
    assert asked == ([("f",)] if is_checked else [("a", "f")])


def test_this_version_is_checked() -> None:
    """Polars is newer than what was looked at: see that the plans above hold, then raise `_LAST_CHECKED`."""
    assert door._ROWS_ARE_ALL
