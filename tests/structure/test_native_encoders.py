"""Who may be written natively: where every encoder has a native side, of this package or of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import read_table, write_table
from lance_arrow.choices import Preset
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import COMPRESSIVE, EncodeOptions, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.loading import entry_points, load_plugins
from lance_arrow.structure.native_encoders import native_encoders
from lance_arrow.structure.page_encoder import PageEncoder

# The format's own codec of strings, as somebody else would replace it.
STRINGS_PLUGIN = """
from lance_arrow_codecs.variable import Variable
from lance_arrow.spi import hookimpl

CALLS = []


class PlainStrings:
    key, contexts, since, writes, kinds = (
        Variable.key, Variable.contexts, Variable.since, Variable.writes, Variable.kinds
    )

    def bind(self, message, context, scope):
        return Variable().bind(message, context, scope)

    def score(self, block, context, scope):
        CALLS.append("score")
        return Variable().score(block, context, scope)

    def encode(self, block, context, scope):
        CALLS.append("encode")
        return Variable().encode(block, context, scope)

    # NATIVE


@hookimpl
def lance_provide_codecs():
    return [PlainStrings()]
"""
# The format's own codec, as somebody else would replace it.
PLUGIN = """
from lance_arrow_codecs.flat import Flat
from lance_arrow.spi import hookimpl

CALLS = []


class Plain:
    key, contexts, since, writes, kinds = Flat.key, Flat.contexts, Flat.since, Flat.writes, Flat.kinds
    message_type = getattr(Flat, "message_type", None)

    def bind(self, message, context, scope):
        return Flat().bind(message, context, scope)

    def score(self, block, context, scope):
        CALLS.append("score")
        return Flat().score(block, context, scope)

    def encode(self, block, context, scope):
        CALLS.append("encode")
        return Flat().encode(block, context, scope)

    def score_blocks(self, block, value_starts, scope):
        return Flat().score_blocks(block, value_starts, scope)

    def encode_blocks(self, block, value_starts, scope):
        return Flat().encode_blocks(block, value_starts, scope)

    # NATIVE


@hookimpl
def lance_provide_codecs():
    return [Plain()]
"""
NATIVE = """def native_encoder(self, shape, context, scope):
        CALLS.append("native")
        return Flat().native_encoder(shape, context, scope)
"""
NATIVE_STRINGS = NATIVE.replace("Flat", "Variable")
CHOOSER = """
from lance_arrow.spi import hookimpl


@hookimpl
def lance_choose_codec(block, context, scope):
    return None
"""
LEAF = LeafType(FixedWidth(64))
STRINGS = pa.table(
    {f"c{number}": [f"row {row} of {number}" if row % 7 else None for row in range(300)] for number in range(20)}
)
TABLE = pa.table({f"c{number}": np.random.default_rng(number).normal(size=300) for number in range(20)})


def runtime_with(folder: Path, patch: pytest.MonkeyPatch, name: str, text: str) -> Runtime:
    (folder / f"{name}.py").write_text(text)
    patch.syspath_prepend(str(folder))
    plugin = EntryPoint(f"codec.{name}", name, "lance_arrow")
    case = "variable" if "PlainStrings" in text else "flat"
    prefer = {str(EncodingKey(COMPRESSIVE, case)): f"codec.{name}"} if "Plain" in text else {}
    return Runtime(Settings(prefer=prefer), load_plugins([*entry_points(), plugin]))


def encoder_of(runtime: Runtime, version: str = "2.2") -> PageEncoder:
    return PageEncoder(runtime.table, runtime.settings.limits, runtime.scratch, version)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("bits", [1, 8, 40, 64, 128, 256])
def test_all_encoders_of_the_format_have_a_native_side(version: str, bits: int) -> None:
    found = native_encoders(encoder_of(default_runtime(), version), LeafType(FixedWidth(bits)), EncodeOptions())
    assert found is not None
    assert len(found.layouts) >= 4
    assert len(found.chunks) >= 5
    assert len(found.blocks) == (4 if version == "2.2" else 3)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("is_text", [False, True])
@pytest.mark.parametrize("preset", ["default", "fast", "compact"])
def test_all_encoders_of_strings_have_a_native_side(version: str, is_text: bool, preset: Preset) -> None:
    leaf = LeafType(VariableWidth(32), is_text=is_text)
    found = native_encoders(encoder_of(default_runtime(), version), leaf, EncodeOptions(preset=preset))
    assert found is not None
    assert len(found.layouts) >= 4
    assert len(found.chunks) == 3


@pytest.mark.parametrize(
    ("version", "leaf", "options"),
    [
        ("2.3", LEAF, EncodeOptions()),
        ("2.3", LeafType(VariableWidth(32)), EncodeOptions()),
        ("2.2", LeafType(VariableWidth(32)), EncodeOptions(compression="fsst")),
        ("2.2", LeafType(VariableWidth(32)), EncodeOptions(codec="dictionary")),
        ("2.2", LEAF, EncodeOptions(codec="rle")),
        ("2.2", LEAF, EncodeOptions(layout="full_zip")),
        ("2.2", LEAF, EncodeOptions(preferred_layout="full_zip")),
    ],
)
def test_others_are_written_in_python(version: str, leaf: LeafType, options: EncodeOptions) -> None:
    assert native_encoders(encoder_of(default_runtime(), version), leaf, options) is None


def test_a_codec_in_python_is_asked_for_each_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = runtime_with(tmp_path, monkeypatch, "acme_python_flat", PLUGIN)
    assert native_encoders(encoder_of(runtime), LEAF, EncodeOptions()) is None
    write_table(TABLE, tmp_path / "file.lance", runtime=runtime)
    calls = __import__("acme_python_flat").CALLS
    assert calls.count("encode") == TABLE.num_columns
    assert calls.count("score") >= TABLE.num_columns
    assert read_table(tmp_path / "file.lance").equals(TABLE)


def test_a_codec_with_a_native_side_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = runtime_with(tmp_path, monkeypatch, "acme_native_flat", PLUGIN.replace("# NATIVE", NATIVE))
    write_table(TABLE, tmp_path / "file.lance", runtime=runtime)
    # For chunks of values, and for blocks of levels.
    assert __import__("acme_native_flat").CALLS == ["native", "native"]
    assert read_table(tmp_path / "file.lance").equals(TABLE)


def test_a_codec_of_strings_in_python_is_asked_for_each_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = runtime_with(tmp_path, monkeypatch, "acme_python_strings", STRINGS_PLUGIN)
    assert native_encoders(encoder_of(runtime), LeafType(VariableWidth(32)), EncodeOptions()) is None
    write_table(STRINGS, tmp_path / "file.lance", runtime=runtime)
    assert __import__("acme_python_strings").CALLS.count("encode") == STRINGS.num_columns
    assert read_table(tmp_path / "file.lance").equals(STRINGS)


def test_a_codec_of_strings_with_a_native_side_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = STRINGS_PLUGIN.replace("# NATIVE", NATIVE_STRINGS)
    runtime = runtime_with(tmp_path, monkeypatch, "acme_native_strings", text)
    write_table(STRINGS, tmp_path / "file.lance", runtime=runtime)
    # For chunks of values, for the items of dictionaries, and for such items that are compressed.
    assert __import__("acme_native_strings").CALLS == ["native"] * 3
    assert read_table(tmp_path / "file.lance").equals(STRINGS)


def test_hooks_that_choose_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = runtime_with(tmp_path, monkeypatch, "acme_chooser", CHOOSER)
    assert native_encoders(encoder_of(runtime), LEAF, EncodeOptions()) is None
