"""Targets that are refused: sources under any name, what exists, names of other formats; nothing changes then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_arrow
from lance_arrow.errors import InvalidArgumentError, TableExistsError, TableNotFoundError, TargetExistsError

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    pq.write_table(ROWS, folder / "a")
    lance_arrow.LanceTable.create(tmp_path / "table", ROWS)
    (tmp_path / "to_given").symlink_to(folder)
    (tmp_path / "to_a").symlink_to(folder / "a")
    (tmp_path / "to_table").symlink_to(tmp_path / "table")
    os.link(folder / "a", tmp_path / "hard")
    return tmp_path


def content(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.cover(1)
@pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"overwrite": True, "table": True}, {"append": True}])
@pytest.mark.parametrize(
    ("source", "target", "relation"),
    [
        ("given/a", "given/a", "is the source"),
        ("given/a", "given/../given/./a", "is the source"),
        ("given/a", "to_a", "is the source"),
        ("to_a", "given/a", "is the source"),
        ("given/a", "hard", "is the source"),
        ("given", "to_given/a", "lies inside the source"),
        ("given", "given/new.lance", "lies inside the source"),
        ("to_given", "given/deep/new.lance", "lies inside the source"),
        ("given", "hard", "is the source"),
        ("given/*", "to_a", "is the source"),
        ("given/a", "given", "holds the source"),
        ("given/a", "to_given", "holds the source"),
        ("table", "table", "is the source"),
        ("to_table", "table", "is the source"),
        ("table", "table/data/new.lance", "lies inside the source"),
        ("file://{root}/given/a", "given/a", "is the source"),
    ],
)
def test_a_source_is_never_a_target(
    given: Path, source: str, target: str, relation: str, options: dict[str, Any]
) -> None:
    before = content(given)
    named = source.format(root=given) if "://" in source else given / source
    with pytest.raises(InvalidArgumentError, match=f"the target {relation}"):
        lance_arrow.convert(named, given / target, **options)
    assert content(given) == before


def test_stores(given: Path) -> None:
    lance_arrow.convert(given / "given", "memory://targets/here/a.lance")
    with pytest.raises(InvalidArgumentError, match="lies inside the source"):
        lance_arrow.convert("memory://targets/here", "memory://targets/here/b.lance")
    with pytest.raises(TargetExistsError):
        lance_arrow.convert(given / "given", "memory://targets/here/a.lance")
    lance_arrow.convert("memory://targets/here/*.lance", "memory://targets/b.lance")
    assert lance_arrow.read_table("memory://targets/b.lance").equals(ROWS)


@pytest.mark.parametrize(
    "name",
    ["x.parquet", "x.PQ", "x.csv", "x.csv.gz", "x.tsv", "x.arrow", "x.feather", "x.orc", "x.json", "x.jsonl", "x.gz"],
)
@pytest.mark.parametrize("table", [False, True])
def test_names_of_other_formats(given: Path, name: str, table: bool) -> None:
    before = content(given)
    with pytest.raises(InvalidArgumentError, match=r"another format.*export"):
        lance_arrow.convert(given / "given", given / name, table=table)
    assert content(given) == before


def test_what_exists_stays(given: Path) -> None:
    lance_arrow.write_table(ROWS, given / "old.lance")
    (given / "full").mkdir()
    (given / "full" / "notes").touch()
    before = content(given)
    cases: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("old.lance", {}, TargetExistsError),
        ("old.lance", {"table": True}, TargetExistsError),
        ("old.lance", {"table": True, "overwrite": True}, TargetExistsError),
        ("table", {"table": True}, TableExistsError),
        ("table", {}, InvalidArgumentError),
        ("table", {"overwrite": True}, InvalidArgumentError),
        ("full", {"table": True, "overwrite": True}, InvalidArgumentError),
        ("none", {"append": True}, TableNotFoundError),
        ("table", {"append": True, "overwrite": True}, InvalidArgumentError),
        ("table", {"append": True, "table": False}, InvalidArgumentError),
    ]
    for target, options, error in cases:
        with pytest.raises(error) as caught:
            lance_arrow.convert(given / "given", given / target, **options)
        assert type(caught.value) is error
        assert content(given) == before


def test_a_folder_that_does_not_exist(given: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        lance_arrow.convert(given / "given", given / "new" / "o.lance")
    assert caught.value.filename == str(given / "new")
    with pytest.raises(FileNotFoundError) as caught:
        lance_arrow.export(given / "table", given / "new" / "o.parquet")
    assert caught.value.filename == str(given / "new")


def test_links_and_permissions_of_what_is_replaced_stay(given: Path) -> None:
    lance_arrow.write_table(ROWS.slice(0, 0), given / "real.lance")
    os.chmod(given / "real.lance", 0o640)
    (given / "link.lance").symlink_to(given / "real.lance")
    lance_arrow.convert(given / "given", given / "link.lance", overwrite=True)
    assert (given / "link.lance").is_symlink()
    assert lance_arrow.read_table(given / "real.lance").equals(ROWS)
    assert (given / "real.lance").stat().st_mode & 0o777 == 0o640
