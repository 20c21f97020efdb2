"""A built-in is one entry-point line: without it the encoding is missed by name and the rest of the file reads."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import columns
import pyarrow as pa
import pytest
from blobs import first_kind
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.errors import PluginConflictError, PluginLoadError, UnknownEncodingError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi.loading import LoadedPlugins, entry_points, load_plugins

EntryPoint = importlib.metadata.EntryPoint

# Entry point, a column of the matrix that needs it, and the words its key is known by.
NEEDS = {
    "codec.flat": ("fixed", "int32_random", "CompressiveEncoding/flat"),
    "codec.fsst": ("text", "large_string_words", "CompressiveEncoding/fsst"),
    "codec.variable": ("text", "string_unique", "CompressiveEncoding/variable"),
    "codec.byte_stream_split": ("options", "double_streams", "CompressiveEncoding/byte_stream_split"),
    "codec.packed_struct": ("options", "packed", "CompressiveEncoding/packed_struct"),
    "codec.variable_packed_struct": ("options", "packed_mixed", "CompressiveEncoding/variable_packed_struct"),
    "codec.rle": ("fixed", "int8_runs", "CompressiveEncoding/rle"),
    "codec.inline_bitpacking": ("fixed", "uint16_small", "CompressiveEncoding/inline_bitpacking"),
    "codec.fixed_size_list": ("nested", "fsl2_int8_none", "CompressiveEncoding/fixed_size_list"),
    "codec.general": ("options", "string_lz4", "CompressiveEncoding/general"),
    "scheme.lz4": ("options", "string_lz4", "LZ4"),
    "scheme.zstd": ("options", "double_zstd", "ZSTD"),
    "layout.constant": ("text", "string_constant", "PageLayout/"),
    "layout.full_zip": ("options", "int32_zip", "PageLayout/full_zip"),
    "layout.mini_block": ("fixed", "int32_random", "PageLayout/mini_block"),
    "column.values": ("fixed", "int32_random", "ColumnEncoding/values"),
}


# Entry point, and rows of integers (lists of them where a row is a list) whose 2.3 page needs it.
PLANAR = {
    "codec.constant": [None] * 50,
    "codec.range": [7 if row % 3 else None for row in range(3000)],
    "codec.delta": [[5] * (row % 3) for row in range(3000)],
    "codec.dictionary": [[5] * (row % 3) for row in range(3000)],
    "layout.planar": [7] * 50,
}


# Entry point, and a column whose 2.0 page needs it.
ARRAYS: dict[str, pa.Array] = {
    "codec.v20.flat": pa.array([1, 2, 3]),
    "codec.v20.nullable": pa.array([1, None, 3]),
    "codec.v20.binary": pa.array([b"a", b"bc", None]),
    "codec.v20.list": pa.array([[1], None, []], pa.list_(pa.int64())),
    "codec.v20.fixed_size_list": pa.array([[1, 2]] * 3, pa.list_(pa.int64(), 2)),
    "codec.v20.dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
    "codec.v20.fsst": pa.array(["some words"] * 3),
    "codec.v20.packed_struct": pa.array([{"a": 1, "b": 2}] * 3),
    "codec.v20.struct": pa.array([{}] * 3, pa.struct([])),
    "layout.array": pa.array([1, 2, 3]),
}
ARRAY_OPTIONS = {
    "codec.v20.fsst": {"lance-encoding:compression": "fsst"},
    "codec.v20.packed_struct": {"packed": "true"},
}
# No writer that anybody can run writes them.
PRE_RELEASE = {
    "codec.v20.bitpacked",
    "codec.v20.bitpacked_for_non_neg",
    "codec.v20.constant",
    "codec.v20.fixed_size_binary",
}


def without(*names: str) -> LoadedPlugins:
    """All plugins but these, as if their lines had been deleted."""
    points = entry_points()
    kept = [point for point in points if point.name not in names]
    assert len(kept) == len(points) - len(names)
    return load_plugins(kept)


def one_column(group: str, name: str) -> pa.Table:
    whole = columns.table(group, "2.2", 1024, "none")
    return whole.select([name])


def test_every_built_in_is_missed_somewhere() -> None:
    built_in = {point.name for point in entry_points() if point.dist is not None and point.dist.name == "lance-arrow"}
    # The first is missed below, in levels, and the next ones in structure. Nothing has zone maps before this package
    # writes them, and since 2.1 blobs are told by their pages alone.
    elsewhere = {"codec.out_of_line_bitpacking", *PLANAR, "layout.blob", *ARRAYS, *PRE_RELEASE}
    # Missed in `interop/test_first_generation.py` and in `interop/test_drafts.py`.
    elsewhere |= {name for name in built_in if name.startswith("codec.v01.")} | {"layout.drafts"}
    assert built_in - set(NEEDS) == elsewhere | {"column.zone_index", "column.blob"}


@pytest.mark.share(2)
@pytest.mark.interop
@pytest.mark.parametrize("plugin", NEEDS)
def test_missed_by_name(witness: Witness, tmp_path: Path, plugin: str) -> None:
    group, name, key = NEEDS[plugin]
    expected = one_column(group, name).append_column("nothing", pa.nulls(1024))
    path = witness.write(expected, tmp_path / "file.lance", "2.2")
    other = ["nothing"] if plugin not in ("layout.constant", "column.values") else []
    with lance_arrow.LanceFile(path, runtime=Runtime(plugins=without(plugin))) as file:
        assert file.schema.names == expected.column_names
        with pytest.raises(UnknownEncodingError) as caught:
            file.read(columns=[name])
        assert key in str(caught.value)
        assert caught.value.column == name
        assert str(path) in str(caught.value)
        if other:
            assert_same(expected.select(other), file.read(columns=other))
            assert_same(expected.select(other).slice(3, 2), file.take([3, 4], columns=other))
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())


@pytest.mark.interop
@pytest.mark.parametrize("plugin", PLANAR)
def test_missed_by_name_in_planar_pages(witness: Witness, tmp_path: Path, plugin: str) -> None:
    rows = PLANAR[plugin]
    expected = pa.table({"odd": pa.array(rows, pa.list_(pa.int64()) if isinstance(rows[0], list) else pa.int64())})
    path = witness.write(expected, tmp_path / "file.lance", "2.3")
    with lance_arrow.LanceFile(path, runtime=Runtime(plugins=without(plugin))) as file:
        with pytest.raises(UnknownEncodingError, match=r"PlanarLayout|" + plugin.rpartition(".")[2]) as caught:
            file.read()
        assert str(caught.value.column).split(".")[0] == "odd"
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())


@pytest.mark.interop
@pytest.mark.parametrize("plugin", ARRAYS)
def test_missed_by_name_in_pages_of_2_0(witness: Witness, tmp_path: Path, plugin: str) -> None:
    column = ARRAYS[plugin]
    odd = pa.field("odd", column.type, metadata=ARRAY_OPTIONS.get(plugin))
    expected = pa.table([column], schema=pa.schema([odd]))
    path = witness.write(expected, tmp_path / "file.lance", "2.0")
    with lance_arrow.LanceFile(path, runtime=Runtime(plugins=without(plugin))) as file:
        with pytest.raises(UnknownEncodingError, match=r"ArrayEncoding(/" + plugin.rpartition(".")[2] + ")?") as caught:
            file.read()
        assert str(caught.value.column).split(".")[0] == "odd"
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())


@pytest.mark.interop
def test_blob_pages_are_missed_by_name(witness: Witness, tmp_path: Path) -> None:
    expected = first_kind([b"a", None, b"b"])
    path = witness.write(expected, tmp_path / "file.lance", "2.2")
    with lance_arrow.LanceFile(path, runtime=Runtime(plugins=without("layout.blob"))) as file:
        assert_same(expected.select(["n"]), file.read(columns=["n"]))
        with pytest.raises(UnknownEncodingError, match="PageLayout/blob_layout") as caught:
            file.read()
        assert caught.value.column == "b"


@pytest.mark.interop
def test_levels_codec_is_missed(witness: Witness, tmp_path: Path) -> None:
    expected = columns.table("fixed", "2.1", 100_000, "some").select(["int32_small"])
    path = witness.write(expected, tmp_path / "file.lance", "2.1")
    with (
        lance_arrow.LanceFile(path, runtime=Runtime(plugins=without("codec.out_of_line_bitpacking"))) as file,
        pytest.raises(UnknownEncodingError, match="out_of_line_bitpacking"),
    ):
        file.read()


@pytest.mark.interop
def test_broken_plugin_is_the_cause(witness: Witness, tmp_path: Path) -> None:
    points = [point for point in entry_points() if point.name != "codec.fsst"]
    broken = EntryPoint("codec.acme.fsst", "acme_fsst_that_is_not_installed", "lance_arrow")
    plugins = load_plugins([*points, broken])
    (record,) = (record for record in plugins.records if record.error is not None)
    assert record.name == "codec.acme.fsst"
    expected = one_column("text", "large_string_words")
    path = witness.write(expected, tmp_path / "file.lance", "2.2")
    with (
        lance_arrow.LanceFile(path, runtime=Runtime(plugins=plugins)) as file,
        pytest.raises(UnknownEncodingError) as caught,
    ):
        file.read()
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert any("codec.acme.fsst" in note for note in caught.value.__notes__)


def test_empty_group_explains_itself() -> None:
    with pytest.raises(PluginLoadError, match="'lance-arrow' is not installed"):
        load_plugins([])


def test_preference_for_an_unknown_key_is_refused() -> None:
    with pytest.raises(PluginConflictError, match="no plugin provides"):
        Runtime(Settings(prefer={"lance.encodings21.CompressiveEncoding/flatter": "codec.flat"}))


def test_misspelt_hook_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "from lance_arrow.spi import hookimpl\n\n@hookimpl\ndef lance_provide_codex():\n    return []\n"
    (tmp_path / "misspelt_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginLoadError, match="lance_provide_codex"):
        load_plugins([*entry_points(), EntryPoint("codec.misspelt", "misspelt_plugin", "lance_arrow")])


def test_plugins_that_share_a_name_are_told_apart() -> None:
    points = entry_points()
    twins = [EntryPoint("codec.flat", module, "lance_arrow") for module in ("absent_a", "absent_b", "json", "this_one")]
    records = load_plugins([*twins[:2], *points, *twins[2:]]).records
    assert len({record.name for record in records}) == len(records) == len(points) + len(twins)
    assert sum(record.error is not None for record in records) == 3
