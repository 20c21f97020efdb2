"""`changes` beside the reference's own columns for it, in tables that the reference writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from witness import Witness

from lance_arrow import LanceTable

VERSIONS = ["id", "_row_created_at_version", "_row_last_updated_at_version"]


def test_versions_of_rows_agree_with_the_reference(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(
        pa.table({"id": list(range(20)), "v": [1.0] * 20}), path, "2.2", max_rows_per_file=7, enable_stable_row_ids=True
    )
    clauses = [["when_matched_update_all", None], ["when_not_matched_insert_all", None]]
    witness.change_table(
        path,
        {"do": "update", "updates": {"v": "v + 1"}, "where": "id % 4 = 0"},
        {"do": "delete", "predicate": "id % 5 = 1"},
        {"do": "merge_clauses", "on": ["id"], "rows": pa.table({"id": [2, 50], "v": [5.0, 6.0]}), "clauses": clauses},
        {"do": "append", "rows": pa.table({"id": [60], "v": [0.0]})},
        {"do": "compact", "target_rows_per_fragment": 1000},
    )
    table = LanceTable.open(path)
    theirs = witness.read_version(path, columns=VERSIONS).to_pylist()
    assert table.version >= 6
    for since in range(1, table.version + 1):
        found = table.changes(since, columns=["id"]).read_all().to_pylist()
        ours = {kind: {row["id"]: row["_change_version"] for row in found if row["_change_type"] == kind} for kind in
                ("insert", "update", "delete")}  # fmt: skip
        created = {row["id"]: row[VERSIONS[1]] for row in theirs}
        updated = {row["id"]: row[VERSIONS[2]] for row in theirs}
        assert ours["insert"] == {key: version for key, version in created.items() if version > since}
        assert ours["update"] == {
            key: version for key, version in updated.items() if version > since and created[key] <= since
        }
        assert ours["delete"] == ({key: 3 for key in (1, 6, 11, 16)} if since < 3 else {})
