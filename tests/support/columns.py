"""The matrix of columns: every type, value distribution and encoding option that a flat file may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from values import (
    Make,
    binaries_of,
    booleans,
    date64s,
    decimals,
    dictionaries,
    floats,
    is_null_at,
    lists_of,
    nothing,
    of_pattern,
    seeded,
    structs_of,
    texts,
    times_of_day,
    with_nulls,
)

VERSIONS = ("2.1", "2.2", "2.3")
OLD_AND_NEW = ("2.0", *VERSIONS)
ROW_COUNTS = (0, 1, 1023, 1024, 100_000)
NULLS = ("none", "some", "all")

UNITS = ("s", "ms", "us", "ns")
INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
FLOATS = (pa.float16(), pa.float32(), pa.float64())
TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
TEMPORAL = (
    pa.date32(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in UNITS),
    *(pa.timestamp(unit, zone) for unit, zone in zip(UNITS, ("UTC", "Europe/Oslo", "+01:00", "UTC"), strict=True)),
    *(pa.duration(unit) for unit in UNITS),
)
DECIMALS = (
    pa.decimal128(1, 0),
    pa.decimal128(18, 3),
    pa.decimal128(38, 10),
    pa.decimal128(10, -2),
    pa.decimal256(40, 0),
    pa.decimal256(76, 38),
)


@dataclass(frozen=True)
class ColumnCase:
    """One column: how its values are made and which encoding options its field carries."""

    name: str
    make: Make
    options: dict[str, str] = field(default_factory=dict)
    versions: tuple[str, ...] = VERSIONS
    max_rows: int = 100_000
    nulls: tuple[str, ...] = NULLS

    def build(self, num_rows: int, nulls: str) -> pa.Array:
        """Values for `num_rows` rows with nulls ``none``, ``some`` or ``all``; the same at every call."""
        rng = seeded(f"{self.name}/{num_rows}/{nulls}")
        return with_nulls(self.make(rng, num_rows), is_null_at(rng, num_rows, nulls))

    def field_for(self, array: pa.Array, nulls: str) -> pa.Field:
        """Field with the encoding options; not nullable for every other column without nulls."""
        metadata = {f"lance-encoding:{key}": value for key, value in self.options.items()}
        nullable = nulls != "none" or len(self.name) % 2 == 0 or pa.types.is_null(array.type)
        return pa.field(self.name, array.type, nullable, metadata or None)


def _name(data_type: pa.DataType) -> str:
    text = str(data_type)
    for old, new in (("[", "_"), (", tz=", "_"), ("(", "_"), (", ", "_"), ("]", ""), (")", ""), ("/", "_")):
        text = text.replace(old, new)
    return text


def fixed_width_cases() -> Iterator[ColumnCase]:
    """Every type of a fixed number of bits."""
    yield ColumnCase("null", nothing)
    yield ColumnCase("bool_random", booleans("random"))
    yield ColumnCase("bool_constant", booleans("constant"))
    for data_type in INTEGERS:
        for kind in ("random", "small", "sequential", "runs", "constant", "negative"):
            yield ColumnCase(f"{data_type}_{kind}", of_pattern(data_type, kind))
    yield ColumnCase("int64_few", of_pattern(pa.int64(), "few"))
    yield ColumnCase("int64_few_small", of_pattern(pa.int64(), "few_small"))
    for data_type in FLOATS:
        for kind in ("normal", "special", "runs", "constant", "small"):
            yield ColumnCase(f"{data_type}_{kind}", floats(data_type, kind))


def temporal_and_decimal_cases() -> Iterator[ColumnCase]:
    """Dates, times, timestamps, durations, decimals, fixed-size binary."""
    for number, data_type in enumerate(TEMPORAL):
        for kind in ("sequential", ("random", "runs", "constant", "small")[number % 4]):
            make = times_of_day if pa.types.is_time(data_type) else of_pattern
            yield ColumnCase(f"{_name(data_type)}_{kind}", make(data_type, kind))
    yield ColumnCase("date64_days", date64s)
    for data_type in DECIMALS:
        for kind in ("random", "few", "constant"):
            yield ColumnCase(f"{_name(data_type)}_{kind}", decimals(data_type, kind))
    for width_bytes in (1, 3, 16, 300):
        for kind in ("random", "few", "constant"):
            max_rows = 5_000 if width_bytes > 100 and kind != "few" else 100_000
            yield ColumnCase(f"binary{width_bytes}_{kind}", binaries_of(width_bytes, kind), max_rows=max_rows)


def text_cases() -> Iterator[ColumnCase]:
    """Strings and binaries."""
    for data_type in TEXTS:
        for kind in ("words", "unique", "empties", "few", "runs", "constant", "empty", "long", "wide"):
            max_rows = 20_000 if kind == "wide" and data_type != pa.string() else 100_000
            yield ColumnCase(f"{data_type}_{kind}", texts(data_type, kind), max_rows=max_rows)


def nested_cases() -> Iterator[ColumnCase]:
    """Fixed-size lists of primitives, and structs."""
    leaves: dict[str, Make] = {
        "int8": of_pattern(pa.int8(), "random"),
        "int32": of_pattern(pa.int32(), "small"),
        "uint64": of_pattern(pa.uint64(), "random"),
        "float": floats(pa.float32(), "normal"),
        "double": floats(pa.float64(), "special"),
        "timestamp": of_pattern(pa.timestamp("us"), "sequential"),
    }
    for name, leaf in leaves.items():
        for dimension in (1, 3, 128) if name == "float" else (2, 5):
            for item_nulls in NULLS:
                made = lists_of(leaf, dimension, item_nulls)
                max_rows = 3_000 if dimension > 100 and item_nulls != "some" else 100_000
                yield ColumnCase(f"fsl{dimension}_{name}_{item_nulls}", made, max_rows=max_rows)
    for dimension in (3, 8, 16):
        for item_nulls in NULLS:
            yield ColumnCase(f"fsl{dimension}_bool_{item_nulls}", lists_of(booleans("random"), dimension, item_nulls))
    inner = lists_of(leaves["int32"], 2)
    inner_null = lists_of(leaves["int32"], 2, "some")
    yield ColumnCase("fsl_fsl", lists_of(inner, 3))
    yield ColumnCase("fsl_fsl_inner_nulls", lists_of(inner_null, 3))
    yield ColumnCase("fsl_fsl_both_nulls", lists_of(inner_null, 3, "some"))
    yield ColumnCase("fsl_fsl_all_null", lists_of(inner, 3, "all"))
    yield ColumnCase("fsl_fsl_wide", lists_of(lists_of(leaves["float"], 16, "some"), 8))
    everything: dict[str, Make] = {
        **leaves,
        "bool": booleans("random"),
        "string": texts(pa.string(), "words"),
        "few": texts(pa.large_string(), "few"),
        "constant": of_pattern(pa.int64(), "constant"),
        "decimal": decimals(pa.decimal128(20, 2), "random"),
        "fsl": inner_null,
        "null": nothing,
    }
    flat = {"a": of_pattern(pa.int32(), "small"), "b": texts(pa.string(), "unique")}
    for child_nulls in NULLS:
        yield ColumnCase(f"struct_{child_nulls}", structs_of(flat, child_nulls))
        nested = {"x": of_pattern(pa.int64(), "random"), "in": structs_of(flat, child_nulls)}
        yield ColumnCase(f"struct_struct_{child_nulls}", structs_of(nested, child_nulls))
    deep = structs_of({"c": structs_of({"d": structs_of(flat, "some")}, "some")}, "some")
    # The writer refuses null structs without fields.
    yield ColumnCase("struct_empty", structs_of({}), nulls=("none",))
    yield ColumnCase("struct_deep", deep)
    yield ColumnCase("struct_everything", structs_of(everything, "some"), max_rows=20_000)


def option_cases() -> Iterator[ColumnCase]:
    """Columns whose fields ask for an encoding."""
    values: dict[str, Make] = {
        "int32": of_pattern(pa.int32(), "small"),
        "int64": of_pattern(pa.int64(), "runs"),
        "double": floats(pa.float64(), "normal"),
        "rounded": floats(pa.float64(), "rounded"),
        "decimal": decimals(pa.decimal128(20, 2), "random"),
        "string": texts(pa.string(), "words"),
        "large": texts(pa.large_string(), "wide"),
        "binary": texts(pa.binary(), "unique"),
        "long": texts(pa.large_binary(), "long"),
        "binary300": binaries_of(300, "few"),
        "fsl": lists_of(of_pattern(pa.int32(), "small"), 4, "some"),
        "bool": booleans("random"),
        "struct": structs_of({"a": of_pattern(pa.int32(), "small"), "b": texts(pa.string(), "words")}, "some"),
    }
    sets: dict[str, dict[str, str]] = {
        "lz4": {"compression": "lz4", "bss": "off"},
        "zstd": {"compression": "zstd", "compression-level": "3", "bss": "off"},
        "plain": {"compression": "none"},
        "mini": {"structural-encoding": "miniblock"},
        "zip": {"structural-encoding": "fullzip"},
        "zip_zstd": {"structural-encoding": "fullzip", "compression": "zstd", "bss": "off"},
        "zip_lz4": {"structural-encoding": "fullzip", "compression": "lz4", "bss": "off"},
        "nodict": {"dict-size-ratio": "0.01", "rle-threshold": "0.0"},
        "lz4_nodict": {"compression": "lz4", "bss": "off", "dict-size-ratio": "0.01", "rle-threshold": "0.0"},
        "rle": {"rle-threshold": "1.0", "dict-size-ratio": "0.01"},
        "dictionary": {"dict-divisor": "2", "dict-size-ratio": "0.99", "dict-values-compression": "zstd"},
    }
    for option, keys in sets.items():
        for name, make in values.items():
            if name in ("bool", "fsl") and option.startswith("zip"):
                continue
            max_rows = 5_000 if name in ("large", "long", "binary300") and option != "zip_zstd" else 100_000
            # 2.1 chunks end at 32 KiB: the writer refuses longer values there.
            versions = VERSIONS[1:] if (name, option) == ("long", "mini") else VERSIONS
            yield ColumnCase(f"{name}_{option}", make, keys, versions, max_rows)
    yield ColumnCase("fsl_zip", lists_of(of_pattern(pa.int32(), "small"), 4), sets["zip"])
    yield ColumnCase("fsl_zip_nulls", lists_of(of_pattern(pa.int32(), "small"), 4, "some"), sets["zip"])
    yield ColumnCase("fsl_bool_zip", lists_of(booleans("random"), 8), sets["zip"])
    yield ColumnCase("double_streams", floats(pa.float64(), "normal"), {"compression": "lz4", "bss": "on"})
    fixed = {"a": of_pattern(pa.int32(), "small"), "b": floats(pa.float64(), "normal")}
    yield ColumnCase("packed", structs_of(fixed), {"packed": "true"})
    mixed = {**fixed, "s": texts(pa.string(), "words"), "v": lists_of(of_pattern(pa.int16(), "random"), 3)}
    yield ColumnCase("packed_mixed", structs_of(mixed), {"packed": "true"}, ("2.2",))
    yield ColumnCase("string_fsst", texts(pa.string(), "words"), {"compression": "fsst"})
    yield ColumnCase("binary_fsst", texts(pa.binary(), "unique"), {"compression": "fsst"})
    yield ColumnCase("zip_fsst", texts(pa.large_string(), "words"), {"compression": "fsst", **sets["zip"]})
    yield ColumnCase("string_dict_plain", texts(pa.string(), "few"), {"dict-values-compression": "none"})


def dictionary_cases() -> Iterator[ColumnCase]:
    """Dictionary-typed columns; int8 indices stay below 100 items, where the reference reads its own files."""
    for index_type in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()):
        for value_type in (pa.string(), pa.large_string(), pa.int64(), pa.float32(), pa.binary()):
            num_items = 90 if index_type.bit_width == 8 else 700
            make = dictionaries(index_type, value_type, num_items)
            yield ColumnCase(f"dictionary_{index_type}_{value_type}", make)


GROUPS = {
    "fixed": fixed_width_cases,
    "temporal": temporal_and_decimal_cases,
    "text": text_cases,
    "nested": nested_cases,
    "options": option_cases,
    "dictionary": dictionary_cases,
}


def cases(group: str, version: str, num_rows: int, nulls: str) -> list[ColumnCase]:
    """Columns of a group that a file of `version` with `num_rows` rows holds; heavy ones stay out of long files."""
    found = (case for case in GROUPS[group]() if _first(version) in case.versions and nulls in case.nulls)
    return [case for case in found if num_rows <= case.max_rows and (version != "2.0" or _fits_2_0(case, nulls))]


def _first(version: str) -> str:
    return "2.1" if version == "2.0" else version


def _fits_2_0(case: ColumnCase, nulls: str) -> bool:
    """Whether 2.0 holds it: no null struct, and symbols only where their writer does not fail."""
    if case.options.get("compression") == "fsst":
        return nulls != "all" and case.name != "zip_fsst"
    return not _has_null_structs(case.build(min(case.max_rows, 1024), nulls))


def _has_null_structs(array: pa.Array) -> bool:
    if not pa.types.is_struct(array.type):
        return False
    children = [array.field(number) for number in range(array.type.num_fields)]
    return array.null_count > 0 or any(map(_has_null_structs, children))


def table(group: str, version: str, num_rows: int, nulls: str) -> pa.Table:
    """Build one file's table, with schema metadata."""
    arrays, fields = [], []
    for case in cases(group, version, num_rows, nulls):
        array = case.build(num_rows, nulls)
        arrays.append(array)
        fields.append(case.field_for(array, nulls))
    metadata = {"group": group, "ünï": "cödé"}
    return pa.table(arrays, schema=pa.schema(fields, metadata))
