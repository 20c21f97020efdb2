"""Mistype names and pass files of other formats: errors say what was meant and what to do."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import lance_arrow
from lance_arrow import LanceTable, errors

folder = Path(sys.argv[1])
people = pa.table({"id": [1, 2], "name": ["Ada", "Bob"]})


def message(call, kind=errors.InvalidArgumentError):
    """Run a call that must fail, and return what it says."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("no error")


pq.write_table(people, folder / "people.parquet")
said = message(lambda: lance_arrow.read_table(folder / "people.parquet"), errors.CorruptFileError)
assert "a Parquet file" in said
assert "lance-arrow convert" in said

lance_arrow.write_table(people, folder / "people.lance")
data = lance_arrow.dataset(folder / "people.lance")
for call in (
    lambda: data.to_table(columns=["nmae"]),
    lambda: data.to_table(filter=pc.field("nmae") == "Ada"),
    lambda: lance_arrow.read_table(folder / "people.lance", columns=["nmae"]),
):
    said = message(call)
    assert "did you mean 'name'?" in said
    assert "__fragment_index" not in said
options = {"name": {"compresion": "zstd"}}
assert "did you mean 'compression'?" in message(
    lambda: lance_arrow.write_table(people, folder / "other.lance", column_options=options)
)

table = LanceTable.create(folder / "t.lance", people)
said = message(lambda: LanceTable.create(folder / "t.lance", people), errors.TableExistsError)
assert 'mode="append"' in said
assert 'mode="overwrite"' in said
assert "\"'hello'\" or pc.scalar('hello')" in message(lambda: table.update({"name": "hello"}))
table.update({"name": "'hello'"}, where="id = 1")
assert table.to_table().sort_by("id")["name"].to_pylist() == ["hello", "Bob"]
