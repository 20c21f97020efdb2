"""Base classes of private codecs: contracts of authors, and bytes that contradict themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError, InvalidArgumentError, PluginContractError
from lance_arrow.runtime import Runtime
from lance_arrow.spi import (
    BlockSlice,
    ChunkBatch,
    ChunkRules,
    CompressionCodec,
    DecodeContext,
    ElementwiseCodec,
    EncodedChunks,
    EncodeOptions,
    FixedWidth,
    FixedWidthCodec,
    LeafType,
    VariableWidth,
    VariableWidthCodec,
)
from lance_arrow.spi.scratch import new_block
from lance_arrow.testing.round_trip import encode_scope

MINI_BLOCK = DecodeContext.MINI_BLOCK
SCOPE = Runtime().binder.scope(LeafType(FixedWidth(32)))


class Plain(FixedWidthCodec):
    id = "tests.plain/1"
    distribution = "tests-plain"
    dtypes = ("int32", "float32", "int64")

    def encode_values(self, values: Any) -> Any:
        return values.tobytes()

    def decode_values(self, data: bytes, num_values: int, dtype: Any) -> Any:
        return np.frombuffer(data, dtype)


class Strings(VariableWidthCodec):
    id = "tests.strings/1"
    distribution = "tests-strings"

    def encode_values(self, offsets: Any, data: bytes) -> Any:
        return offsets.tobytes() + data

    def decode_values(self, data: bytes, num_values: int, num_bytes: int) -> Any:
        offsets = np.frombuffer(data, np.int64, num_values + 1)
        return offsets, data[offsets.nbytes :]


def block_of(values: np.ndarray) -> BlockSlice:
    return BlockSlice(FixedWidth(8 * values.itemsize), len(values), values.view(np.uint8))


def scope_for(shape: Any, **extra: Any) -> Any:
    return encode_scope(LeafType(shape), file_version="2.2", options=EncodeOptions(extra=extra), allow_private=True)


def batch_of(*chunks: tuple[bytes, int]) -> ChunkBatch:
    sizes = np.array([[len(data) for data, _ in chunks]], np.int64)
    data = np.frombuffer(b"".join(data for data, _ in chunks), np.uint8)
    counts = np.cumsum([0, *(count for _, count in chunks)])
    return ChunkBatch(data, np.cumsum(sizes, axis=1) - sizes, sizes, counts)


def read(codec: Any, config: bytes, *chunks: tuple[bytes, int], children: tuple[Any, ...] = ()) -> BlockSlice:
    bound = codec.bind(SimpleNamespace(config=config, children=children), MINI_BLOCK, SCOPE)
    batch = batch_of(*chunks)
    out = new_block(bound.shape, batch.num_values, bound.measure(batch))
    bound.decode(batch, out)
    return out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"id": "nobody", "distribution": "d"}, "is not a key of a private codec"),
        ({"id": "tests.x/1"}, "does not name the distribution"),
        ({"id": "tests.x/1", "distribution": "d", "dtypes": ("complex64",)}, "expected names of integers and floats"),
        ({"id": "tests.x/1", "distribution": "d", "dtypes": ()}, "expected names of integers and floats"),
    ],
)
def test_identity_is_checked_when_the_plugin_is_imported(words: dict[str, Any], expected: str) -> None:
    with pytest.raises(PluginContractError, match=expected):
        type("Wrong", (FixedWidthCodec,), words)


@pytest.mark.parametrize(
    ("made", "error", "expected"),
    [
        (b"", PluginContractError, "'tests-plain' is broken: its decoder returned bytes, expected an array of int32"),
        (np.zeros(2, "<f4"), PluginContractError, "dtype float32, expected an array of int32"),
        (np.zeros(3, "<i4"), CorruptPageError, r"of 'tests-plain' decoded an array of shape \(3,\), expected \(2,\)"),
        (np.zeros((2, 1), "<i4"), CorruptPageError, r"shape \(2, 1\), expected \(2,\)"),
    ],
)
def test_wrong_results_of_a_decoder(
    monkeypatch: pytest.MonkeyPatch, made: Any, error: type[Exception], expected: str
) -> None:
    monkeypatch.setattr(Plain, "decode_values", lambda *_: made)
    with pytest.raises(error, match=expected):
        read(Plain(), b"<i4", (bytes(8), 2))


def test_only_listed_exceptions_are_about_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise KeyError("a mistake of the author")

    monkeypatch.setattr(Plain, "decode_values", fail)
    with pytest.raises(KeyError):
        read(Plain(), b"<i4", (bytes(8), 2))
    monkeypatch.setattr(Plain, "decode_errors", (KeyError,))
    with pytest.raises(CorruptPageError, match="cannot decode its bytes") as caught:
        read(Plain(), b"<i4", (bytes(8), 2), (bytes(4), 1))
    assert caught.value.detail == 0
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("config", [b"", b"<i", b"<u4", b"<i4more"])
def test_descriptions_are_checked(config: bytes) -> None:
    with pytest.raises(CorruptFileError):
        read(Plain(), config, (bytes(8), 2))


def test_children_are_checked() -> None:
    with pytest.raises(CorruptFileError, match="1 children"):
        read(Plain(), b"<i4", (bytes(8), 2), children=(None,))


def test_encoders_return_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "encode_values", lambda _, values: values)
    block = block_of(np.arange(10, dtype="<i4"))
    with pytest.raises(PluginContractError, match="its encoder returned ndarray, expected bytes"):
        Plain().encode(block, MINI_BLOCK, scope_for(block.shape))


@pytest.mark.parametrize(("option", "name"), [(None, "<i4"), ("float32", "<f4"), ("int32", "<i4")])
def test_the_option_names_the_dtype(option: str | None, name: str) -> None:
    block = block_of(np.arange(10, dtype="<i4"))
    extra = {} if option is None else {"dtype": option}
    encoded = Plain().encode(block, MINI_BLOCK, scope_for(block.shape, **extra))
    assert encoded.description.private_codec.config == name.encode()


@pytest.mark.parametrize("extra", [{"dtype": "int64"}, {"dtype": "int9"}, {"nothing": 1}])
def test_wrong_options_are_refused(extra: dict[str, Any]) -> None:
    block = block_of(np.arange(10, dtype="<i4"))
    with pytest.raises(InvalidArgumentError, match=r"expected one of int32, float32|no option 'nothing'"):
        Plain().encode(block, MINI_BLOCK, scope_for(block.shape, **extra))


def test_values_of_another_width_are_left_to_others() -> None:
    block = block_of(np.arange(10, dtype="<i2"))
    encoded = Plain().encode(block, MINI_BLOCK, scope_for(block.shape))
    assert encoded.description.WhichOneof("compression") != "private_codec"


def test_chunks_that_become_too_large_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    # 300 values: those from 64 to 127 take 32 times as many bytes as the others.
    def grow(_: Any, values: Any) -> bytes:
        return values.tobytes() + bytes(124 * int(((values >= 64) & (values < 128)).sum()))

    monkeypatch.setattr(Plain, "encode_values", grow)
    block = block_of(np.arange(300, dtype="<i4"))
    scope = scope_for(block.shape).with_rules(ChunkRules(2048, 128, 4096))
    encoded = Plain().encode(block, MINI_BLOCK, scope)
    assert isinstance(encoded, EncodedChunks)
    assert encoded.value_counts.tolist() == [64, 16, 16, 16, 16, 128, 44]
    assert encoded.sizes.max() <= 2048


def test_values_that_do_not_fit_a_chunk_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "encode_values", lambda _, values: bytes(1 << 20))
    block = block_of(np.arange(10, dtype="<i4"))
    encoded = Plain().encode(block, MINI_BLOCK, scope_for(block.shape))
    assert encoded.description.WhichOneof("compression") != "private_codec"


def strings(*items: bytes) -> bytes:
    return (
        sum(map(len, items)).to_bytes(4, "little")
        + np.cumsum([0, *map(len, items)]).astype("<i8").tobytes()
        + b"".join(items)
    )


def test_strings_of_several_chunks() -> None:
    out = read(Strings(), b"\x20", (strings(b"one", b""), 2), (strings(b"three"), 1))
    assert out.values.tobytes() == b"onethree"
    assert out.offsets.view("<i4").tolist() == [0, 3, 3, 8]
    assert out.shape == VariableWidth(32)


@pytest.mark.parametrize(
    ("chunk", "count"),
    [
        (strings(b"one", b"two"), 1),
        (strings(b"one"), 2),
        (strings(b"one")[:-1], 1),
        (strings(b"one") + b"x", 1),
        (b"\x03\0", 1),
        (b"", 1),
        ((3).to_bytes(4, "little") + np.array([0, 4, 3], "<i8").tobytes() + b"one", 2),
        ((3).to_bytes(4, "little") + np.array([1, 3], "<i8").tobytes() + b"one", 1),
    ],
)
def test_strings_that_contradict_themselves(chunk: bytes, count: int) -> None:
    with pytest.raises(CorruptPageError):
        read(Strings(), b"\x20", (chunk, count))


def test_sizes_of_strings_are_checked_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Strings, "decode_values", lambda *_: pytest.fail("decoded"))
    with pytest.raises(MemoryError, match="max_chunk_bytes"):
        read(Strings(), b"\x20", (b"\xff\xff\xff\xff" + bytes(16), 1))


def test_offsets_have_32_or_64_bits() -> None:
    with pytest.raises(CorruptFileError, match="offsets of 16 bits"):
        read(Strings(), b"\x10", (strings(b"one"), 1))


def test_a_level_is_checked() -> None:
    codec = type("Squeezed", (CompressionCodec,), {"id": "tests.x/1", "distribution": "d"})()
    block = block_of(np.arange(10, dtype="<i4"))
    with pytest.raises(InvalidArgumentError, match="level is 3, expected none"):
        codec.encode(block, MINI_BLOCK, scope_for(block.shape, level=3))
    type(codec).levels = range(1, 3)
    with pytest.raises(InvalidArgumentError, match="level is 3, expected 1 to 2"):
        codec.encode(block, MINI_BLOCK, scope_for(block.shape, level=3))


def test_numbers_are_as_many_and_as_wide_as_the_values() -> None:
    words = {"id": "tests.x/1", "distribution": "d", "dtypes": ("int32",), "map_values": lambda _, values: values[1:]}
    codec = type("Short", (ElementwiseCodec,), words)()
    block = block_of(np.arange(10, dtype="<i4"))
    with pytest.raises(PluginContractError, match=r"`map_values` returned array.*expected an array of \(10,\)"):
        codec.encode(block, MINI_BLOCK, scope_for(block.shape))
