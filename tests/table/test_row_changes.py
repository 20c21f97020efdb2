"""`changes` and `diff`: net changes between versions, compared with what the rows of both versions are."""

from __future__ import annotations

from pathlib import Path

import pytest
from row_histories import RowHistory, rows

from lance_arrow import LanceTable
from lance_arrow.errors import ChangesNotRecordedError, InvalidArgumentError, VersionNotFoundError

KEYS = ["_change_type", "_change_version", "_rowid"]


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_random_histories(tmp_path: Path, seed: int, stable: bool) -> None:
    history = RowHistory(tmp_path / "t", seed, stable=stable)
    history.run(12)
    assert sum(history.check(*history.pair()) for _ in range(10)) > 0


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
