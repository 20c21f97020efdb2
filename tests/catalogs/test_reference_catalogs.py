"""Directory catalogs by turns: what one side creates, hides or drops in a folder, the other side sees."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from same import assert_same
from witness import Witness, WitnessRefused

import lance_arrow
from lance_arrow import errors

pytestmark = pytest.mark.interop

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "s": ["a", None, "c"]})


@pytest.mark.parametrize("is_listing", [True, False], ids=["folders", "manifest"])
def test_ours_are_theirs(witness: Witness, tmp_path: Path, is_listing: bool) -> None:
    catalog = lance_arrow.catalog(tmp_path)
    for name in ("a", "b", "c.d-e_f"):
        catalog.create_table(name, ROWS)
    catalog.deregister_table("b")
    assert witness.catalog(tmp_path, "list_tables", is_listing=is_listing) == ["a", "c.d-e_f"]
    location = witness.catalog(tmp_path, "describe_table", ["a"], is_listing=is_listing)
    assert_same(witness.read_version(location), ROWS)
    with pytest.raises(WitnessRefused):
        witness.catalog(tmp_path, "describe_table", ["b"], is_listing=is_listing)
    catalog.register_table("b")
    catalog.drop_table("a")
    assert witness.catalog(tmp_path, "list_tables", is_listing=is_listing) == ["b", "c.d-e_f"]


def test_theirs_are_ours(witness: Witness, tmp_path: Path) -> None:
    catalog = lance_arrow.catalog(tmp_path)
    witness.catalog(tmp_path, "create_table", ["a"], is_listing=True, rows=ROWS)
    witness.catalog(tmp_path, "create_table", ["b"], is_listing=True, rows=ROWS.slice(0, 1))
    assert catalog.list_tables() == ["a", "b"]
    assert_same(catalog.open_table("a").to_table(), ROWS)
    catalog.open_table("a").append(ROWS)
    witness.catalog(tmp_path, "deregister_table", ["a"], is_listing=True)
    assert catalog.list_tables() == ["b"]
    catalog.register_table("a")
    assert witness.catalog(tmp_path, "list_tables", is_listing=True) == ["a", "b"]
    witness.catalog(tmp_path, "drop_table", ["b"], is_listing=True)
    assert catalog.list_tables() == ["a"]
    witness.catalog(tmp_path, "declare_table", ["d"], is_listing=True)
    assert catalog.list_tables() == witness.catalog(tmp_path, "list_tables", is_listing=True) == ["a", "d"]
    catalog.create_table("d", ROWS)
    assert_same(witness.read_version(tmp_path / "d.lance"), ROWS)


def test_a_manifest_of_theirs(witness: Witness, tmp_path: Path) -> None:
    catalog = lance_arrow.catalog(tmp_path)
    witness.catalog(tmp_path, "create_table", ["root"], is_listing=False, rows=ROWS)
    witness.catalog(tmp_path, "create_namespace", ["ns"], is_listing=False)
    witness.catalog(tmp_path, "create_table", ["ns", "t"], is_listing=False, rows=ROWS.slice(1))
    assert (tmp_path / "__manifest").is_dir()
    assert catalog.list_tables() == ["ns$t", "root"]
    assert_same(catalog.open_table("ns$t").to_table(), ROWS.slice(1))
    assert_same(witness.read_version(catalog.table_uri("ns$t")), ROWS.slice(1))
    # Both sides find tables of folders beside it.
    catalog.create_table("ours", ROWS)
    assert witness.catalog(tmp_path, "list_tables", is_listing=False) == ["ours", "root"]
    catalog.drop_table("ours")
    assert witness.catalog(tmp_path, "list_tables", is_listing=False) == ["root"]
    with pytest.raises(errors.UnsupportedError, match="__manifest"):
        catalog.drop_table("root")
    witness.catalog(tmp_path, "drop_table", ["ns", "t"], is_listing=False)
    witness.catalog(tmp_path, "drop_table", ["root"], is_listing=False)
    assert catalog.list_tables() == []
