"""Batch reads without a JVM: what the driver plans and what tasks yield, each through pickles as Spark sends them."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import outside
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import types as st

import pyspark_lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import (
    CorruptFileError,
    InvalidArgumentError,
    MissingFileError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_arrow.manifests import fragments as fragments_module
from lance_arrow.spark.reader import LancePartition
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.type_mapping import batch_schema
from lance_arrow.spi import ReadReport

NUM_ROWS = 40_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four fragments of 10,000 rows, `id` ascending, rows 100 to 199 deleted."""
    rows = pa.table({"id": range(NUM_ROWS), "half": [i // 2 for i in range(NUM_ROWS)], "s": ["x"] * NUM_ROWS})
    folder = str(tmp_path_factory.mktemp("table") / "t")
    table = LanceTable.create(folder, rows, max_rows_per_file=10_000, rows_per_zone=1000)
    table.tags.create("whole", 1)
    table.delete((pc.field("id") >= 100) & (pc.field("id") < 200))
    return folder


def travelled(thing: object) -> object:
    return pickle.loads(pickle.dumps(thing))


def plan(path: str, schema: st.StructType | None = None, **options: str) -> tuple[list[LancePartition], pa.Table]:
    """Do what Spark does: schema, reader and partitions on the driver, reads in tasks."""
    source = LanceDataSource({"path": path, **{name.lower(): value for name, value in options.items()}})
    if schema is None:
        schema = source.schema()
    reader = travelled(source).reader(schema)
    sent = pickle.dumps(reader)
    partitions = reader.partitions()
    batches = [batch for one in partitions for batch in pickle.loads(sent).read(travelled(one))]
    for batch in batches:
        assert batch.schema.equals(batch_schema(schema))
    return partitions, pa.Table.from_batches(batches, batch_schema(schema))


def test_all_live_rows_in_order(path: str) -> None:
    partitions, found = plan(path)
    assert found["id"].to_pylist() == [*range(100), *range(200, NUM_ROWS)]
    assert len(partitions) == 1


def test_planning_makes_no_fragments(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    check = fragments_module.fragment_from_message
    monkeypatch.setattr(fragments_module, "fragment_from_message", lambda *a, **k: made.append(1) or check(*a, **k))
    source = LanceDataSource({"path": path, "splitrows": "15000"})
    partitions = travelled(source.reader(source.schema()).partitions())
    assert not made
    assert [[piece.fragment.id for piece in one.pieces] for one in partitions] == [[0], [1], [2], [3]]
    assert len(made) == 4


@pytest.mark.parametrize(("options", "count"), [({"splitRows": "5000"}, 8), ({"splitRows": "20000"}, 2)])
def test_splits_cover_every_row_once(path: str, options: dict[str, str], count: int) -> None:
    partitions, found = plan(path, **options)
    assert len(partitions) == count
    assert found["id"].to_pylist() == [*range(100), *range(200, NUM_ROWS)]


def test_zone_maps_leave_out_fragments_on_the_driver(path: str) -> None:
    partitions, found = plan(path, filter="id >= 32500 AND id < 32510", columns="half,id")
    assert [piece.fragment.id for one in partitions for piece in one.pieces] == [3]
    (piece,) = partitions[0].pieces
    assert (piece.starts, piece.stops) == ((2000,), (3000,))
    assert found.to_pydict() == {"half": [i // 2 for i in range(32500, 32510)], "id": list(range(32500, 32510))}


@pytest.mark.parametrize(
    ("predicate", "count"), [("id >= 0", 8), ("id >= 20000", 4), ("id >= 35000", 1), ("id < 0", 1)]
)
def test_zone_maps_leave_out_partitions_on_the_driver(path: str, predicate: str, count: int) -> None:
    partitions, found = plan(path, filter=predicate, splitRows="5000")
    assert len(partitions) == count
    assert found["id"].to_pylist() == plan(path, filter=predicate, maxPrunedFragments="0")[1]["id"].to_pylist()


def test_tasks_prune_where_the_driver_does_not(path: str, receipts: list[ReadReport]) -> None:
    partitions, found = plan(path, filter="id = 32500", maxPrunedFragments="0")
    assert len(partitions[0].pieces) == 4
    assert found.num_rows == 1
    (receipt,) = receipts
    assert (receipt.zones_total, receipt.zones_read) == (40, 1)


def test_nothing_left_is_one_empty_partition(path: str) -> None:
    partitions, found = plan(path, filter="id < 0")
    assert [one.pieces for one in partitions] == [()]
    assert found.num_rows == 0


def test_versions_and_tags(path: str) -> None:
    assert plan(path, version="1")[1].num_rows == NUM_ROWS
    assert plan(path, tag="whole")[1].num_rows == NUM_ROWS
    with pytest.raises(InvalidArgumentError, match="one of version, tag"):
        plan(path, version="1", tag="whole")


def test_as_of(path: str) -> None:
    moment = LanceTable.open(path).history()[-1].timestamp
    assert moment is not None
    assert plan(path, asOf=moment.isoformat())[1].num_rows == NUM_ROWS


def test_a_frame_keeps_its_version(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    source = LanceDataSource({"path": str(tmp_path / "t")})
    schema = source.schema()
    table.append(pa.table({"a": [2]}))
    reader = travelled(source).reader(schema)
    assert [b.column(0).to_pylist() for one in reader.partitions() for b in reader.read(one)] == [[1]]


def test_row_ids(path: str) -> None:
    _, found = plan(path, withRowId="true", filter="id >= 39998")
    assert found.schema.names == ["id", "half", "s", "_rowid"]
    assert found["_rowid"].to_pylist() == [(3 << 32) + 9998, (3 << 32) + 9999]
    assert plan(path, columns="_rowaddr", filter="id = 0")[1].to_pydict() == {"_rowaddr": [0]}


def test_no_columns_count_rows(path: str) -> None:
    # As Spark does for counts: it asks for all columns that the schema has, here one.
    assert plan(path, columns="s")[1].num_rows == NUM_ROWS - 100


def test_a_schema_of_the_callers_own_chooses_columns_and_types(path: str) -> None:
    schema = st.StructType([st.StructField("half", st.IntegerType()), st.StructField("id", st.DoubleType())])
    _, found = plan(path, schema, filter="id = 7")
    assert found.to_pydict() == {"half": [3], "id": [7.0]}
    with pytest.raises(InvalidArgumentError, match="'nope', which the table has not"):
        plan(path, st.StructType([st.StructField("nope", st.LongType())]))
    with pytest.raises(UnsupportedError, match="no way from type string") as caught:
        plan(path, st.StructType([st.StructField("s", st.ArrayType(st.LongType()))]))
    assert caught.value.column == "s"


def test_bad_options_are_refused_on_the_driver(path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="nope"):
        LanceDataSource({"path": path, "columns": "nope"}).schema()
    with pytest.raises(InvalidArgumentError):
        LanceDataSource({"path": path, "filter": "nope > 3"}).schema()
    with pytest.raises(InvalidArgumentError):
        LanceDataSource({"path": path, "filter": "s > 3"}).schema()
    with pytest.raises(TableNotFoundError):
        LanceDataSource({"path": path + "-not"}).schema()


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    (file,) = (tmp_path / "t" / "data").iterdir()
    file.unlink()
    with pytest.raises(MissingFileError, match=file.name):
        plan(str(tmp_path / "t"))


def test_a_corrupt_page_is_named(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t", pa.table({"a": [i * i * 2654435761 % 1000003 for i in range(1000)]}))
    (file,) = (tmp_path / "t" / "data").iterdir()
    damaged = bytearray(file.read_bytes())
    damaged[100] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(CorruptFileError, match="checksum") as caught:
        plan(str(tmp_path / "t"))
    assert caught.value.column == "a"
    assert caught.value.path is not None
    assert file.name in caught.value.path


def test_batches_hold_no_more_rows_than_wanted(path: str) -> None:
    source = LanceDataSource({"path": path, "batchsize": "1500", "columns": "id"})
    reader = source.reader(source.schema())
    sizes = [batch.num_rows for one in reader.partitions() for batch in reader.read(one)]
    assert max(sizes) == 1500
    assert sum(sizes) == NUM_ROWS - 100


def test_columns_renamed_and_nested_are_pruned_or_left(tmp_path: Path) -> None:
    rows = pa.table({"s": [{"x": i} for i in range(4000)], "f": [float(i) for i in range(4000)]})
    LanceTable.create(tmp_path / "t", rows, rows_per_zone=1000, max_rows_per_file=2000)
    partitions, found = plan(str(tmp_path / "t"), filter="s.x >= 3000 AND f < 3002.0")
    assert found["f"].to_pylist() == [3000.0, 3001.0]
    assert [piece.starts for one in partitions for piece in one.pieces] == [(1000,)]


def test_a_worker_without_the_package_says_so(path: str) -> None:
    """What travels names this package, and nothing of it travels along: the error names what is missing."""
    source = LanceDataSource({"path": path})
    sent = pickle.dumps(source.reader(source.schema()))
    script = (
        "import pickle, sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'lance_arrow':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "pickle.loads(bytes.fromhex(sys.argv[1]))\n"
    )
    done = outside.run(script, sent.hex())
    assert done.returncode != 0
    assert done.stderr.strip().endswith("ModuleNotFoundError: No module named 'lance_arrow'")


def test_the_module_that_spark_looks_for() -> None:
    """Its name begins as Spark wants, and it lies at the top, in the wheel as well."""
    assert pyspark_lance_arrow.DefaultSource is LanceDataSource
    assert pyspark_lance_arrow.DefaultSource.name() == "lance"
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "plugins/pyspark_lance_arrow" in settings["tool"]["scikit-build"]["wheel"]["packages"]


def test_storage_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nosuchscheme"):
        LanceDataSource({"path": "nosuchscheme://x/t"}).schema()
    memory = LanceDataSource({"path": "memory://spark/t"})
    with pytest.raises(TableNotFoundError):
        memory.schema()


def test_storage_options_travel_to_tasks(tmp_path: Path) -> None:
    """A filesystem that needs an option to find the table, on the driver and again in each task."""
    LanceTable.create(tmp_path / "t", pa.table({"a": [1, 2]}))
    _, found = plan(f"local://{tmp_path}/t", **{"storage.auto_mkdir": "true"})
    assert found.to_pydict() == {"a": [1, 2]}
