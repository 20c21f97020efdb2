"""Indices that the reference made, through every operation of ours: its answers stay right, and no index is lost."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from foreign_indices import (
    BY_ADDRESS,
    BY_ROW_ID,
    COLUMNS,
    INDICES,
    KEY,
    REMADE,
    assert_indices_right,
    index_names,
    make_table,
    questions,
    rows_of,
)
from witness import Witness, WitnessRefused

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError

pytestmark = pytest.mark.interop

ROWS = 100
# What follows rows with stable ids.
MOVING = tuple(column for column in COLUMNS if column in {*BY_ROW_ID, *REMADE})
TABLES_PAGE = Path(__file__).parents[2] / "docs/reference/tables.md"
ASKED = questions()


def merged(table: LanceTable, keys: Sequence[int], stage: int) -> None:
    rows = rows_of(keys, stage).drop_columns(["plain"])
    table.merge(rows, on=KEY).when_matched_update_all().when_not_matched_insert_all().execute()


STEPS: tuple[tuple[str, Callable[[LanceTable], object]], ...] = (
    ("append", lambda table: table.append(rows_of(range(300, 340)))),
    ("delete", lambda table: table.delete(f"{KEY} % 10 = 3")),
    ("update of a column without index", lambda table: table.update({"plain": "plain + 1"}, f"{KEY} < 12")),
    ("update of one indexed column", lambda table: table.update({"category": "'c3'"}, f"{KEY} >= 20 AND {KEY} < 35")),
    (
        "update of several indexed columns",
        lambda table: table.update(
            {"number": "number + 1", "words": "'word3 stage1'", "name": "'stage 1'", "bounded": "bounded + 10000"},
            f"{KEY} >= 110 AND {KEY} < 130",
        ),
    ),
    ("merge", lambda table: merged(table, [*range(30, 50), *range(205, 225), *range(400, 410)], 2)),
    ("compaction", lambda table: table.compact()),
    ("added column", lambda table: table.add_columns({"twice": "plain * 2"})),
    ("renamed column", lambda table: table.alter_columns({"path": "twice", "name": "double"})),
    ("replaced column", lambda table: table.replace_columns({"double": "plain * 3"})),
    ("dropped column", lambda table: table.drop_columns(["double"])),
    ("deletion of a whole fragment", lambda table: table.delete(f"{KEY} >= 200 AND {KEY} < 300")),
    ("second compaction", lambda table: table.compact(materialize_deletions_threshold=0.0)),
    ("update after compaction", lambda table: merged(table, range(60, 90), 3)),
    ("restored version", lambda table: table.restore(table.version - 3)),
    ("third compaction", lambda table: table.compact()),
    (
        "cleanup",
        lambda table: table.cleanup(
            older_than=datetime.timedelta(), retain_versions=1, delete_unverified=True, dry_run=False
        ),
    ),
)


@pytest.mark.cover(1)
@pytest.mark.parametrize(
    ("stable", "columns"),
    [(False, COLUMNS), (True, COLUMNS), (False, REMADE), (True, MOVING)],
    ids=["addresses", "stable-row-ids", "addresses-that-are-remade", "stable-row-ids-and-all-that-moves"],
)
def test_every_operation(
    witness: Witness, tmp_path: Path, stable: bool, columns: tuple[str, ...], whole_run: bool
) -> None:
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=stable, columns=columns)
    asked = [question for question in ASKED if "text" not in question or "words" in columns]
    assert_indices_right(witness, path, "creation", asked)
    # Every day, one of three tables is asked after a step, another one after the next step.
    first = (COLUMNS, REMADE, MOVING).index(columns)
    for number, (step, change) in enumerate(STEPS, first):
        change(LanceTable.open(path))
        if whole_run or number % 3 == 0:
            assert_indices_right(witness, path, step, asked)
        assert sorted(witness.index_coverage(path)) == index_names(columns), step
    # Their maker can bring all of them up to date, and compact.
    witness.change_table(path, {"do": "optimize_indices"})
    assert_indices_right(witness, path, "their update of the indices", asked)
    live = {fragment.id for fragment in LanceTable.open(path).manifest.fragments}
    assert all(live <= set(covered) for covered in witness.index_coverage(path).values())
    witness.change_table(path, {"do": "compact"})
    assert_indices_right(witness, path, "their compaction", asked)


def test_compaction_carries_indices_of_row_ids(witness: Witness, tmp_path: Path) -> None:
    """The index covers the new fragment, and the reference searches it instead of the rows."""
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=True, columns=BY_ROW_ID)
    LanceTable.open(path).append(rows_of(range(300, 310)))
    LanceTable.open(path).append(rows_of(range(310, 320)))
    report = LanceTable.open(path).compact()
    # Fragments that the indices cover are not put together with those that they do not.
    assert report.fragments_rewritten == (0, 1, 2, 3, 4)
    assert len(report.fragments_made) == 2
    assert report.kept_out == {}
    assert report.dropped_indices == ()
    assert report.carried_indices == tuple(index_names(BY_ROW_ID))
    covered = report.fragments_made[0]
    assert witness.index_coverage(path) == {name: [covered] for name in index_names(BY_ROW_ID)}
    LanceTable.open(path).delete(f"{KEY} >= 300")
    assert [one.id for one in LanceTable.open(path).manifest.fragments] == [covered]
    answers = assert_indices_right(witness, path, "compaction", ASKED)
    plans = {question.get("filter", ""): answer["plan"] for question, answer in zip(ASKED, answers, strict=True)}
    for text, column in (
        ("category = 'c3'", "category"),
        ("array_has_any(labels, ['l1', 'l4'])", "labels"),
        ("contains(name, 'number 27')", "name"),
    ):
        assert f"@{column}_idx(" in plans[text], text
    for question, answer in zip(ASKED, answers, strict=True):
        if "nearest" in question:
            # Rows beside the index would be searched by a plan with a union.
            assert "ANNSubIndex" in answer["plan"]
            assert "Union" not in answer["plan"]
        if "text" in question:
            assert "MatchQuery" in answer["plan"]
            assert "FlatMatchQuery" not in answer["plan"]


def documented(kind: str, stable: bool) -> str:
    """Return what the documentation says that compaction does with an index of a kind."""
    text = TABLES_PAGE.read_text().split("| Kind | Row ids are addresses | Stable row ids |\n")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    found = [row for row in rows if fnmatch.fnmatch(kind, row[0].split(" ")[0])]
    assert len(found) == 1
    return found[0][1 + stable]


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
@pytest.mark.parametrize("column", COLUMNS)
def test_compaction_beside_one_index(witness: Witness, tmp_path: Path, column: str, stable: bool) -> None:
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=stable, columns=[column])
    for start in (300, 310):
        LanceTable.open(path).append(rows_of(range(start, start + 10)))
    table = LanceTable.open(path)
    report = table.compact()
    name = f"{column}_idx"
    said = documented(INDICES[column][0], stable)
    moves = said in ("made again", "carried along")
    assert (said == "carried along") is (stable and column in BY_ROW_ID)
    assert (said == "made again") is (column in REMADE and not (stable and column in BY_ROW_ID))
    files = {one.parent.name for one in (path / "_indices").rglob("*.*")}
    # The old index is still there, for the versions that name it.
    assert len(files) == (2 if said == "made again" else 1)
    if moves:
        assert report.kept_out == {}
        assert report.fragments_rewritten == (0, 1, 2, 3, 4)
        assert witness.index_coverage(path) == {name: [report.fragments_made[0]]}
    else:
        assert said == "fragments stay"
        assert report.kept_out == {name: (0, 1, 2)}
        assert report.fragments_rewritten == (3, 4)
        assert f"fragments 0, 1, 2 were not rewritten: index '{name}'" in str(report)
        assert witness.index_coverage(path) == {name: [0, 1, 2]}
    mine = [question for question in ASKED if column in str(question)]
    assert mine
    assert_indices_right(witness, path, "compaction", mine)
    if not moves:
        report = LanceTable.open(path).compact(drop_indices=True)
        assert report.dropped_indices == (name,)
        assert report.kept_out == {}
        assert len(LanceTable.open(path).manifest.fragments) == 1
        assert LanceTable.open(path).indices == {}


@pytest.mark.parametrize(
    ("target", "stable"),
    [
        pytest.param(1500, False, id="several-fragments-addresses"),
        pytest.param(1500, True, id="several-fragments-stable-row-ids", marks=pytest.mark.whole),
        pytest.param(1 << 20, False, id="one-fragment-addresses", marks=pytest.mark.whole),
        pytest.param(1 << 20, True, id="one-fragment-stable-row-ids", marks=pytest.mark.whole),
    ],
)
def test_remade_indices(witness: Witness, tmp_path: Path, stable: bool, target: int) -> None:
    """Indices of many pages, values and zones, of all types that have an order, with nulls, NaN and deleted rows."""
    path = tmp_path / "t.lance"
    random = np.random.default_rng(5)
    count = 12_000
    numbers = random.permutation(count)
    columns = {
        "i": pa.array([None if one % 7 == 3 else int(one) for one in numbers], pa.int64()),
        "f": pa.array(np.where(numbers % 11 == 1, np.nan, numbers / 4 - 500), mask=numbers % 13 == 2),
        "s": pa.array([f"text {one:05d}" for one in numbers], mask=numbers % 5 == 0),
        "t": pa.array(numbers.astype("datetime64[s]"), pa.timestamp("us")),
        "b": pa.array([b"%05d" % one for one in numbers], pa.binary()),
        "d": pa.array(numbers % 300, pa.int32()).cast(pa.date32()),
    }  # fmt: skip
    data = pa.table(
        {KEY: pa.array(range(count), pa.int64()), **columns, **{f"z{name}": columns[name] for name in "ifstd"}}
    )
    sets = {"bd": columns["d"], "bs": columns["s"], "bc": pa.array(["all"] * count), "ns": columns["s"]}
    for name, values in sets.items():
        data = data.append_column(name, values)
    witness.write_directory(data, path, "2.2", max_rows_per_file=1000, enable_stable_row_ids=stable)
    witness.make_indices(path, [(name, "BTREE", {}) for name in columns])
    witness.make_indices(path, [(f"z{name}", "ZONEMAP", {}) for name in "ifst"])
    witness.make_indices(path, [("bd", "BITMAP", {}), ("bs", "BITMAP", {}), ("bc", "BITMAP", {}), ("ns", "NGRAM", {})])
    LanceTable.open(path).create_zone_map("zd", rows_per_zone=77)
    asked = [
        {"filter": text.replace("?", name)}
        for kind in ("", "z")
        for name, text in (
            (f"{kind}i", "? = 5000"), (f"{kind}i", "? >= 11900"), (f"{kind}i", "? IS NULL"),
            (f"{kind}i", "? IN (1, 3, 8191)"),
            (f"{kind}f", "? < -450"), (f"{kind}f", "? > 2400"), (f"{kind}f", "? IS NULL"), (f"{kind}f", "? = 100.25"),
            (f"{kind}s", "? = 'text 04999'"), (f"{kind}s", "? < 'text 00100'"), (f"{kind}s", "? IS NULL"),
            (f"{kind}t", "? < timestamp '1970-01-01 00:01:30'"), (f"{kind}d", "? = date '1970-02-01'"),
        )
    ]  # fmt: skip
    asked += [
        {"filter": text}
        for text in ("bd = date '1970-02-01'", "bs = 'text 04999'", "bs IS NULL", "bc = 'all'", "contains(ns, '4999')")
    ]
    LanceTable.open(path).delete(
        f"({KEY} % 9 = 4) OR ({KEY} >= 2000 AND {KEY} < 3000) OR ({KEY} >= 6000 AND {KEY} < 6990)"
    )
    assert_indices_right(witness, path, "deletion", asked)
    report = LanceTable.open(path).compact(target_rows_per_fragment=target, materialize_deletions_threshold=0.0)
    assert report.kept_out == {}
    assert len(report.fragments_rewritten) == 11
    # Fragment 2 was not rewritten: no row of it was left.
    names = [*columns, *sets, *(f"z{name}" for name in "ifstd")]
    assert witness.index_coverage(path) == {f"{name}_idx": [2, *report.fragments_made] for name in names}
    answers = assert_indices_right(witness, path, "compaction", asked)
    assert all("ScalarIndexQuery" in answer["plan"] for answer in answers)
    # Again, of what was made here; rows of a part of the fragments.
    LanceTable.open(path).append(data.slice(0, 100))
    LanceTable.open(path).delete(f"{KEY} % 2 = 0 AND {KEY} < 5000")
    assert LanceTable.open(path).compact(target_rows_per_fragment=target).kept_out == {}
    assert_indices_right(witness, path, "second compaction", asked)
    witness.change_table(path, {"do": "optimize_indices"}, {"do": "compact"})
    assert_indices_right(witness, path, "what the reference does", asked)
    LanceTable.open(path).delete(f"{KEY} >= 0")
    LanceTable.open(path).append(data.slice(0, 10))
    LanceTable.open(path).compact()
    assert_indices_right(witness, path, "deletion of all", asked)


def test_index_of_which_no_row_is_left(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=False, columns=REMADE)
    LanceTable.open(path).delete(f"{KEY} >= 5 AND {KEY} < 300")
    mine = [question for question in ASKED if any(column in str(question) for column in REMADE)]
    for _ in range(2):
        LanceTable.open(path).compact()
        assert_indices_right(witness, path, "compaction", mine)
        LanceTable.open(path).append(rows_of(range(300, 310)))
        LanceTable.open(path).update({"number": "number + 0"}, f"{KEY} < 3")
    assert sorted(witness.index_coverage(path)) == index_names(REMADE)


@pytest.mark.cover(1)
@pytest.mark.parametrize("damage", ["cut", "removed", "other"])
@pytest.mark.parametrize("column", REMADE)
def test_index_that_cannot_be_read(witness: Witness, tmp_path: Path, column: str, damage: str) -> None:
    """It keeps its fragments, whatever its files are; nothing is written for it."""
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=False, columns=[column])
    for file in (path / "_indices").rglob("*.lance"):
        if damage == "cut":
            file.write_bytes(file.read_bytes()[:-9])
        elif damage == "removed":
            file.unlink()
        else:
            lance_arrow.write_table(pa.table({"x": [1]}), file)
    before = sorted(path.rglob("*"))
    report = LanceTable.open(path).compact()
    assert report.kept_out == {f"{column}_idx": (0, 1, 2)}
    assert sorted(path.rglob("*")) == before
    assert LanceTable.open(path).compact(drop_indices=True).dropped_indices == (f"{column}_idx",)


def test_compaction_drops_no_index_that_covers_nothing_of_it(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=False, columns=["labels"])
    for start in (300, 310):
        LanceTable.open(path).append(rows_of(range(start, start + 10)))
    report = LanceTable.open(path).compact(target_rows_per_fragment=60, drop_indices=True)
    assert report.fragments_rewritten == (3, 4)
    assert report.dropped_indices == ()
    assert LanceTable.open(path).indices == {"labels_idx": ("labels",)}
    assert_indices_right(witness, path, "compaction", [one for one in ASKED if "labels" in one.get("filter", "")])


@pytest.mark.parametrize(
    "stable",
    [pytest.param(False, id="addresses", marks=pytest.mark.whole), pytest.param(True, id="stable-row-ids")],
)
def test_replaced_columns(witness: Witness, tmp_path: Path, stable: bool) -> None:
    """An index of replaced values covers nothing, and stays: of lists, too, whose files name the values inside."""
    path = tmp_path / "t.lance"
    keys = range(3 * ROWS)
    columns = [column for column in COLUMNS if INDICES[column][0] not in ("IVF_PQ", "IVF_HNSW_SQ")]
    table = LanceTable.create(
        path, rows_of(keys).select([KEY, "plain"]), max_rows_per_file=ROWS, enable_stable_row_ids=stable
    )
    for column in [*columns, "quantized", "graph"]:
        table.add_columns(rows_of(keys).select([column]))
    witness.make_indices(path, [(column, *INDICES[column][:2]) for column in COLUMNS])
    for column in COLUMNS:
        LanceTable.open(path).replace_columns(rows_of(keys, 1).select([column]))
    assert witness.index_coverage(path) == {name: [] for name in index_names(COLUMNS)}
    assert_indices_right(witness, path, "replacement", ASKED)
    witness.change_table(path, {"do": "optimize_indices"})
    assert_indices_right(witness, path, "their update of the indices", ASKED)


@pytest.mark.cover(1)
@pytest.mark.parametrize(("stable", "columns"), [(False, COLUMNS), (True, COLUMNS), (False, REMADE), (True, MOVING)])
def test_lines(witness: Witness, tmp_path: Path, stable: bool, columns: tuple[str, ...]) -> None:
    """Indices of a branch and of a shallow clone lie in the folder of the table that they begin with."""
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=stable, columns=columns)
    asked = [question for question in ASKED if "text" not in question or "words" in columns]
    table = LanceTable.open(path)
    table.branches.create("side")
    table.shallow_clone(tmp_path / "clone.lance")
    for place, branch in ((path, "side"), (tmp_path / "clone.lance", None)):
        side = LanceTable.open(place, branch=branch)
        side.append(rows_of(range(300, 310)))
        side.update({"category": "'c3'", "words": "'word3 stage1'"}, f"{KEY} < 12")
        report = side.compact()
        assert bool(report.kept_out) is (columns == COLUMNS)
        merged(side, range(205, 225), 2)
        assert_indices_right(witness, place, "changes", asked, branch)
        assert sorted(witness.index_coverage(place, branch)) == index_names(columns)
    assert_indices_right(witness, path, "changes elsewhere", asked)


@pytest.mark.parametrize(
    "stable",
    [pytest.param(False, id="addresses"), pytest.param(True, id="stable-row-ids", marks=pytest.mark.whole)],
)
def test_jobs(witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stable: bool) -> None:
    """Spark's jobs, their tasks run here: they carry indices, leave fragments as they are, or refuse."""
    jobs = pytest.importorskip("lance_arrow.spark.jobs", exc_type=ImportError)

    def here(
        spark: object, function: Callable[[Any], Any], items: Sequence[Any], *, num_tasks: int | None = None
    ) -> list[Any]:
        return [function(item) for item in items]

    for module in ("compacting", "deleting"):
        monkeypatch.setattr(f"lance_arrow.spark.jobs.{module}.spread", here)
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=stable)
    uri = str(path)
    for start in (300, 310):
        LanceTable.open(path).append(rows_of(range(start, start + 10)))
    report = jobs.compact(None, uri)
    assert report.counts["fragments_rewritten"] == 2
    assert any("0, 1, 2 were not rewritten: index 'code_idx'" in line for line in report.notes)
    assert report.ok
    assert_indices_right(witness, path, "compact", ASKED)
    jobs.delete(None, uri, f"{KEY} % 7 = 2")
    assert_indices_right(witness, path, "delete", ASKED)
    report = jobs.rewrite(None, uri, preset="compact")
    assert report.counts["files_written"] == 1
    assert any("0, 1, 2 were not rewritten: index 'code_idx'" in line for line in report.notes)
    assert_indices_right(witness, path, "rewrite", ASKED)
    assert sorted(witness.index_coverage(path)) == index_names(COLUMNS)
    with pytest.raises(InvalidArgumentError, match=r"drops the indices bounded_idx, category_idx, .* drop_indices"):
        jobs.rewrite(None, uri, file_version="2.1")
    report = jobs.rewrite(None, uri, drop_indices=True)
    assert report.counts["files_written"] == 4
    left = index_names(MOVING if stable else REMADE)
    assert set(report.notes) >= {f"index '{name}' was carried along" for name in left}
    assert sorted(witness.index_coverage(path)) == left
    assert "index 'code_idx' was dropped" in report.notes
    mine = [question for question in ASKED if stable or "text" not in question]
    assert_indices_right(witness, path, "rewrite that drops indices", mine)
    report = jobs.rewrite(None, uri, file_version="2.1", drop_indices=True)
    assert report.notes == tuple(f"index '{name}' was dropped" for name in left)
    assert LanceTable.open(path).indices == {}


def test_cleanup_of_index_files(witness: Witness, tmp_path: Path) -> None:
    """Files of an index stay as long as a version names it; those that go are told."""
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=False, columns=["words", "labels"])
    folders = {one.name for one in (path / "_indices").iterdir()}
    assert len(folders) == 2
    table = LanceTable.open(path)
    table.tags.create("indexed", table.version)
    table.compact(drop_indices=True)
    everything: dict[str, Any] = {
        "older_than": datetime.timedelta(), "retain_versions": 1, "delete_unverified": True, "dry_run": False,
    }  # fmt: skip
    report = table.cleanup(**everything)
    assert not [file.path for file in report.files if file.path.startswith("_indices")]
    found = witness.read_version(path, "indexed", full_text_query="word3", columns=[KEY])
    assert sorted(found[KEY].to_pylist()) == [key for key in range(3 * ROWS) if key % 11 == 3]
    table.tags.delete("indexed")
    report = table.cleanup(**everything)
    going = {file.path.split("/")[1]: file.reason for file in report.files if file.path.startswith("_indices")}
    assert going == dict.fromkeys(folders, "only old versions")
    assert not any(one.is_file() for one in (path / "_indices").rglob("*"))


def test_system_indices_are_no_obstacle(witness: Witness, tmp_path: Path) -> None:
    """An index that the reference is to mend later makes it refuse; without one, compaction goes on."""
    path = tmp_path / "t.lance"
    make_table(witness, path, stable=False, columns=["number"])
    witness.change_table(path, {"do": "compact", "defer_index_remap": True})
    assert "__lance_frag_reuse" in witness.index_names(path, LanceTable.open(path).version)
    for start in (300, 310):
        LanceTable.open(path).append(rows_of(range(start, start + 10)))
    with pytest.raises(NotImplementedError, match="only that library can do so"):
        LanceTable.open(path).compact()


def test_changes_that_drop_indices(witness: Witness, tmp_path: Path) -> None:
    """As those of the reference do, which refuses to cast a column that has an index."""
    for name in ("ours", "theirs"):
        make_table(witness, tmp_path / name, stable=False, columns=["number", "category", "bounded"])
    LanceTable.open(tmp_path / "ours").drop_columns(["bounded"])
    witness.change_table(tmp_path / "theirs", {"do": "drop_columns", "columns": ["bounded"]})
    for name in ("ours", "theirs"):
        assert sorted(witness.index_coverage(tmp_path / name)) == ["category_idx", "number_idx"]
    LanceTable.open(tmp_path / "ours").alter_columns({"path": "number", "data_type": pa.int32()})
    assert list(witness.index_coverage(tmp_path / "ours")) == ["category_idx"]
    assert_indices_right(
        witness, tmp_path / "ours", "cast", [one for one in ASKED if one.get("filter", "").startswith("category")]
    )
    with pytest.raises(WitnessRefused, match="index"):
        witness.change_table(tmp_path / "theirs", {"do": "cast", "path": "number", "type": "int32"})
    LanceTable.open(tmp_path / "ours").overwrite(rows_of(range(10)))
    witness.change_table(tmp_path / "theirs", {"do": "overwrite", "rows": rows_of(range(10))})
    for name in ("ours", "theirs"):
        assert witness.index_coverage(tmp_path / name) == {}


def test_bad_arguments(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(range(10)))
    with pytest.raises(InvalidArgumentError, match="target_rows_per_fragment"):
        table.compact(target_rows_per_fragment=0, drop_indices=True)
    assert set(BY_ADDRESS) | set(BY_ROW_ID) == set(COLUMNS)
