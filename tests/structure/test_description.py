"""Descriptions print as trees: with their plugins, without them, and with fields nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pluggy
import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from lance_arrow.proto import encodings_v20_pb2 as v20
from lance_arrow.proto import encodings_v21_pb2 as v21
from lance_arrow.proto import encodings_v23_pb2 as v23
from lance_arrow.spi import COMPRESSIVE, PRIVATE_CODEC, EncodingKey, hookimpl
from lance_arrow.spi import hookspecs as spi_hookspecs
from lance_arrow.spi.loading import LoadedPlugins, PluginRecord, Provider
from lance_arrow.spi.table import EncodingTable
from lance_arrow.structure.description import EncodingReport, describe

LAYOUT = "lance.encodings21.PageLayout"
SCHEME = "lance.encodings21.CompressionScheme"
DIST: Any = Provider(SimpleNamespace(name="dist", version="1"))
MISSING = "no installed plugin provides it"


class Factory:
    def __init__(self, key: EncodingKey, message_type: type[Message] | None = None) -> None:
        self.key = key
        self.message_type = message_type


class Plugin(ModuleType):
    """A module whose hooks provide what it was made with."""

    def __init__(self, name: str, provided: dict[str, Sequence[Factory]]) -> None:
        super().__init__(name)
        for hook, factories in provided.items():
            setattr(self, hook, hookimpl(lambda factories=factories: list(factories)))


def table_of(broken: Iterable[str] = (), **plugins: dict[str, Sequence[Factory]]) -> EncodingTable:
    manager = pluggy.PluginManager(spi_hookspecs.PROJECT)
    manager.add_hookspecs(spi_hookspecs)
    records = [PluginRecord(name=name, provider=DIST, target=name, error=ImportError("no")) for name in broken]
    for name, provided in plugins.items():
        module = Plugin(name, provided)
        manager.register(module, name=name)
        records.append(PluginRecord(name=name, provider=DIST, target=name, module=module))
    return EncodingTable(LoadedPlugins(records, manager), {})


def codecs(*cases: str) -> dict[str, Sequence[Factory]]:
    return {"lance_provide_codecs": [Factory(EncodingKey(COMPRESSIVE, case)) for case in cases]}


def layout(case: str) -> dict[str, Sequence[Factory]]:
    return {"lance_provide_layouts": [Factory(EncodingKey(LAYOUT, case), v21.PageLayout)]}


def flat(bits: int) -> v21.CompressiveEncoding:
    return v21.CompressiveEncoding(flat=v21.Flat(bits_per_value=bits))


def strings() -> v21.PageLayout:
    """A mini-block page of compressed strings with nulls."""
    variable = v21.CompressiveEncoding(variable=v21.Variable(offsets=flat(32)))
    fsst = v21.CompressiveEncoding(fsst=v21.Fsst(symbol_table=b"x" * 2312, values=variable))
    general = v21.General(compression=v21.BufferCompression(scheme=v21.LZ4, level=3), values=fsst)
    return v21.PageLayout(
        mini_block_layout=v21.MiniBlockLayout(
            def_compression=flat(16),
            value_compression=v21.CompressiveEncoding(general=general),
            layers=[v21.NULLABLE_ITEM, v21.ALL_VALID_ITEM],
            num_buffers=1,
            num_items=70_000,
            has_large_chunk=True,
        )
    )


def at(report: EncodingReport, *roles: str) -> EncodingReport:
    for role in roles:
        (report,) = (child for name, child in report.children if name == role)
    return report


def told(message: Message, table: EncodingTable) -> EncodingReport:
    return describe(message.DESCRIPTOR.full_name, message.SerializeToString(), table)


def test_tree_with_all_plugins() -> None:
    table = table_of(
        mini=layout("mini_block_layout"),
        codecs=codecs("flat", "variable", "fsst", "general"),
        lz4={"lance_provide_buffer_schemes": [Factory(EncodingKey(SCHEME, "LZ4"))]},
    )
    report = told(strings(), table)
    assert report.key == f"{LAYOUT}/mini_block_layout"
    assert report.parameters == {
        "layers": ["NULLABLE_ITEM", "ALL_VALID_ITEM"],
        "num_buffers": 1,
        "num_items": 70_000,
        "has_large_chunk": True,
    }
    assert [role for role, _ in report.children] == ["def_compression", "value_compression"]
    assert report.provider == "mini"
    assert at(report, "def_compression").parameters == {"bits_per_value": 16}
    scheme = at(report, "value_compression", "compression")
    assert (scheme.key, scheme.parameters, scheme.provider) == (f"{SCHEME}/LZ4", {"level": 3}, "lz4")
    fsst = at(report, "value_compression", "values")
    assert fsst.parameters == {"symbol_table": "2312 bytes"}
    assert at(fsst, "values", "offsets").key == f"{COMPRESSIVE}/flat"
    assert {node.detail for node in report.walk()} == {None}
    assert sum(1 for _ in report.walk()) == 7


def test_tree_without_any_plugin() -> None:
    report = told(strings(), table_of())
    assert sum(1 for _ in report.walk()) == 7
    assert {node.provider for node in report.walk()} == {None}
    assert {node.detail for node in report.walk()} == {MISSING}


def test_one_codec_is_missing() -> None:
    table = table_of(
        broken=["codec.fsst"], mini=layout("mini_block_layout"), codecs=codecs("flat", "variable", "general")
    )
    report = told(strings(), table)
    fsst = at(report, "value_compression", "values")
    assert fsst.detail == f"{MISSING}; plugin 'codec.fsst' of dist 1 is broken: ImportError('no')"
    assert at(fsst, "values").provider == "codecs"


def test_case_of_a_later_version() -> None:
    # Field 17 of a CompressiveEncoding, with five bytes: no case of today.
    unknown = bytes([(17 << 3 & 0x7F) | 0x80 | 2, 17 << 3 >> 7, 5]) + b"later"
    later = v21.CompressiveEncoding.FromString(unknown)
    page = v21.PageLayout(full_zip_layout=v21.FullZipLayout(bits_per_value=8, value_compression=later))
    report = told(page, table_of(zip=layout("full_zip_layout")))
    node = at(report, "value_compression")
    assert (node.key, node.parameters, node.detail) == (f"{COMPRESSIVE}/#17", {"#17": "5 bytes"}, MISSING)
    assert report.parameters == {"bits_per_value": 8}


def test_unknown_fields_and_enum_numbers_are_parameters() -> None:
    known = v21.Flat(bits_per_value=8).SerializeToString()
    grown = v21.Flat.FromString(known + bytes([9 << 3, 77, (10 << 3) | 5, 0, 0, 0, 0]))
    page = v21.PageLayout(
        constant_layout=v21.ConstantLayout(layers=[99], def_compression=v21.CompressiveEncoding(flat=grown))
    )
    report = told(page, table_of())
    assert report.parameters == {"layers": ["#99"]}
    assert at(report, "def_compression").parameters == {"bits_per_value": 8, "#9": 77, "#10": "wire type 5"}


def test_private_codec() -> None:
    private = v21.PrivateCodec(id="acme.fast/1", distribution="acme", config=b"\x00", children=[flat(8), flat(16)])
    page = v21.PageLayout(
        mini_block_layout=v21.MiniBlockLayout(value_compression=v21.CompressiveEncoding(private_codec=private))
    )
    lost = at(told(page, table_of()), "value_compression")
    assert (lost.key, lost.detail) == (f"{PRIVATE_CODEC}/acme.fast/1", MISSING)
    assert lost.parameters == {"id": "acme.fast/1", "distribution": "acme", "config": "1 byte"}
    assert at(lost, "children[1]").parameters == {"bits_per_value": 16}
    acme = {"lance_provide_codecs": [Factory(EncodingKey(PRIVATE_CODEC, "acme.fast/1"))]}
    assert at(told(page, table_of(acme=acme)), "value_compression").provider == "acme"


def test_choices_that_are_mere_structure() -> None:
    nullable = v20.Nullable(no_nulls=v20.Nullable.NoNull(values=v20.ArrayEncoding(flat=v20.Flat(bits_per_value=1))))
    report = told(v20.ArrayEncoding(nullable=nullable), table_of())
    inner = at(report, "no_nulls") if report.children[0][0] == "no_nulls" else report
    assert report.detail == MISSING
    assert [node.key for node in inner.walk()][-1] == "lance.encodings.ArrayEncoding/flat"


def test_page_of_a_layout_without_cases() -> None:
    report = told(v23.PlanarLayout(), table_of())
    assert (report.key, report.detail) == ("lance.encodings23.PlanarLayout", MISSING)


def test_layout_of_a_third_party() -> None:
    """Its message may hold what ours do not: maps, nested plain messages."""
    name = Struct.DESCRIPTOR.full_name
    own: dict[str, Any] = {"lance_provide_layouts": [Factory(EncodingKey(name), Struct)]}
    content = Struct()
    content.update({"a": 1, "b": 2})
    report = describe(name, content.SerializeToString(), table_of(theirs=own))
    assert (report.key, report.parameters, report.provider) == (name, {"fields": "2 entries"}, "theirs")


def test_unknown_message() -> None:
    report = describe("acme.Layout", b"123", table_of())
    assert report == EncodingReport(key="acme.Layout", parameters={"size": "3 bytes"}, detail=MISSING)


@pytest.mark.parametrize("value", [b"\xff", b"\x0a\x05ab"])
def test_damaged_description(value: bytes) -> None:
    report = describe(LAYOUT, value, table_of())
    assert report.children == ()
    assert report.detail is not None
    assert "not a valid lance.encodings21.PageLayout" in report.detail


def test_empty_description() -> None:
    report = describe(LAYOUT, b"", table_of())
    assert report == EncodingReport(key=LAYOUT, detail="the description is empty, expected one case to be set")
