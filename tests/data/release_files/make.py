"""Make the files of this folder: `python make.py` with the interpreter of a release writes `<release>-2.3*.lance`.

`2.3.arrows` holds what each of these releases reads back from its own file. Releases before 14 marked pages of the 2.1
grammar as 2.3, and 14.0.2 refuses their files; 12.0.0 knew a sparse layout of its own (`PageLayout` field 5).
"""

from __future__ import annotations

import random
from pathlib import Path

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

HERE = Path(__file__).parent
NUM_ROWS = 1500
WORDS = ("alpha", "beta", "gamma", "", "delta", "a longer piece of text", "ünï")
SPARSE = {"lance-encoding:structural-encoding": "sparse"}


def table() -> pa.Table:
    """Rows that reach every layout and most codecs."""
    rng = random.Random(4)

    def some(make, share=0.2):
        return [None if rng.random() < share else make(row) for row in range(NUM_ROWS)]

    pair = pa.struct({"a": pa.int32(), "b": pa.list_(pa.string())})
    columns = {
        "id": pa.array(range(NUM_ROWS)),
        "small": pa.array(some(lambda _: rng.randrange(90)), pa.uint16()),
        "runs": pa.array([row // 200 for row in range(NUM_ROWS)], pa.int64()),
        "constant": pa.array([7] * NUM_ROWS, pa.int32()),
        "nothing": pa.nulls(NUM_ROWS, pa.float64()),
        "flag": pa.array(some(lambda _: rng.random() < 0.5), pa.bool_()),
        "real": pa.array(some(lambda _: rng.gauss(0, 1)), pa.float32()),
        "word": pa.array(some(lambda _: rng.choice(WORDS))),
        "text": pa.array(some(lambda row: " ".join(rng.choices(WORDS, k=4)) + str(row))),
        "wide": pa.array(some(lambda row: bytes([row % 251]) * 400 if row % 100 == 0 else b"", 0.5), pa.large_binary()),
        "point": pa.array(some(lambda _: [rng.random(), None, 1.0]), pa.list_(pa.float32(), 3)),
        "list": pa.array(some(lambda _: some_items(rng)), pa.list_(pa.int32())),
        "pairs": pa.array(
            some(lambda row: [{"a": row, "b": rng.choices(WORDS, k=rng.randrange(3))}] * rng.randrange(3)),
            pa.list_(pair),
        ),
        "map": pa.array(some(lambda row: [(f"k{row % 5}", row)]), pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(columns)


def some_items(rng: random.Random) -> list[int | None]:
    return [None if rng.random() < 0.1 else rng.randrange(1000) for _ in range(rng.randrange(5))]


def write(name: str, rows: pa.Table) -> None:
    path = HERE / f"{lance.__version__}-{name}.lance"
    with LanceFileWriter(str(path), rows.schema, version="2.3") as writer:
        writer.write_batch(rows.to_batches()[0])
    back = LanceFileReader(str(path)).read_all().to_table()
    assert back.equals(rows)


if __name__ == "__main__":
    whole = table()
    write("2.3", whole)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(HERE / "2.3.arrows", whole.schema, options=options) as stream:
        stream.write_table(whole)
    if lance.__version__ == "12.0.0":
        few = whole.select(["small", "list"])
        write("2.3-sparse", few.cast(pa.schema([field.with_metadata(SPARSE) for field in few.schema])))
