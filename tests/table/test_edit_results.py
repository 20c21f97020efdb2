"""Changes of rows return how many rows they changed, and say so in one line."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable

ROWS = pa.table({"id": range(100), "v": [1.0] * 100})


def test_every_change_of_rows_says_how_many(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=30)
    made = [
        table.append(pa.table({"id": [100], "v": [0.0]})),
        table.append(ROWS.slice(0, 0)),
        table.delete("id >= 98"),
        table.delete("id = 99"),
        table.update({"v": "v + 1"}, "id < 50"),
        table.merge(pa.table({"id": [0, 200, 201], "v": [9.0] * 3}), on="id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete("id < 10")
        .execute(),
        table.merge_insert("id").when_matched_delete().execute(pa.table({"id": [200]})),
        table.restore(1),
        table.overwrite(ROWS.slice(0, 1)),
    ]
    assert [str(one) for one in made] == [
        "append: 1 row inserted, version 2",
        "append: no rows changed, version 3",
        "delete: 3 rows deleted, version 4",
        "delete: no rows changed, version 5",
        "update: 50 rows updated, version 6",
        "merge: 2 rows inserted, 1 row updated, 9 rows deleted, version 7",
        "merge: 1 row deleted, version 8",
        "restore: 100 rows restored, version 9",
        "overwrite: 1 row inserted, version 10",
    ]
    assert [one.version for one in made] == list(range(2, 11))
    assert made[2] == {"num_deleted_rows": 3}
    assert json.loads(json.dumps(made[5])) == {"num_inserted_rows": 2, "num_updated_rows": 1, "num_deleted_rows": 9}


def test_results_are_copied_whole(tmp_path: Path) -> None:
    made = LanceTable.create(tmp_path / "t", ROWS).delete("id < 2000")
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        assert (type(other), other, str(other)) == (type(made), made, "delete: 100 rows deleted, version 2")


def test_a_change_that_is_repeated_counts_its_last_attempt(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS)
    behind = LanceTable.open(tmp_path / "t")
    table.delete("id < 10")
    assert str(behind.delete("id < 30")) == "delete: 20 rows deleted, version 3"
    table.delete("id < 40")
    assert str(behind.update({"v": "5.0"}, "id < 50")) == "update: 10 rows updated, version 5"


def test_compactions_and_cleanups_say_it_in_one_line(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=30)
    assert str(table.compact()) == f"4 fragments became 1, version {table.version}"
    assert str(table.compact()) == "no fragment was rewritten"
    assert "\n" not in str(table.cleanup(dry_run=True))
