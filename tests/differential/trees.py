"""Reads trees of codecs at every door: each gives the values that were encoded by hand, or all of them refuse.

`python tests/differential/trees.py` takes every tree of up to four codecs along one path, in every place of a page that
holds one; `-- --every 50` takes one in so many. `test_trees.py` is a short form.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "reference")]

import codec_trees  # noqa: E402
import handmade  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as pads  # noqa: E402
from codec_trees import Impossible, Tree  # noqa: E402
from forge import Forged  # noqa: E402
from forge_pages import ITEM, NULLABLE, flat, flat_rows, mini_block, padded, words  # noqa: E402
from google.protobuf.message import Message  # noqa: E402
from second_reader import read_twice  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.proto import encodings_v21_pb2 as pb  # noqa: E402

DEPTH = 4
KINDS = ("integers", "texts", "lists", "structs")
PLACES = ("chunk 2.1", "chunk 2.2", "chunk 2.3", "zipped 2.2", "zipped 2.3", "items 2.2", "levels 2.2")
PAIRS = pa.struct([pa.field("a", pa.uint32(), False), pa.field("b", pa.uint32(), False)])
Door = Callable[[Path], pa.Table]


@dataclass(frozen=True)
class Case:
    """A tree in a place."""

    kind: str
    path: tuple[str, ...]
    place: str

    @property
    def name(self) -> str:
        return f"{self.kind} {' > '.join(self.path)} in {self.place}"

    def make(self) -> tuple[pa.Table, bytes]:
        """The rows and the file.

        Raises
        ------
        Impossible
            The grammar has no such tree there.
        """
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        place, version = self.place.split()
        if place == "levels":
            return _of_levels(self.path, rng)
        bits = 32 if {"delta", "range", "split"} & set(self.path) else int(rng.choice([8, 16, 32, 64]))
        tree = codec_trees.tree(self.kind, self.path, bits, rng)
        values = _arrow(self.kind, tree)
        field = pa.field("c", values.type, False, {"lance-encoding:packed": "true"} if self.kind == "structs" else None)
        if place == "items":
            return _of_items(field, values, tree, rng)
        if place == "zipped":
            layout, buffers = _zipped(tree, version)
        else:
            assert tree.chunk is not None
            num_chunks = 2 if len(values).bit_count() == 1 else 1
            values = pa.concat_arrays([values] * num_chunks)
            layout, buffers = handmade.chunked(tree.codec, tree.chunk, len(values), version, num_chunks)
        content = handmade.file_of(field, layout, buffers, len(values), version)
        return pa.table([values], schema=pa.schema([field])), content


def _arrow(kind: str, tree: Tree) -> pa.Array:
    if isinstance(tree.values, list):
        return pa.array(tree.values, pa.binary())
    if kind == "lists":
        items = pa.array(tree.values.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(items, codec_trees.ITEMS_PER_LIST)
    if kind == "structs":
        columns = np.ascontiguousarray(tree.values.T)
        return pa.StructArray.from_arrays([pa.array(column) for column in columns], fields=list(PAIRS))
    return pa.array(tree.values)


def _zipped(tree: Tree, version: str) -> tuple[Message, list[bytes]]:
    if tree.each is None:
        raise Impossible("no zipped values")
    is_fixed = not isinstance(tree.values, list) and len(set(map(len, tree.each))) == 1
    is_framed = tree.codec.WhichOneof("compression") == "general"
    return handmade.zipped(
        tree.codec, tree.each, version, 8 * len(tree.each[0]) if is_fixed and not is_framed else None
    )


def _of_items(field: pa.Field, values: pa.Array, tree: Tree, rng: np.random.Generator) -> tuple[pa.Table, bytes]:
    """Rows that point into a dictionary, which the tree is."""
    rows = rng.integers(0, len(values), 100).astype("<u4")
    page = mini_block(
        flat_rows([row.tobytes() for row in rows]),
        (ITEM,),
        flat(32),
        lambda held: [b"".join(one or b"" for one in held)],
        counts=(64,),
        dictionary=(tree.codec, len(values), tree.bytes_of_block),
    )
    table = pa.table([_taken(values, rows)], schema=pa.schema([field]))
    return table, Forged(table, ((page,),), "2.2").build()


def _of_levels(path: tuple[str, ...], rng: np.random.Generator) -> tuple[pa.Table, bytes]:
    """Numbers of which some are null: levels of 16 bits are the tree."""
    tree = codec_trees.levels(path, rng)
    levels = np.asarray(tree.values)
    numbers = np.arange(len(levels), dtype="<u4")
    body = tree.bytes_of_block
    head = padded(words([len(levels), len(body)]) + words([numbers.nbytes], 4))
    chunk = head + padded(body) + padded(numbers.tobytes())
    layout = pb.MiniBlockLayout(
        value_compression=flat(32),
        def_compression=tree.codec,
        layers=[NULLABLE],
        num_buffers=1,
        num_items=len(levels),
        has_large_chunk=True,
    )
    field = pa.field("c", pa.uint32())
    buffers = [words([(len(chunk) // 8 - 1) << 4], 4), chunk]
    content = handmade.file_of(field, pb.PageLayout(mini_block_layout=layout), buffers, len(levels), "2.2")
    return pa.table([pa.array(numbers, mask=levels != 0)], schema=pa.schema([field])), content


def _taken(values: pa.Array, rows: Sequence[int] | np.ndarray) -> pa.Array:
    # pyarrow 26 misplaces lists of fixed size.
    return pa.array([values[int(row)].as_py() for row in rows], values.type)


def _file(read: Callable[[lance_arrow.LanceFile], pa.Table], runtime: lance_arrow.Runtime | None = None) -> Door:
    def door(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path, runtime=runtime) as file:
            return read(file)

    return door


def _in_memory(read: Callable[[lance_arrow.LanceFile], pa.Table]) -> Door:
    def door(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path.read_bytes()) as file:
            return read(file)

    return door


def doors(num_rows: int) -> dict[str, tuple[Door, np.ndarray | None]]:
    """Ways to read a file of one column, and which rows each gives: None for all."""
    few = np.array([0, 3, 5]) % num_rows
    many = np.arange(num_rows)[np.arange(num_rows) % 3 != 1]
    mixed = np.array([num_rows - 1, 2, 2, num_rows // 2]) % num_rows
    reads: dict[str, tuple[Callable[[lance_arrow.LanceFile], pa.Table], np.ndarray | None]] = {
        "read": (lambda file: file.read(), None),
        "batches": (lambda file: pa.Table.from_batches(list(file.to_batches(batch_size=50))), None),
        "rows": (lambda file: file.read(rows=(2, num_rows)), np.arange(2, num_rows)),
        "take few": (lambda file: file.take(few), few),
        "take mixed": (lambda file: file.take(mixed), mixed),
        "take many": (lambda file: file.take(many), many),
        "filtered": (lambda file: file.read(filter=pc.field("c").is_valid()), None),
    }
    second = read_twice(lance_arrow.Runtime())
    found: dict[str, tuple[Door, np.ndarray | None]] = {}
    for name, (read, rows) in reads.items():
        found[name] = _file(read), rows
        found[f"{name}, by second reader"] = _file(read, second), rows
    found["take few in memory"] = _in_memory(reads["take few"][0]), few
    found["read in memory"] = _in_memory(reads["read"][0]), None
    format_ = lance_arrow.LanceFormat()
    found["dataset"] = (lambda path: pads.dataset(path, format=format_).to_table()), None
    found["dataset take"] = (lambda path: lance_arrow.dataset(path).take(pa.array(many))), many
    return found


def outcome(case: Case, folder: Path) -> str:
    """Read at every door; ``equal``, ``refused`` or ``impossible``.

    Raises
    ------
    AssertionError
        Doors disagree, or all give other values than were encoded.
    """
    try:
        expected, content = case.make()
    except Impossible:
        return "impossible"
    path = folder / "tree.lance"
    path.write_bytes(content)
    found = {name: _read(door, path, expected, rows) for name, (door, rows) in doors(expected.num_rows).items()}
    kinds = {kind.partition(":")[0] for kind in found.values()}
    if len(kinds) > 1 or "other" in kinds:
        raise AssertionError(f"{case.name}: {found}")
    return kinds.pop()


def _read(door: Door, path: Path, expected: pa.Table, rows: np.ndarray | None) -> str:
    try:
        table = door(path)
    except LanceError as error:
        return f"refused: {type(error).__name__}: {error}"
    table.validate(full=True)
    wanted = expected["c"].combine_chunks()
    values = wanted.to_pylist()
    right = values if rows is None else [values[row] for row in rows]
    if wanted.null_count and len(table) != len(right):
        right = [value for value in right if value is not None]  # the filter
    return "equal" if table["c"].to_pylist() == right else f"other: {table['c'].to_pylist()[:5]} for {right[:5]}"


def cases() -> Iterator[Case]:
    """Every tree in every place."""
    for kind in KINDS:
        for path in codec_trees.paths(kind, DEPTH):
            for place in PLACES:
                if not place.startswith("levels") or kind == "integers":
                    yield Case(kind, path, place)


def run(every: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Read a part of all cases; return outcomes and disagreements."""
    found: Counter[str] = Counter()
    failures: list[str] = []
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if every > 1 and chosen.randrange(every):
                continue
            try:
                found[outcome(case, Path(folder))] += 1
            except Exception as error:  # noqa: BLE001
                found["disagree"] += 1
                failures.append(f"{case.name}: {type(error).__name__} {error}")
    return found, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take one case in so many")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    options = parser.parse_args()
    found, failures = run(options.every, options.seed)
    for failure in failures:
        print(failure)
    print(sum(found.values()), "cases,", len(doors(8)), "doors:", dict(found))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
