"""What a first read in a fresh process imports beyond numpy and `pyarrow.dataset`: modules are counted, never time."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pyarrow as pa
import pytest
from outside import run

import lance_arrow

NUM_ROWS = 500
SCRIPT = """
import json, sys
import numpy, pyarrow.dataset
before = set(sys.modules)
import lance_arrow
{read}
assert table.num_rows == 500, table.num_rows
print(json.dumps(sorted(set(sys.modules) - before)))
"""
BY_FILE = """
with lance_arrow.LanceFile(sys.argv[1]) as file:
    table = file.read()
    assert file.take([3, 1]).num_rows == 2
"""
BY_DATASET = "table = lance_arrow.dataset(sys.argv[1]).to_table()"
FILTERED = """
with lance_arrow.LanceFile(sys.argv[1]) as file:
    table = file.read()
    assert file.read(filter=pyarrow.compute.field("n") < 10).num_rows == 10
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with numbers and text, as it is written by default: with zone maps and checksums."""
    numbers = range(NUM_ROWS)
    table = pa.table({"n": numbers, "x": [n * 1.5 for n in numbers], "s": [f"text {n * n}" for n in numbers]})
    path = tmp_path_factory.mktemp("first") / "first.lance"
    lance_arrow.write_table(table, path)
    return path


@functools.cache
def imported(path: Path, read: str) -> frozenset[str]:
    """Return what a fresh process imported: one process answers all questions about a read."""
    done = run(SCRIPT.replace("{read}", read), path)
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


def named(modules: frozenset[str], *packages: str) -> set[str]:
    """Which modules are packages, or in them."""
    return {one for one in modules if any(one == name or one.startswith(f"{name}.") for name in packages)}


def test_a_file_is_read_with_few_modules(path: Path) -> None:
    modules = imported(path, BY_FILE)
    own = {one for one in modules if one.startswith("lance_arrow")}
    assert len(own) <= 125, sorted(own)
    # Protobuf 34, pluggy 13, and importlib.metadata, which imports email.
    assert len(modules) <= 195, sorted(modules - own)


@pytest.mark.parametrize(
    "packages",
    [
        ("asyncio", "fsspec"),
        ("pandas", "pyarrow.parquet", "zstandard", "html", "difflib", "email.parser"),
        (
            "lance_arrow_codecs_v01",
            "lance_arrow_codecs_v20",
            "lance_arrow_layouts_legacy",
            "lance_arrow_layouts.planar",
        ),
        (
            "lance_arrow.container.legacy.v0_1_files",
            "lance_arrow.scan.legacy.v2_0_row_reader",
            "lance_arrow.proto.table_pb2",
        ),
        (
            "lance_arrow.manifests",
            "lance_arrow.table",
            "lance_arrow.conversion",
            "lance_arrow.spark",
            "lance_arrow.cli",
        ),
        ("lance_arrow.structure.page_encoder", "lance_arrow.spi.encoding", "lance_arrow.container.file_writer"),
        ("lance_arrow.statistics.zone_maps", "lance_arrow.scan.predicates", "lance_arrow.scan.blobs.blob_places"),
    ],
    ids=["fsspec", "others", "old versions' plugins", "old versions", "tables", "writers", "filters and blobs"],
)
def test_a_file_is_read_without(path: Path, packages: tuple[str, ...]) -> None:
    assert not named(imported(path, BY_FILE), *packages)


def test_a_file_is_read_without_parts_of_pyarrow(path: Path) -> None:
    """`pyarrow.dataset` imports pandas; the others are slow to import."""
    script = SCRIPT.replace("import numpy, pyarrow.dataset", "import pyarrow").replace(
        "{read}", "table = lance_arrow.LanceFile(sys.argv[1]).read()"
    )
    done = run(script, path)
    assert done.returncode == 0, done.stderr
    modules = set(json.loads(done.stdout.splitlines()[-1]))
    assert not modules & {"pandas", "pyarrow.dataset", "pyarrow.compute", "pyarrow.fs", "concurrent.futures.thread"}


@pytest.mark.parametrize("deleted", ["n = 7", "n % 3 = 0"], ids=["few", "many"])
@pytest.mark.parametrize(
    "read",
    ["to_table()", "to_table(['n', '_rowid'])", "take([300, 1])", "head(5)", "count_rows()"],
    ids=["all", "ids", "take", "head", "count"],
)
def test_a_table_with_deletions_is_read_without_pandas(tmp_path: Path, read: str, deleted: str) -> None:
    rows = pa.table({"n": range(NUM_ROWS), "s": [f"text {n}" for n in range(NUM_ROWS)]})
    lance_arrow.LanceTable.create(tmp_path / "t", rows, max_rows_per_file=100).delete(deleted)
    script = f"import sys, lance_arrow; lance_arrow.LanceTable.open(sys.argv[1]).{read}; print(*sys.modules)"
    done = run(script, tmp_path / "t")
    assert done.returncode == 0, done.stderr
    assert not {"pandas", "pyarrow.dataset"} & set(done.stdout.split())


@pytest.mark.parametrize(
    "work",
    [
        "to_table(filter='n > 40')",
        "to_table(filter='n in (1, 2) and x < 0.5')",
        "to_table(filter=\"s like 'text 1%' or s = 'text 4'\")",
        "to_table(filter=\"s like '%7%'\", limit=2)",
        "count_rows('x < 0.5')",
        "delete('n = 7')",
        "update({'x': 'x + 1'}, where='n = 7')",
        "add_columns({'y': 'x * 2'})",
        "append(lance_arrow.LanceTable.open(sys.argv[1]).head(3))",
        "tags.create('one', 1)",
        "compact()",
    ],
)
def test_local_tables_do_without_pandas_and_fsspec(tmp_path: Path, work: str) -> None:
    numbers = range(NUM_ROWS)
    rows = pa.table({"n": numbers, "x": [n / 100 for n in numbers], "s": [f"text {n}" for n in numbers]})
    lance_arrow.LanceTable.create(tmp_path / "t", rows, max_rows_per_file=100)
    done = run(
        f"import sys, lance_arrow; lance_arrow.LanceTable.open(sys.argv[1]).{work}; print(*sys.modules)", tmp_path / "t"
    )
    assert done.returncode == 0, done.stderr
    assert not {"pandas", "pyarrow.dataset", "pyarrow.acero", "fsspec"} & set(done.stdout.split())


def test_only_plugins_of_the_file_are_imported(path: Path) -> None:
    plugins = {
        one for one in imported(path, BY_FILE) if one.startswith(("lance_arrow_codecs.", "lance_arrow_layouts."))
    }
    assert "lance_arrow_layouts.mini_block" in plugins
    assert len(plugins) <= 6, plugins


def test_a_filtered_read_of_a_local_file_does_without_fsspec(path: Path) -> None:
    assert not named(imported(path, FILTERED), "asyncio", "fsspec", "lance_arrow_layouts_legacy")


def test_a_dataset_is_read_without_plugins_of_old_versions(path: Path) -> None:
    modules = imported(path, BY_DATASET)
    old = (
        "lance_arrow_codecs_v01",
        "lance_arrow_codecs_v20",
        "lance_arrow_layouts_legacy",
        "lance_arrow_layouts.planar",
    )
    writers = (
        "lance_arrow.structure.page_encoder",
        "lance_arrow.files.row_writers",
        "lance_arrow.files.lance_writer",
    )
    tables = ("lance_arrow.manifests.manifest", "lance_arrow.scan.fragments", "lance_arrow.table")
    filters = ("lance_arrow.pruning", "lance_arrow.statistics", "lance_arrow.scan.filters")
    assert not named(modules, *old, *writers, *tables, *filters, "pandas", "pyarrow.parquet", "fsspec", "asyncio")
    # What is known of files that were opened before, and what views need, are modules of their own.
    assert len(modules) <= 240, len(modules)


BY_TABLE = """
opened = lance_arrow.LanceTable.open(sys.argv[1])
table = opened.to_table()
assert opened.take([3, 1]).num_rows == 2
"""


@pytest.fixture(scope="module")
def table_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two fragments."""
    path = tmp_path_factory.mktemp("first") / "table.lance"
    numbers = range(NUM_ROWS)
    table = pa.table({"n": numbers, "s": [f"text {n * n}" for n in numbers]})
    lance_arrow.LanceTable.create(path, table, max_rows_per_file=NUM_ROWS // 2)
    return path


def test_a_table_is_read_without_what_changes_tables(table_path: Path) -> None:
    modules = imported(table_path, BY_TABLE)
    changing = {one for one in named(modules, "lance_arrow.table") if one.count(".") > 1} - {
        "lance_arrow.table.copies",
        "lance_arrow.table.copies.table_copies",
        "lance_arrow.table.field_paths",
        "lance_arrow.table.lance_table",
        "lance_arrow.table.late_changes",
        "lance_arrow.table.method_arguments",
        "lance_arrow.table.table_edits",
        "lance_arrow.table.table_handle",
        "lance_arrow.table.table_reads",
        "lance_arrow.table.table_settings",
        "lance_arrow.table.table_upkeep",
    }
    assert not changing
    writers = ("lance_arrow.files.lance_writer", "lance_arrow.container.file_writer", "lance_arrow.spi.encoding")
    assert not named(modules, *writers, "lance_arrow.manifests.writing", "fsspec", "asyncio")


def test_a_file_is_written_without_plugins_of_other_hooks(tmp_path: Path) -> None:
    write = """
numbers = pyarrow.array(numpy.arange(500))
table = pyarrow.table({"n": numbers})
lance_arrow.write_table(table, sys.argv[1])
"""
    modules = imported(tmp_path / "written.lance", write)
    # What a file of 2.2 may hold is listed; array encodings of 2.0 and 0.1 are no codecs of it, nor are schemes.
    assert not named(modules, "lance_arrow_codecs_v01", "lance_arrow_codecs_v20", "lance_arrow_codecs.zstd")
    assert "lance_arrow_codecs.fsst" in modules


BY_ENGINES = {
    "duckdb": """
import duckdb
from lance_arrow.integrations import duckdb as door
table = pyarrow.table({"n": numpy.arange(500)})
assert door.relation(sys.argv[1]).filter("n < 7").aggregate("count(*)").fetchall() == [(7,)]
""",
    "polars": """
import polars
from lance_arrow.integrations.polars import scan
table = pyarrow.table({"n": numpy.arange(500)})
assert scan(sys.argv[1]).filter(polars.col("n") < 7).select(polars.len()).collect().item() == 7
""",
}


@pytest.mark.parametrize("engine", BY_ENGINES)
def test_engines_read_a_file_without_what_tables_need(path: Path, engine: str) -> None:
    modules = imported(path, BY_ENGINES[engine])
    assert not named(modules, "lance_arrow.table", "lance_arrow.manifests.manifest", "lance_arrow.scan.fragments")
    assert not named(
        modules, "lance_arrow.scan.legacy", "lance_arrow.container.legacy", "lance_arrow.statistics.legacy"
    )


OF_A_DATASET = """
table = dataset.to_table()
assert dataset.to_table(filter=pyarrow.compute.field("n") < 10).num_rows == 10
assert dataset.count_rows() == 500
assert dataset.head(3).num_rows == 3
"""


OWN = "dataset = lance_arrow.dataset(sys.argv[1])"
BY_PYARROW = "dataset = pyarrow.dataset.dataset(sys.argv[1], format=lance_arrow.LanceFormat())"
OF_A_TABLE = "dataset = lance_arrow.LanceTable.open(sys.argv[1]).dataset()"


@pytest.mark.parametrize(
    ("opening", "is_table"),
    [(OWN, True), (OWN, False), (BY_PYARROW, True), (BY_PYARROW, False), (OF_A_TABLE, True)],
    ids=["own, table", "own, folder", "pyarrow, table", "pyarrow, folder", "of a table"],
)
def test_a_local_dataset_does_without_fsspec(table_path: Path, opening: str, *, is_table: bool) -> None:
    folder = table_path
    if not is_table:
        folder = table_path.with_name("files")
        folder.mkdir(exist_ok=True)
        for number, file in enumerate(sorted((table_path / "data").iterdir())):
            (folder / f"{number}.lance").write_bytes(file.read_bytes())
    assert not named(imported(folder, opening + OF_A_DATASET), "asyncio", "fsspec")


def test_a_local_file_is_written_without_fsspec(tmp_path: Path) -> None:
    writing = "table = pyarrow.table({'n': range(500)}); lance_arrow.write_table(table, sys.argv[1])"
    assert not named(imported(tmp_path / "new.lance", writing), "asyncio", "fsspec")
