"""`lance_arrow.catalog`: tables by name in folders, with markers, on several filesystems, and beside `__manifest`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from pyarrow import fs as arrow_fs

import lance_arrow
from lance_arrow import LanceCatalog, LanceTable, errors

ROWS = pa.table({"id": [1, 2, 3]})


def memory(path: Path) -> LanceCatalog:
    return lance_arrow.catalog(f"memory:/{path}")


def arrow_local(path: Path) -> LanceCatalog:
    return lance_arrow.catalog(path, filesystem=arrow_fs.LocalFileSystem())


def arrow_of_fsspec(path: Path) -> LanceCatalog:
    return lance_arrow.catalog(f"{path}/of_fsspec", filesystem=fsspec.filesystem("memory"))


@pytest.mark.parametrize("make", [lance_arrow.catalog, memory, arrow_local, arrow_of_fsspec])
def test_a_table_from_its_creation_to_its_end(make: Any, tmp_path: Path) -> None:
    catalog = make(tmp_path / "root")
    assert catalog.list_tables() == []
    assert catalog.create_table("a", ROWS, message="first").history()[0].message == "first"
    catalog.create_table("b.c-d", ROWS.slice(0, 1))
    assert catalog.list_tables() == ["a", "b.c-d"]
    assert (catalog.table_exists("a"), catalog.table_exists("c")) == (True, False)
    catalog.open_table("a").delete("id = 1")
    assert [catalog.open_table("a", version=version).count_rows() for version in (1, 2)] == [3, 2]
    with pytest.raises(errors.TableExistsError):
        catalog.create_table("a", ROWS)
    catalog.deregister_table("a")
    assert (catalog.list_tables(), catalog.table_exists("a")) == (["b.c-d"], False)
    with pytest.raises(errors.TableNotFoundError, match=r"tables: \['b.c-d'\]"):
        catalog.open_table("a")
    with pytest.raises(errors.TableNotFoundError):
        catalog.deregister_table("a")
    with pytest.raises(errors.TableExistsError, match="register_table"):
        catalog.create_table("a", ROWS)
    catalog.register_table("a")
    assert catalog.open_table("a").count_rows() == 2
    with pytest.raises(errors.TableNotFoundError, match="no deregistered"):
        catalog.register_table("a")
    catalog.deregister_table("a")
    catalog.drop_table("a")
    with pytest.raises(errors.TableNotFoundError):
        catalog.drop_table("a")
    assert catalog.create_table("a", ROWS).version == 1
    catalog.drop_table("b.c-d")
    assert catalog.list_tables() == ["a"]


def test_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = lance_arrow.catalog("root")
    catalog.create_table("a", ROWS)
    assert catalog.table_uri("a") == str(tmp_path / "root" / "a.lance")
    assert catalog.uri == repr(catalog).split("'")[1] == "root"
    with pytest.raises(errors.TableNotFoundError, match="did you mean 'a'"):
        catalog.table_uri("A")
    lance_arrow.catalog("memory://uris").create_table("a", ROWS)
    uri = lance_arrow.catalog("memory://uris").table_uri("a")
    assert LanceTable.open(uri).count_rows() == 3


def test_drop_removes_one_folder_and_nothing_else(tmp_path: Path) -> None:
    catalog = lance_arrow.catalog(tmp_path)
    catalog.create_table("a", ROWS)
    kept = catalog.create_table("ab", ROWS)
    (tmp_path / "a.txt").write_text("x")
    catalog.drop_table("a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "ab.lance"]
    assert kept.checkout(1).count_rows() == 3
    (tmp_path / "link.lance").symlink_to(tmp_path / "ab.lance")
    with pytest.raises(OSError, match="symbolic link"):
        catalog.drop_table("link")
    assert kept.checkout(1).count_rows() == 3


def test_what_is_no_table_is_not_listed(tmp_path: Path) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "file.lance")
    (tmp_path / "empty.lance").mkdir()
    (tmp_path / "other").mkdir()
    LanceTable.create(tmp_path / "without_ending", ROWS)
    (tmp_path / "declared.lance").mkdir()
    (tmp_path / "declared.lance" / ".lance-reserved").write_bytes(b"")
    catalog = lance_arrow.catalog(tmp_path)
    assert catalog.list_tables() == ["declared"]
    with pytest.raises(errors.TableNotFoundError, match="declared, but not created"):
        catalog.open_table("declared")
    catalog.create_table("declared", ROWS)
    assert catalog.open_table("declared").count_rows() == 3


@pytest.mark.parametrize("name", ["", "a/b", "../a", "..", ".a", "a$b", "a*", "a b", "a\n", 3])
def test_names(tmp_path: Path, name: Any) -> None:
    catalog = lance_arrow.catalog(tmp_path / "root")
    for change in (lambda: catalog.create_table(name, ROWS), lambda: catalog.drop_table(name)):
        with pytest.raises(errors.InvalidArgumentError, match="no name of a table"):
            change()
    assert not (tmp_path / "root").exists()


def test_a_name_that_others_made(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "root" / "a b.lance", ROWS)
    LanceTable.create(tmp_path / "aside.lance", ROWS)
    catalog = lance_arrow.catalog(tmp_path / "root")
    assert catalog.list_tables() == ["a b"]
    assert catalog.open_table("a b").count_rows() == 3
    for name in ("../aside", ""):
        assert not catalog.table_exists(name)
        with pytest.raises(errors.TableNotFoundError):
            catalog.open_table(name)


def registered(root: Path, rows: list[dict[str, Any]]) -> LanceCatalog:
    schema = pa.schema([("object_id", pa.string()), ("object_type", pa.string()), ("location", pa.string())])
    LanceTable.create(root / "__manifest", pa.Table.from_pylist(rows, schema))
    return lance_arrow.catalog(root)


def test_registered_tables(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "1a_ns$t", ROWS)
    LanceTable.create(tmp_path / "plain.lance", ROWS.slice(0, 1))
    LanceTable.create(tmp_path.parent / f"{tmp_path.name}-aside", ROWS)
    catalog = registered(
        tmp_path,
        [
            {"object_id": "ns", "object_type": "namespace", "location": None},
            {"object_id": "ns$t", "object_type": "table", "location": "1a_ns$t"},
            # A row comes before the folder of its name.
            {"object_id": "plain", "object_type": "table", "location": "1a_ns$t"},
            {"object_id": "out", "object_type": "table", "location": f"../{tmp_path.name}-aside"},
        ],
    )
    assert catalog.list_tables() == ["ns$t", "out", "plain"]
    assert catalog.open_table("ns$t").count_rows() == catalog.open_table("plain").count_rows() == 3
    assert catalog.table_uri("ns$t") == str(tmp_path / "1a_ns$t")
    with pytest.raises(errors.UnsupportedError, match="outside"):
        catalog.open_table("out")
    for change in (catalog.drop_table, catalog.deregister_table, catalog.register_table):
        with pytest.raises(errors.UnsupportedError, match="__manifest"):
            change("plain")
    assert (tmp_path / "plain.lance").is_dir()
    catalog.create_table("more", ROWS)
    assert catalog.list_tables() == ["more", "ns$t", "out", "plain"]


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "__manifest", pa.table({"object_id": ["a"]}))
    with pytest.raises(errors.CorruptManifestError, match="object_type"):
        lance_arrow.catalog(tmp_path).list_tables()
    catalog = registered(tmp_path / "b", [{"object_id": "t", "object_type": "table", "location": None}])
    with pytest.raises(errors.CorruptManifestError, match="no location"):
        catalog.open_table("t")
