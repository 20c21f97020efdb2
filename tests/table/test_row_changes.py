"""`changes` and `diff`: net changes between versions, compared with what the rows of both versions are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import ChangesNotRecordedError, InvalidArgumentError, VersionNotFoundError

KEYS = ["_change_type", "_change_version", "_rowid"]


def rows(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "v": ids * 1.0})


def random_history(path: Path, seed: int, steps: int, *, stable: bool) -> tuple[LanceTable, list[dict[int, float]]]:
    """Make a table; return it and, for each version, its values by key. Keys are never given again."""
    random = np.random.default_rng(seed)
    table = LanceTable.create(path, rows(0, 20), enable_stable_row_ids=stable, max_rows_per_file=7)
    log = [{}, {key: float(key) for key in range(20)}]
    following = 20
    kinds = ["append", "delete", "update", "merge", "compact", "restore"] if stable else ["append", "delete", "restore"]
    for _ in range(steps):
        kind = str(random.choice(kinds))
        held = dict(log[-1])
        remainder = int(random.integers(5))
        if kind == "append":
            table.append(rows(following, 4))
            held |= {key: float(key) for key in range(following, following + 4)}
            following += 4
        elif kind == "delete":
            table.delete(f"id % 5 = {remainder} AND id > {following - 15}")
            held = {key: value for key, value in held.items() if not (key % 5 == remainder and key > following - 15)}
        elif kind == "update":
            # No two versions write the same value: a value that is written again, after a restore, is an update.
            stamp = 1000 * (table.version + 1) + 0.5
            table.update({"v": f"id + {stamp}"}, f"id % 5 = {remainder}")
            held = {key: key + stamp if key % 5 == remainder else value for key, value in held.items()}
        elif kind == "merge":
            keys = [*sorted(held)[:2], following]
            source = pa.table({"id": keys, "v": [table.version * 10_000.0] * len(keys)})
            table.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
            held |= dict.fromkeys(keys, table.version * 10_000.0 - 10_000.0)
            following += 1
        elif kind == "restore":
            number = int(random.integers(1, table.version + 1))
            table.restore(number)
            held = dict(log[number])
        else:
            table.compact(target_rows_per_fragment=int(random.choice([10, 1000])))
        while len(log) <= table.version:
            log.append(held)
    return table, log


def check(table: LanceTable, log: list[dict[int, float]], since: int, until: int) -> None:
    old, new = log[since], log[until]
    found = table.changes(since, until).read_all().to_pylist()
    told = {kind: {row["id"]: row["v"] for row in found if row["_change_type"] == kind} for kind in
            ("insert", "delete", "update")}  # fmt: skip
    assert sum(map(len, told.values())) == len(found)
    assert told["insert"] == {key: new[key] for key in new.keys() - old.keys()}
    assert told["delete"] == {key: old[key] for key in old.keys() - new.keys()}
    assert told["update"] == {key: new[key] for key in new.keys() & old.keys() if old[key] != new[key]}
    for row in found:
        key, version = row["id"], row["_change_version"]
        assert since < version <= until
        assert log[version].get(key) != log[version - 1].get(key)
        ever = range(version, until + 1)
        if row["_change_type"] == "delete":
            assert not any(key in log[one] for one in ever)
        elif row["_change_type"] == "insert":
            assert all(key in log[one] for one in ever)
        else:
            assert len({log[one].get(key) for one in ever}) == 1
    difference = table.diff(since, until)
    assert (difference.rows_added, difference.rows_deleted, difference.rows_updated) == tuple(
        len(told[kind]) for kind in ("insert", "delete", "update")
    )


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_random_histories(tmp_path: Path, seed: int, stable: bool) -> None:
    table, log = random_history(tmp_path / "t", seed, 12, stable=stable)
    random = np.random.default_rng(seed)
    for _ in range(10):
        since, until = sorted(random.integers(1, table.version + 1, size=2).tolist())
        check(table, log, since, until)


def test_what_is_not_recorded(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "plain", rows(0, 10))
    table.update({"v": "v + 1"}, "id = 3")
    with pytest.raises(ChangesNotRecordedError, match="no stable row ids") as caught:
        table.changes(1)
    assert caught.value.version == 2
    assert (table.diff(1).rows_added, table.diff(1).rows_updated) == (None, None)
    with pytest.raises(ChangesNotRecordedError):
        table.diff(1).to_batches()
    stable = LanceTable.create(tmp_path / "stable", rows(0, 10), enable_stable_row_ids=True)
    stable.delete("id = 1")
    stable.append(rows(10, 2))
    stable.overwrite(rows(0, 3))
    assert stable.changes(1, 3).read_all().num_rows == 3
    with pytest.raises(ChangesNotRecordedError, match="version 4 replaced the whole table"):
        stable.changes(2)
    next((tmp_path / "stable/_versions").glob(f"*{(1 << 64) - 1 - 2}.manifest")).unlink()
    with pytest.raises(ChangesNotRecordedError, match="no longer has version 2"):
        stable.changes(1, 3)
    with pytest.raises(VersionNotFoundError):
        stable.changes(2)
    with pytest.raises(InvalidArgumentError, match="since is version 4"):
        stable.changes(4, 3)


def test_columns(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", rows(0, 4), enable_stable_row_ids=True)
    table.add_columns({"w": "id * 2"})
    table.alter_columns({"path": "v", "name": "value"})
    table.delete("id = 2")
    table.update({"value": "50.0"}, "id = 3")
    found = table.changes(1, columns=["w", "value"]).read_all()
    assert found.schema.names == [*KEYS, "w", "value"]
    assert found["_change_type"].to_pylist() == ["delete", "update"]
    assert (found["w"].to_pylist(), found["value"].to_pylist()) == ([None, 6], [2.0, 50.0])
    assert list(table.diff(1).columns_added) == ["value", "w"]
    with pytest.raises(InvalidArgumentError, match="of their own"):
        table.changes(1, columns=["_rowid"])
