"""`writer_plan`: what is kept between files is of files that are alike in everything that writers look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceFile, write_table
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.container.schema_messages import file_descriptor, serialized
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.files.writer_plan import writer_plan
from lance_arrow.runtime import Runtime, default_runtime

SCHEMA = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.list_(pa.string()))])


def _plan(schema: pa.Schema, runtime: Runtime | None = None, **options: Any) -> object:
    return writer_plan(schema, WriteOptions(**options), runtime or default_runtime(), fields_from_arrow)


def test_a_plan_is_kept() -> None:
    assert _plan(SCHEMA) is _plan(pa.schema(list(SCHEMA)))


@pytest.mark.parametrize(
    "other",
    [
        SCHEMA.with_metadata({"k": "v"}),
        pa.schema([SCHEMA.field("a").with_metadata({"lance-encoding:compression": "zstd"}), SCHEMA.field("b")]),
        pa.schema([SCHEMA.field("a").with_nullable(False), SCHEMA.field("b")]),
        pa.schema([SCHEMA.field("a"), pa.field("b", pa.list_(pa.field("other", pa.string())))]),
        pa.schema([SCHEMA.field("b"), SCHEMA.field("a")]),
    ],
)
def test_schemas_that_differ_in_anything_have_plans_of_their_own(other: pa.Schema) -> None:
    assert _plan(SCHEMA) is not _plan(other)


def test_options_and_runtimes_have_plans_of_their_own() -> None:
    plan = _plan(SCHEMA)
    assert plan is not _plan(SCHEMA, file_version="2.1")
    assert plan is not _plan(SCHEMA, preset="compact")
    assert plan is not _plan(SCHEMA, column_options={"a": {"compression": "zstd"}})
    assert plan is not _plan(SCHEMA, Runtime())
    assert plan is _plan(SCHEMA)


def test_fields_of_a_table_have_plans_of_their_own() -> None:
    first, second = (tuple(fields_from_arrow(SCHEMA)) for _ in range(2))
    options, runtime = WriteOptions(), default_runtime()
    plans = [writer_plan(SCHEMA, options, runtime, lambda _, one=one: one, one) for one in (first, second, first)]
    assert plans[0] is plans[2]
    assert plans[0] is not plans[1]
    assert plans[1].form.described_schema == serialized(file_descriptor(second, {}, 0))


def test_what_is_refused_is_refused_again() -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="the format has no"):
            _plan(pa.schema([pa.field("a", pa.month_day_nano_interval())]))
        with pytest.raises(InvalidArgumentError, match="two fields"):
            _plan(pa.schema([pa.field("a", pa.int8()), pa.field("a", pa.int8())]))


class _Celsius(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.float64(), "test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"x"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> _Celsius:
        return cls()


def test_an_extension_type_and_what_it_is_stored_as_do_not_share_a_plan(tmp_path: Path) -> None:
    pa.register_extension_type(_Celsius())
    try:
        storage = pa.array(np.arange(3.0))
        metadata = {"ARROW:extension:metadata": "x", "ARROW:extension:name": "test.celsius"}
        extended = pa.ExtensionArray.from_storage(_Celsius(), storage)
        plain = pa.field("a", pa.float64(), metadata=metadata)
        tables = [pa.table({"a": extended}), pa.table([storage], schema=pa.schema([plain]))]
        tables += [
            pa.table({"s": pa.StructArray.from_arrays([extended], ["a"])}),
            pa.table({"s": pa.StructArray.from_arrays([storage], fields=[plain])}),
        ]
        for number, table in enumerate([*tables, *tables]):
            write_table(table, tmp_path / f"{number}.lance")
            with LanceFile(tmp_path / f"{number}.lance") as file:
                (read,) = file.read().columns
                assert (read.type if number % 4 < 2 else read.type.field(0).type) == _Celsius()
    finally:
        pa.unregister_extension_type("test.celsius")
