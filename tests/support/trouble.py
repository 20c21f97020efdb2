"""Parquet files made for trouble: folders of one or more files, and what converting each must end in.

A case writes its folder; `refusal` is None where the conversion must equal pyarrow's own reading of that folder, else
the error's type, its column, and the end of the file's name.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lance_arrow.errors import CorruptFileError, InvalidArgumentError, LanceError, UnsupportedError


@dataclass(frozen=True)
class Refusal:
    """How a conversion must be refused."""

    error: type[LanceError]
    column: str | None
    file: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """Files by their path in the folder."""

    files: Mapping[str, Any]
    refusal: Refusal | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    own_reading: Callable[[list[pa.Table]], pa.Table] | None = None
    """Where pyarrow's datasets cannot read the folder as one: what its readings of the files make together."""

    def write(self, folder: Path) -> int:
        """Write the files, and return how many."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                pq.write_table(content, path, **self.options)
        return len(self.files)


def one(array: pa.Array, **options: Any) -> Case:
    """One file of one column."""
    return Case({"a.parquet": pa.table({"c": array})}, options=options)


def two(first: pa.Array, second: pa.Array, refusal: tuple[str, ...] | None = None) -> Case:
    """Two files whose column has two types."""
    where = None if refusal is None else Refusal(InvalidArgumentError, "c", "b.parquet", refusal)
    return Case({"a.parquet": pa.table({"c": first}), "b.parquet": pa.table({"c": second})}, where)


def _nested() -> pa.Array:
    type_ = pa.struct([("l", pa.list_(pa.struct([("x", pa.int32()), ("s", pa.string())]))), ("n", pa.int8())])
    rows = [
        None,
        {"l": None, "n": 1},
        {"l": [], "n": None},
        {"l": [None, {"x": None, "s": "a"}, {"x": 3, "s": None}], "n": 2},
    ]
    return pa.array(rows * 3, type_)


def _dictionary(words: list[str | None], index: pa.DataType) -> pa.Array:
    return pa.array(words).dictionary_encode().cast(pa.dictionary(index, pa.string()))


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="permissive")


_MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
_TIMES = [_MOMENT, None, datetime.datetime(1901, 1, 1), datetime.datetime(2200, 12, 31, 23, 59, 59)]
_SMALL = pa.table({"id": pa.array([1, 2, 3]), "s": ["a", None, "c"]})

CASES: dict[str, Case] = {
    "bool": one(pa.array([True, None, False])),
    **{
        str(type_): one(pa.array([0, None, 2 ** (type_.bit_width - 1) - 1, 7], type_))
        for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    "halffloat": one(pa.array([0.5, None, float("inf")], pa.float16())),
    "float": one(pa.array([0.1, None, float("nan"), -0.0], pa.float32())),
    "double": one(pa.array([0.1, None, float("nan"), -0.0, 1e308])),
    "string": one(pa.array(["", None, "ünïcode 東京", "x" * 5000])),
    "large_string": one(pa.array(["", None, "b"], pa.large_string())),
    "string_view": one(pa.array(["", None, "a longer text than twelve bytes"], pa.string_view())),
    "binary": one(pa.array([b"", None, b"\x00\xff"])),
    "large_binary": one(pa.array([b"", None, b"\x00\xff"], pa.large_binary())),
    "binary_view": one(pa.array([b"", None, b"\x00\xff" * 10], pa.binary_view())),
    "fixed_size_binary": one(pa.array([b"abc", None, b"def"], pa.binary(3))),
    "date32": one(pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)])),
    "date64": one(pa.array([0, None, 86_400_000], pa.date64())),
    "time32 s": one(pa.array([0, None, 86_399], pa.time32("s"))),
    "time64 ns": one(pa.array([0, None, 86_399_999_999_999], pa.time64("ns"))),
    **{f"timestamp {unit}": one(pa.array(_TIMES, pa.timestamp(unit)), **{}) for unit in ("us", "ns")},
    **{
        f"timestamp {zone}": one(pa.array(_TIMES, pa.timestamp("us", zone)))
        for zone in ("UTC", "Europe/Paris", "+05:30")
    },
    "timestamp int96": one(pa.array(_TIMES, pa.timestamp("ns")), use_deprecated_int96_timestamps=True),
    "duration": one(pa.array([1, None, -5], pa.duration("us"))),
    "decimal128": one(pa.array([decimal.Decimal("1.20"), None, decimal.Decimal("-99.99")], pa.decimal128(20, 2))),
    "decimal256": one(pa.array([decimal.Decimal(10) ** 50, None], pa.decimal256(60, 2))),
    "decimal32": one(pa.array([decimal.Decimal("1.2"), None], pa.decimal32(5, 2))),
    "null": one(pa.nulls(4)),
    "list": one(pa.array([[1, None], [], None, [2]], pa.list_(pa.int16()))),
    "large_list": one(pa.array([["a"], [], None], pa.large_list(pa.string()))),
    "list_view": one(pa.array([["a", None], [], None, ["b"]], pa.list_view(pa.string()))),
    "fixed_size_list": one(pa.array([[1.0, 2.0], [3.0, 4.0]] * 2, pa.list_(pa.float32(), 2))),
    "map": one(pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int32()))),
    "nested": one(_nested()),
    "dictionary": one(pa.array(["a", None, "b", "a"]).dictionary_encode()),
    "dictionary of int8": one(_dictionary(["a", None, "b"], pa.int8())),
    "ordered dictionary": Case(
        {"a.parquet": pa.table({"c": pa.array(["a"]).dictionary_encode().cast(
            pa.dictionary(pa.int32(), pa.string(), ordered=True))})},
        Refusal(UnsupportedError, "c", "a.parquet", ("ordered",)),
    ),
    "uuid": one(pa.array([b"0123456789abcdef", None], pa.uuid())),
    "many values in dictionaries of int8": Case(
        {
            f"{n}.parquet": pa.table({"c": _dictionary([f"{n} {i}" for i in range(100)], pa.int8())}) for n in range(3)
        }
    ),
    "required": Case({"a.parquet": pa.table([pa.array([1, 2])], pa.schema([pa.field("c", pa.int64(), False)]))}),
    "names of dots": Case(
        {"a.parquet": pa.table({"a.b": [1]})}, Refusal(InvalidArgumentError, "a.b", "a.parquet", ("dot",))
    ),
    "names": Case({"a b'\"ü.parquet": pa.table({"with space": [1], "qu'o\"te": [2], "ünï 東京": [3], "UPPER": [4]})}),
    "names of two cases": Case({"a.parquet": pa.table({"c": [1], "C": [2]})}),
    "twice the same name": Case(
        {"a.parquet": pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["c", "c"])},
        Refusal(InvalidArgumentError, "c", "a.parquet", ("two columns",)),
    ),
    "empty name": Case({"a.parquet": pa.table({"": [1]})}, Refusal(InvalidArgumentError, "", "a.parquet")),
    "no rows": Case({"a.parquet": _SMALL.slice(0, 0)}),
    "some without rows": Case({"a.parquet": _SMALL.slice(0, 0), "b.parquet": _SMALL, "c.parquet": _SMALL.slice(0, 0)}),
    "no bytes": Case({"a.parquet": _SMALL, "b.parquet": b""}, Refusal(CorruptFileError, None, "b.parquet")),
    "cut": Case(
        {"a.parquet": _SMALL, "b.parquet": b"PAR1 and then nothing"}, Refusal(CorruptFileError, None, "b.parquet")
    ),
    "extra column": Case({"a.parquet": _SMALL, "b.parquet": _SMALL.append_column("more", pa.array([1.5, 2.5, None]))}),
    "missing column": Case({"a.parquet": _SMALL, "b.parquet": _SMALL.select(["s"])}),
    "other order": Case({"a.parquet": _SMALL, "b.parquet": _SMALL.select(["s", "id"])}),
    "required and missing": Case(
        {
            "a.parquet": pa.table([[1], [2]], pa.schema([pa.field("c", pa.int64(), False), ("d", pa.int64())])),
            "b.parquet": pa.table({"d": [3]}),
        }
    ),
    "int32, int64": two(pa.array([1, 2], pa.int32()), pa.array([2**40])),
    "int64, int32": two(pa.array([2**40]), pa.array([1, 2], pa.int32())),
    "uint8, int16": two(pa.array([255], pa.uint8()), pa.array([-1], pa.int16())),
    "uint32, int32": two(pa.array([2**32 - 1], pa.uint32()), pa.array([-1], pa.int32())),
    "uint64, int64": two(pa.array([1], pa.uint64()), pa.array([1]), ("uint64", "int64", "--cast")),
    "float, double": two(pa.array([0.1], pa.float32()), pa.array([0.1])),
    "int32, double": two(pa.array([2**31 - 1], pa.int32()), pa.array([0.5])),
    "int64, double": two(pa.array([1]), pa.array([0.5]), ("int64", "double")),
    "int64, string": two(pa.array([1]), pa.array(["1"]), ("int64", "string")),
    "string, int64": two(pa.array(["1"]), pa.array([1]), ("string", "int64")),
    "bool, int8": two(pa.array([True]), pa.array([1], pa.int8()), ("bool", "int8")),
    "string, large_string": two(pa.array(["a"]), pa.array(["b"], pa.large_string())),
    "null, string": two(pa.nulls(2), pa.array(["b"])),
    "string, null": two(pa.array(["b"]), pa.nulls(2)),
    "null, list": two(pa.nulls(2), pa.array([[1], None])),
    "timestamps of two units": two(pa.array(_TIMES, pa.timestamp("ms")), pa.array(_TIMES[:2], pa.timestamp("ns"))),
    "timestamps beyond": Case(
        {
            "a.parquet": pa.table({"c": pa.array([_MOMENT], pa.timestamp("ns"))}),
            "b.parquet": pa.table({"c": pa.array([datetime.datetime(3000, 1, 1)], pa.timestamp("us"))}),
        },
        Refusal(InvalidArgumentError, "c", "b.parquet", ("timestamp[us]", "timestamp[ns]")),
    ),
    "timestamps of two zones": two(
        pa.array([_MOMENT], pa.timestamp("us", "UTC")),
        pa.array([_MOMENT], pa.timestamp("us", "Asia/Tokyo")),
        ("UTC", "Asia/Tokyo"),
    ),
    "timestamps with and without zone": two(
        pa.array([_MOMENT], pa.timestamp("us")), pa.array([_MOMENT], pa.timestamp("us", "UTC")), ("UTC",)
    ),
    "date, timestamp": two(
        pa.array([datetime.date(2024, 1, 1)]), pa.array([_MOMENT], pa.timestamp("us")), ("date32", "timestamp")
    ),
    "decimals": two(
        pa.array([decimal.Decimal("1.2")], pa.decimal128(5, 1)),
        pa.array([decimal.Decimal("1.234")], pa.decimal128(9, 3)),
    ),
    "dictionary, string": two(pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", None])),
    "dictionaries": two(_dictionary(["a", "b"], pa.int8()), _dictionary(["c", None], pa.int32())),
    "fixed, binary": two(pa.array([b"abc"], pa.binary(3)), pa.array([b"d"])),
    "lists": two(pa.array([[1], None], pa.list_(pa.int32())), pa.array([[2**40]], pa.list_(pa.int64()))),
    "list, string": two(pa.array([[1]]), pa.array(["x"]), ("list", "string")),
    "structs": Case(
        {
            "a.parquet": pa.table({"c": pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())]))}),
            "b.parquet": pa.table({"c": pa.array([{"y": "b", "x": 2**40}])}),
        },
        own_reading=_joined,
    ),
    "structs that differ": Case(
        {
            "a.parquet": pa.table({"c": [{"x": 1, "y": {"z": 1}}]}),
            "b.parquet": pa.table({"c": [{"x": 1, "y": {"z": "1"}}]}),
        },
        Refusal(InvalidArgumentError, "c.y.z", "b.parquet", ("int64", "string")),
    ),
    "hive int": Case({f"year={year}/a.parquet": _SMALL for year in (2023, 2024)}),
    "hive string": Case({f"place={place}/a.parquet": _SMALL for place in ("a%20b", "ü", "x")}),
    "hive date": Case({f"day={day}/a.parquet": _SMALL for day in ("2024-01-01", "2024-02-29")}),
    "hive null": Case({f"k={key}/a.parquet": _SMALL for key in ("7", "__HIVE_DEFAULT_PARTITION__")}),
    "hive of three": Case(
        {f"y={y}/p={p}/d={d}/a.parquet": _SMALL for y in (1, 2) for p in ("b", "c") for d in ("2024-01-01",)}
    ),
    "hive mixed": Case({f"k={key}/a.parquet": _SMALL for key in ("1", "x")}),
    "hive large": Case({f"k={key}/a.parquet": _SMALL for key in ("1", "5000000000")}),
    "hive zeros": Case({f"k={key}/a.parquet": _SMALL for key in ("007", "1")}),
    "hive key in the file, too": Case(
        {f"k={key}/a.parquet": _SMALL.append_column("k", pa.array([key] * 3, pa.int32())) for key in (1, 2)}
    ),
    "hive key that the file denies": Case(
        {f"k={key}/a.parquet": _SMALL.append_column("k", pa.array([1] * 3, pa.int32())) for key in (1, 2)},
        Refusal(InvalidArgumentError, "k", "k=2/a.parquet", ("folder says",)),
    ),
    "hive with a retyped column": Case(
        {
            "k=1/a.parquet": _SMALL,
            "k=2/b.parquet": pa.table({"id": pa.array([1], pa.int8()), "new": ["x"]}),
        }
    ),
    "hidden": Case({"a.parquet": _SMALL, "_SUCCESS": b"", ".b.crc": b"x", "_temporary/c.parquet": b"PAR1"}),
    "names of files": Case({"a b.parquet": _SMALL, "ü'\"{}.parquet": _SMALL, "no_ending": _SMALL, "x.csv": _SMALL}),
    "row groups": Case(
        {"a.parquet": pa.table({"id": range(1000), "s": [f"{i}" * (i % 7) for i in range(1000)]})},
        options={"row_group_size": 17},
    ),
}  # fmt: skip
"""By name."""
