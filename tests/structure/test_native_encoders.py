"""Who may be written natively: where every encoder has a native side, of this package or of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import read_table, write_table
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import COMPRESSIVE, EncodeOptions, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.loading import entry_points, load_plugins
from lance_arrow.structure.native_encoders import native_encoders
from lance_arrow.structure.page_encoder import PageEncoder

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
CHOOSER = """
from lance_arrow.spi import hookimpl


@hookimpl
def lance_choose_codec(block, context, scope):
    return None
"""
LEAF = LeafType(FixedWidth(64))
TABLE = pa.table({f"c{number}": np.random.default_rng(number).normal(size=300) for number in range(20)})


def runtime_with(folder: Path, patch: pytest.MonkeyPatch, name: str, text: str) -> Runtime:
    (folder / f"{name}.py").write_text(text)
    patch.syspath_prepend(str(folder))
    plugin = EntryPoint(f"codec.{name}", name, "lance_arrow")
    prefer = {str(EncodingKey(COMPRESSIVE, "flat")): f"codec.{name}"} if "Plain" in text else {}
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


@pytest.mark.parametrize(
    ("version", "leaf", "options"),
    [
        ("2.3", LEAF, EncodeOptions()),
        ("2.2", LeafType(VariableWidth(32)), EncodeOptions()),
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


def test_hooks_that_choose_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = runtime_with(tmp_path, monkeypatch, "acme_chooser", CHOOSER)
    assert native_encoders(encoder_of(runtime), LEAF, EncodeOptions()) is None
