"""Plans of filters are kept for the next scan: equal filters on equal schemas share one, others do not."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.filters import judges, kept_plans
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_by_schema import KeptBySchema
from lance_arrow.scan.filters.kept_plans import kept_plan

SCHEMA = pa.schema([("s", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("t", pa.timestamp("us"))])
WORDS = ["AIR", "RAIL", "TRUCK", "MAIL"]
DAY = datetime.datetime(2020, 1, 1)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[FilterPlan]:
    """Plans that are made, of which none was kept before."""
    made: list[FilterPlan] = []
    begin = FilterPlan.__init__

    def noted(self: FilterPlan, expression: pc.Expression, schema: pa.Schema) -> None:
        begin(self, expression, schema)
        made.append(self)

    monkeypatch.setattr(FilterPlan, "__init__", noted)
    monkeypatch.setattr(kept_plans, "_kept", KeptBySchema())
    return made


def test_equal_filters_share_a_plan(plans: list[FilterPlan]) -> None:
    for _ in range(3):
        found = kept_plan(pc.field("s") == "AIR", pa.schema(list(SCHEMA)))
        assert str(found.expression) == str(plans[0].expression)
    assert len(plans) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pc.field("s") == "AIR", pc.field("s") == "RAIL"),
        (pc.field("x") > 0.0, pc.field("x") > -0.0),
        (pc.field("n") == pa.scalar(1, pa.int8()), pc.field("n") == pa.scalar(1, pa.int64())),
        (pc.field("s").isin(["a"] * 30 + ["b"]), pc.field("s").isin(["a"] * 15 + ["c"] + ["a"] * 14 + ["b"])),
        (pc.field("s").isin(["a", None]), pc.field("s").isin(["a"])),
        (pc.match_substring(pc.field("s"), "A"), pc.match_substring(pc.field("s"), "A", ignore_case=True)),
        (pc.field("t") > DAY, pc.field("t") > DAY + datetime.timedelta(microseconds=1)),
        (pc.field("n").is_null(), pc.field("n").is_null(nan_is_null=True)),
    ],
)
def test_other_filters_have_a_plan_of_their_own(
    one: pc.Expression, other: pc.Expression, plans: list[FilterPlan]
) -> None:
    for _ in range(2):
        kept_plan(one, SCHEMA)
        kept_plan(other, SCHEMA)
    assert len(plans) == 2


def test_schemas_are_compared(plans: list[FilterPlan]) -> None:
    number = pc.field("n") == 1
    for schema in (SCHEMA, SCHEMA.set(1, pa.field("n", pa.int8())), SCHEMA.with_metadata({"a": "b"}), SCHEMA):
        assert kept_plan(number, schema).schema.field("n").type == schema.field("n").type
    assert len(plans) == 3


def test_few_plans_are_kept(plans: list[FilterPlan]) -> None:
    for number in [*range(20), 19, 0]:
        kept_plan(pc.field("n") == number, SCHEMA)
    assert len(plans) == 21
    for _ in range(2):
        kept_plan(pc.field("n").isin(list(range(20_000))), SCHEMA)
    assert len(plans) == 23


def test_what_differs_each_time_is_not_kept(plans: list[FilterPlan]) -> None:
    for _ in range(2):
        kept_plan(pc.Expression._call("random", [], pc.RandomOptions()) < 0.5, SCHEMA)
    assert len(plans) == 2


def test_misfits_are_not_kept(plans: list[FilterPlan]) -> None:
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="there is no column 'z'"):
            kept_plan(pc.field("z") == 1, SCHEMA)
    assert not plans


def test_the_next_scan_judges_no_item_again(
    tmp_path: Path, plans: list[FilterPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[object] = []
    own = judges.Judge._judged
    monkeypatch.setattr(judges.Judge, "_judged", lambda *given: judged.append(given) or own(*given))
    rows = pa.table({"s": WORDS * 5000, "n": range(20_000)})
    for name in ("a", "b"):
        lance_arrow.LanceTable.create(tmp_path / name, rows, max_rows_per_file=10_000)
        for _ in range(2):
            assert lance_arrow.LanceTable.open(tmp_path / name).count_rows("s = 'AIR'") == 5000
            assert lance_arrow.dataset(tmp_path / name).count_rows(filter=pc.field("s") == "AIR") == 5000
    # Each reads virtual columns, or does not; the second file has the dictionary of the first.
    assert len(plans) <= 2
    assert len(judged) == len(plans)


def test_scans_remember_no_dictionary_of_others(tmp_path: Path, plans: list[FilterPlan]) -> None:
    lance_arrow.write_table(pa.table({"s": WORDS * 5000}), tmp_path / "a.lance")
    for _ in range(2):
        with lance_arrow.LanceFile(tmp_path / "a.lance") as file:
            batches = list(file.to_batches(filter="s = 'AIR'"))
            assert sum(map(len, batches)) == 5000
    (plan,) = plans
    assert plan._items is not None
    assert plan._items._known == [None]
