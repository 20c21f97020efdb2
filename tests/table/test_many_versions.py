"""What tables of many versions, fragments and columns cost: files are opened once, fragments parsed once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.manifests.fragments import FragmentList
from lance_arrow.scan.fragments.fragment_rows import FragmentRows

VERSIONS = 30


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    rows = pa.table({"id": [0], **{f"c{number}": [number] for number in range(8)}})
    made = LanceTable.create(tmp_path / "t", rows, enable_stable_row_ids=True)
    for number in range(1, VERSIONS):
        made.append(rows.set_column(0, "id", pa.array([number])))
    return made


def test_fragments_that_are_the_same_are_not_parsed(table: LanceTable, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    checked = FragmentList._checked

    def counted(self: FragmentList, message: Any) -> Any:
        parsed.append(message.id)
        return checked(self, message)

    monkeypatch.setattr(FragmentList, "_checked", counted)
    assert table.diff(1).rows_added == VERSIONS - 1
    assert table.changes(1).read_all().num_rows == VERSIONS - 1
    # A version adds one fragment: it is parsed where it came, and where its rows are read.
    assert max(Counter(parsed).values()) <= 6


def test_a_description_opens_each_file_for_all_columns(table: LanceTable, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    open_file = FragmentRows.open_file

    def counted(self: FragmentRows, number: int) -> Any:
        opened.append(self.meta.id)
        return open_file(self, number)

    monkeypatch.setattr(FragmentRows, "open_file", counted)
    found = table.describe()
    assert [one.null_count for one in found.columns] == [0] * 9
    assert [one.maximum.as_py() for one in found.columns] == [VERSIONS - 1, *range(8)]
    assert found["id"].num_bytes is not None
    # For zone maps, and for sizes.
    assert max(Counter(opened).values()) <= 2
