"""Make the files of this folder: the interpreter of a release writes `<release>/<group>.lance.xz` and what it read.

    python make.py FOLDER [--readings]

Each column is tried in a process of its own, for these releases panic on what they cannot write or read. Columns that
can be written go into one file per group, and `receipt.json` tells how the release read them: ``same``, or why not.
Readings that lost what was given for good are left out; those that fail where the bytes are whole are kept.
Values come from `columns`, which tests import. `--readings` keeps the files plain, with each release's reading beside.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

try:
    import lance
    from lance.file import LanceFileReader, LanceFileWriter
except ImportError:  # who wants the columns only needs no release
    lance = None

NUM_ROWS = 1300
"""More than a chunk of packed integers holds."""
FULL_ZIP = {"lance-encoding:structural-encoding": "fullzip"}
PACKED = {"packed": "true", "lance-encoding:packed": "true"}
MISREAD = frozenset(["list_null_item_first", "list_across_chunks"])
"""Columns that some release wrote whole and reads wrongly; `docs/format/draft_2_1.md` tells why."""
UNREAD = MISREAD | frozenset(
    ["bool", "bool_null", "list_bool", "list_all_items_null", "list_list_null"]
    + ["wide_item_null", "wide_both_null", "wide_null"]
)
"""Columns that some release wrote whole and cannot read."""
SECONDS = 60
CONTEXT = multiprocessing.get_context("fork")
"""Safe as long as this process itself asks nothing of the release, whose threads begin with the first call."""


def numbers(count: int, modulus: int, seed: int) -> list[int]:
    """Numbers that look random and are the same everywhere."""
    found, state = [], seed * 2654435761 + 12345
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        found.append((state >> 33) % modulus)
    return found


def holed(values: list[Any], step: int = 5, first: int = 2) -> list[Any]:
    """Put a null in every `step`-th place."""
    return [None if place % step == first else value for place, value in enumerate(values)]


def _both(name: str, values: list[Any], type_: pa.DataType) -> Iterator[tuple[str, pa.Array]]:
    yield name, pa.array(values, type_)
    yield f"{name}_null", pa.array(holed(values), type_)


def _numbers() -> Iterator[tuple[str, pa.Array]]:
    small, large = numbers(NUM_ROWS, 100, 1), numbers(NUM_ROWS, 1 << 31, 2)
    for bits in (8, 16, 32, 64):
        yield from _both(f"int{bits}", [value - 50 for value in small], getattr(pa, f"int{bits}")())
        yield from _both(f"uint{bits}", small, getattr(pa, f"uint{bits}")())
    yield "int64_wide", pa.array([value * value for value in large], pa.int64())
    yield "zero", pa.array([0] * NUM_ROWS, pa.int32())
    yield "runs", pa.array([place // 40 for place in range(NUM_ROWS)], pa.int64())
    yield "half", pa.array([float(value) / 4 for value in small], pa.float32()).cast(pa.float16())
    yield from _both("float", [value / 7 for value in large], pa.float32())
    yield from _both("double", [value / 7 for value in large], pa.float64())
    yield "double_runs", pa.array([place // 300 / 7 for place in range(NUM_ROWS)], pa.float64())
    yield from _both("bool", [value % 2 == 0 for value in small], pa.bool_())


def _temporal() -> Iterator[tuple[str, pa.Array]]:
    small = numbers(NUM_ROWS, 86400, 3)
    yield from _both("decimal", [Decimal(value) / 100 for value in small], pa.decimal128(12, 2))
    yield from _both("decimal_wide", [Decimal(value) / 100 for value in small], pa.decimal256(60, 2))
    yield "decimal_few", pa.array([Decimal(value % 5) for value in small], pa.decimal128(30, 0))
    for name, stored, type_ in (
        ("date32", pa.int32(), pa.date32()),
        ("timestamp", pa.int64(), pa.timestamp("us")),
        ("timestamp_zone", pa.int64(), pa.timestamp("ns", "UTC")),
        ("time32", pa.int32(), pa.time32("s")),
        ("time64", pa.int64(), pa.time64("ns")),
        ("duration", pa.int64(), pa.duration("ms")),
    ):
        yield name, pa.array(small, stored).cast(type_)
        yield f"{name}_null", pa.array(holed(small), stored).cast(type_)
    yield "date64", pa.array([value * 86400000 for value in small], pa.int64()).cast(pa.date64())


def _runs() -> Iterator[tuple[str, pa.Array]]:
    # Over 4 KiB of runs of few values: 0.32.0 compresses them with LZ4.
    count = 8 * NUM_ROWS
    runs = [place // 4 % 5 * 1000003 for place in range(count)]
    yield from _both("runs_int", runs, pa.int64())
    yield "runs_double", pa.array([value / 7 for value in runs])


def _text() -> Iterator[tuple[str, pa.Array]]:
    own = [f"row {place} {'ab' * (place % 4)}" for place in range(NUM_ROWS)]
    few = [f"word {value}" for value in numbers(NUM_ROWS, 7, 4)]
    for name, type_ in (
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("large_text", pa.large_string()),
        ("large_bytes", pa.large_binary()),
    ):
        for form, values in (("own", own), ("few", few)):
            yield f"{name}_{form}", pa.array(values).cast(type_)
            yield f"{name}_{form}_null", pa.array(holed(values)).cast(type_)
        yield f"{name}_empty", pa.array([""] * NUM_ROWS).cast(type_)
    yield from _both("fixed", [b"%016d" % place for place in range(NUM_ROWS)], pa.binary(16))
    yield "fixed_few", pa.array([b"%016d" % (place % 5) for place in range(NUM_ROWS)], pa.binary(16))
    yield from _both("zipped_int", numbers(NUM_ROWS, 900, 5), pa.int32())
    yield from _both("zipped_text", own, pa.string())


def _long() -> Iterator[tuple[str, pa.Array]]:
    long = [f"{place} is long " * (30 + place % 40) for place in range(60)]
    for name, type_ in (("text", pa.string()), ("bytes", pa.binary()), ("large_bytes", pa.large_binary())):
        yield f"{name}_long", pa.array(long).cast(type_)
        yield f"{name}_long_null", pa.array(holed(long)).cast(type_)
    yield from _both("fixed_long", [b"%0300d" % place for place in range(60)], pa.binary(300))


def _huge() -> Iterator[tuple[str, pa.Array]]:
    # Over 4 MiB in values of over 32 KiB: releases since 0.26 compress each value then.
    yield from _both("text_huge", [f"{place} is huge " * 4000 for place in range(100)], pa.string())


def _replaced() -> Iterator[tuple[str, pa.Array]]:
    # Over 4 MiB: what releases asked for before they replaced frequent parts by codes.
    place = "https://example.org/a/rather/long/path/that/all/of/them/share/entirely/"
    yield "short", pa.array([place + str(number) for number in range(60000)])


def _replaced_long() -> Iterator[tuple[str, pa.Array]]:
    words = "https://example.org/a/rather/long/path/that/all/of/them/share/entirely/" * 6
    yield from _both("long", [words + str(number) for number in range(12000)], pa.string())


def _fixed_lists() -> Iterator[tuple[str, pa.Array]]:
    count = 200

    def lists(size: int, type_: pa.DataType, has_nulls: bool, item_nulls: bool) -> pa.Array:
        items: list[Any] = numbers(count * size, 90, size)
        items = holed(items, 7, 3) if item_nulls else items
        rows: list[Any] = [items[place * size : (place + 1) * size] for place in range(count)]
        return pa.array(holed(rows, 4, 1) if has_nulls else rows, pa.list_(type_, size))

    for name, size, type_ in (("narrow", 4, pa.float32()), ("bytes", 16, pa.uint8()), ("wide", 100, pa.float32())):
        yield name, lists(size, type_, False, False)
        yield f"{name}_null", lists(size, type_, True, False)
        yield f"{name}_item_null", lists(size, type_, False, True)
        yield f"{name}_both_null", lists(size, type_, True, True)
    inner = lists(12, pa.float32(), False, False).values
    yield "nested", pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(inner, 4), 3)
    yield "zipped_narrow", lists(4, pa.float32(), False, False)


def _lists() -> Iterator[tuple[str, pa.Array]]:
    count = 500
    whole = numbers(count, 1000, 6)
    words = [f"item {value}" for value in whole]
    long = [f"item {value} is long " * 25 for value in whole]

    def lists(items: list[Any], nulls: bool = True, empty: bool = True) -> list[Any]:
        sizes = [place % 4 if empty else 1 + place % 3 for place in range(count)]
        rows: list[Any] = [(items[place:] + items)[:size] for place, size in enumerate(sizes)]
        return holed(rows, 11, 3) if nulls else rows

    yield "int", pa.array(lists(whole), pa.list_(pa.int32()))
    yield "int_plain", pa.array(lists(whole, False, False), pa.list_(pa.int32()))
    yield "int_empty", pa.array(lists(whole, False), pa.list_(pa.int32()))
    yield "int_large", pa.array(lists(whole), pa.large_list(pa.int64()))
    yield "int_item_null", pa.array(lists(holed(whole)), pa.list_(pa.int32()))
    yield "double", pa.array([None if row is None else [value / 7 for value in row] for row in lists(whole)])
    yield "text", pa.array(lists(words), pa.list_(pa.string()))
    yield "text_item_null", pa.array(lists(holed(words)), pa.list_(pa.string()))
    yield "text_few", pa.array(lists([f"word {value % 3}" for value in whole]), pa.list_(pa.string()))
    yield "text_long", pa.array(lists(long), pa.list_(pa.string()))
    yield "fixed_long", pa.array(lists([b"%0300d" % value for value in whole]), pa.list_(pa.binary(300)))
    yield "zipped_int", pa.array(lists(holed(whole)), pa.list_(pa.int32()))
    triples = [[float(value), 1.0, 2.0] for value in whole]
    yield "triples", pa.array(lists(triples), pa.list_(pa.list_(pa.float32(), 3)))
    pair = pa.struct([("a", pa.int32()), ("b", pa.string())])
    pairs = [{"a": value, "b": f"pair {value}"} for value in whole]
    yield "pairs", pa.array(lists(pairs), pa.list_(pair))
    torn = [{"a": None if value % 3 == 0 else value, "b": f"pair {value}"} for value in whole]
    yield "pairs_null", pa.array(lists(holed(torn)), pa.list_(pair))
    yield "list_bool", pa.array(lists([value % 2 == 0 for value in whole]), pa.list_(pa.bool_()))
    yield "list_null_item_first", pa.array(lists(holed(whole), False, False), pa.list_(pa.int32()))
    yield (
        "list_all_nulls",
        pa.array([[None, [], None, None][place % 4] for place in range(count)], pa.list_(pa.int32())),
    )
    yield (
        "list_all_items_null",
        pa.array([[[None, None], None, []][place % 3] for place in range(count)], pa.list_(pa.int32())),
    )
    yield "list_list", pa.array([[[1, 2], [3]], [[4]], [[5], [6, 7, 8]], [[9]]] * (count // 4))
    yield "list_list_null", pa.array([[[1, 2], []], None, [[4]], [], [[5], [6, 7]]] * (count // 5))
    sizes = [700 * (place % 4) if place < 8 else 0 for place in range(count)]
    across = [numbers(size, 1000, place) for place, size in enumerate(sizes)]
    yield "list_across_chunks", pa.array(holed(across, 11, 9), pa.list_(pa.int64()))


def _structs() -> Iterator[tuple[str, pa.Array]]:
    count = 300
    pair = pa.struct([("a", pa.int32()), ("b", pa.string())])
    rows: list[Any] = [{"a": place, "b": f"pair {place}"} for place in range(count)]
    yield "pair", pa.array(rows, pair)
    torn = [{"a": None if place % 3 == 0 else place, "b": f"pair {place}"} for place in range(count)]
    yield "pair_null", pa.array(holed(torn, 7), pair)
    outer = pa.struct([("o", pa.struct([("a", pa.int32())]))])
    deep = [{"o": None if place % 5 == 0 else {"a": None if place % 3 == 0 else place}} for place in range(count)]
    yield "deep", pa.array(holed(deep, 7), outer)
    yield "deep_outer_null", pa.array(holed([{"o": {"a": place}} for place in range(count)], 7), outer)
    mixed = pa.struct([("e", pa.list_(pa.float32(), 8)), ("l", pa.list_(pa.int32()))])
    yield "mixed", pa.array([{"e": [float(place)] * 8, "l": [place] * (place % 3)} for place in range(count)], mixed)
    packed = pa.struct([("x", pa.int32()), ("y", pa.float64())])
    yield "packed", pa.array([{"x": place, "y": place / 2} for place in range(count)], packed)
    yield "null", pa.nulls(count)
    yield "null_int", pa.nulls(count, pa.int32())
    yield "null_text", pa.nulls(count, pa.string())
    yield "null_pair", pa.nulls(count, pair)


GROUPS: dict[str, Callable[[], Iterator[tuple[str, pa.Array]]]] = {
    "numbers": _numbers,
    "temporal": _temporal,
    "runs": _runs,
    "text": _text,
    "long": _long,
    "huge": _huge,
    "replaced": _replaced,
    "replaced_long": _replaced_long,
    "fixed_lists": _fixed_lists,
    "lists": _lists,
    "structs": _structs,
}


def columns(group: str) -> pa.Table:
    """The columns of a group, as they are given to every release."""
    arrays = dict(GROUPS[group]())
    fields = []
    for name, array in arrays.items():
        metadata = FULL_ZIP if name.startswith("zipped") else PACKED if name == "packed" else None
        type_ = array.type
        if name.startswith("zipped") and pa.types.is_list(type_):
            type_ = pa.list_(pa.field("item", type_.value_type, metadata=FULL_ZIP))
        fields.append(pa.field(name, type_, metadata=metadata))
    cast = [array.cast(field.type) for array, field in zip(arrays.values(), fields, strict=True)]
    return pa.table(cast, schema=pa.schema(fields))


def _write(path: str, rows: pa.Table) -> None:
    writer = LanceFileWriter(path, rows.schema, version="2.1")
    with writer:
        for batch in rows.to_batches():
            writer.write_batch(batch)


def _read(path: str) -> pa.Table:
    return LanceFileReader(path).read_all().to_table()


def _try(group: str, name: str, path: str, answers: Any) -> None:
    rows = columns(group).select([name])
    _write(path, rows)
    answers.put("written")
    back = _read(path)
    with pa.ipc.new_file(f"{path}.arrow", back.schema) as file:
        file.write_table(back)
    given, found = rows.column(0).combine_chunks(), back.column(0).combine_chunks()
    is_same = len(given) == len(found) and found.cast(given.type).equals(given)
    answers.put("same" if is_same else f"reads otherwise ({len(found)} rows)")


def apart(target: Callable[..., None], *arguments: Any) -> list[str]:
    """Run a function in a process of its own, whose panic is no harm; return what it told."""
    answers = CONTEXT.SimpleQueue()
    process = CONTEXT.Process(target=target, args=(*arguments, answers))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
    told = []
    while not answers.empty():
        told.append(answers.get())
    return told


def attempt(group: str, name: str, path: Path) -> str:
    """Write a column and read it back; tell how that went."""
    told = apart(_try, group, name, str(path))
    return told[-1] if len(told) == 2 else "cannot be read" if told else "cannot be written"


def make_group(group: str, folder: Path, readings: bool) -> dict[str, str]:
    """Write the file of a group; return how each column of it was read back, and which were left out."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    given = columns(group)
    told = {name: attempt(group, name, scratch / f"{name}.lance") for name in given.column_names}
    kept = [name for name, how in told.items() if _is_whole(name, how)]
    if kept:
        path = folder / f"{group}.lance"
        apart(_write_some, str(path), group, kept)
        if readings:
            for name in kept:
                if told[name] == "same":
                    shutil.move(scratch / f"{name}.lance.arrow", folder / f"{group}.{name}.arrow")
        else:
            path.with_suffix(".lance.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
            path.unlink()
    shutil.rmtree(scratch)
    return told


def _is_whole(name: str, how: str) -> bool:
    """Whether the bytes hold what was given."""
    return how == "same" or (name in UNREAD and how == "cannot be read") or (name in MISREAD and "otherwise" in how)


def _write_some(path: str, group: str, names: list[str], answers: Any) -> None:
    _write(path, columns(group).select(names))
    answers.put("written")


def make_table(folder: Path) -> None:
    """Write a table of two fragments, with deleted rows, as an archive."""
    path = folder / "table.lance"
    apart(_write_table, str(path))
    with tarfile.open(folder / "table.tar.xz", "w:xz") as archive:
        archive.add(path, "table.lance")
    shutil.rmtree(path)


def _write_table(path: str, answers: Any) -> None:
    rows = columns("structs").select(["pair", "null_int"])
    lance.write_dataset(rows, path, data_storage_version="2.1", max_rows_per_file=200)
    lance.dataset(path).delete("pair.a < 50")
    answers.put("written")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readings", action="store_true", help="plain files, and what the release read")
    parser.add_argument("--group", action="append", choices=GROUPS, help="default all")
    options = parser.parse_args()
    folder = options.folder.resolve() / lance.__version__
    if folder.exists():
        sys.exit(f"{folder} is there: files under a name never change")
    receipt = {group: make_group(group, folder, options.readings) for group in options.group or GROUPS}
    if not options.readings:
        make_table(folder)
    (folder / "receipt.json").write_text(json.dumps(receipt, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
