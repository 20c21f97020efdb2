"""Write JSON, lists of pairs and packed vectors, as the reference takes them, and let the reference read them."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

import lance_arrow

folder = Path(sys.argv[1])
READ = "import json, sys, lance; print(json.dumps(lance.dataset(sys.argv[1]).to_table().to_pylist()))"

# Documents: stored as the reference stores them, text again where it reads them.
documents = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"b": 1, "a": [true, null]}', None, '"x"']))
lance_arrow.LanceTable.create(folder / "documents.lance", pa.table({"document": documents, "id": [1, 2, 3]}))
assert lance_arrow.LanceTable.open(folder / "documents.lance").to_table()["document"].null_count == 1

# A dictionary for every column, however many values differ.
field = pa.field("name", pa.string(), metadata={"lance-encoding:dict-divisor": "1"})
names = pa.table([pa.array([f"name {n}" for n in range(1000)])], schema=pa.schema([field]))
lance_arrow.write_table(names, folder / "names.lance")
assert lance_arrow.read_table(folder / "names.lance").equals(names)

# Lists of pairs of structs, some null and some empty, in 2.3.
pairs = pa.list_(pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()}), 2))
routes = pa.table({"route": pa.array([[[{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]], None, []], pairs)})
lance_arrow.write_table(routes, folder / "routes.lance", file_version="2.3")
assert lance_arrow.read_table(folder / "routes.lance").equals(routes)

# Packed structs with vectors: zipped since 2.2, refused in 2.1, which no reader takes.
packed = pa.field("p", pa.struct({"id": pa.int32(), "v": pa.list_(pa.float32(), 2)}), metadata={"packed": "true"})
rows = pa.table([pa.array([{"id": n, "v": [n, n / 2]} for n in range(100)], packed.type)], schema=pa.schema([packed]))
lance_arrow.write_table(rows, folder / "packed.lance", file_version="2.2")
assert lance_arrow.read_table(folder / "packed.lance").equals(rows)
try:
    lance_arrow.write_table(rows, folder / "old.lance", file_version="2.1")
except lance_arrow.errors.UnsupportedError:
    assert not (folder / "old.lance").exists()
else:
    raise AssertionError("written in 2.1")

if find_spec("lance") is None:
    print("pylance is not installed: what the reference reads was not compared")
    sys.exit(77)
read = subprocess.run(
    [sys.executable, "-c", READ, folder / "documents.lance"], capture_output=True, text=True, check=True
)
assert '{\\"a\\":[true,null],\\"b\\":1}' in read.stdout, read.stdout
FILE = (
    "import sys; from lance.file import LanceFileReader as R; print(R(sys.argv[1]).read_all().to_table().to_pylist())"
)
for name, expected in (("names", names), ("routes", routes), ("packed", rows)):
    read = subprocess.run(
        [sys.executable, "-c", FILE, folder / f"{name}.lance"], capture_output=True, text=True, check=True
    )
    assert read.stdout.strip() == str(expected.to_pylist()), name
