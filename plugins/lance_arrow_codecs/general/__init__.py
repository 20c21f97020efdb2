"""General compression around another codec: of a chunk's first buffer, of a block, or of each zipped value.

Source: CompressiveEncoding.General; spec 5.11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import BufferCompression, CompressionScheme, CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import General as GeneralMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundCodec,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    VariableWidth,
    hookimpl,
)
from lance_arrow_codecs import native

Positions = NDArray[np.int64]
_LEAST_BYTES = 4 << 10
_LEAST_ZIPPED_BYTES = 32 << 10
_LARGE_VALUE_BYTES = 32 << 10
"""Minimum sizes of buffers; values larger than the last are compressed automatically. Source: spec 10."""
_COMPACT_VALUE_BYTES = 128
"""With `compact`, zipped values of at least this mean size are compressed, one by one."""
_COMPACT_LEVEL = 8
_SAMPLED_LEVEL = 6
"""Higher levels shrink all children alike, and take longer: samples are compressed with this one."""
_LEAST_BLOCK_BYTES = 256
_NUM_SAMPLES = 4
_SAMPLED_BYTES = 32 << 10
"""Bytes of each sample, before compression."""
_GROUP_VALUES = 1024
"""Samples of fixed-width values are whole groups of this size."""
_WORTHWHILE = 0.97
"""Largest ratio of compressed to plain bytes of a sample."""
_UNASKED_PART = 0.6
_SAMPLED_PART = 1.05 * _UNASKED_PART
"""Samples whose streams LZ4 cannot bring below this part are not compressed: `native.lz4_stream_bytes` counts them."""
_UNASKED_SAMPLED_BYTES = 8 << 10
_LEAST_PLAIN_PART = 1 / 32
"""By default, integers and floats whose byte streams have low entropy are also compressed: sequences, times, steps. The
result must be smaller than this part of the best plain codec's. Smaller samples decide, and values that plain codecs
store in few bytes are left to them."""
_PACKED_BITS = (1, 8, 16, 32, 64)
"""Other widths have no codec that makes them smaller. By default they are compressed as they are: the upper halves of
decimals repeat."""
_WIDE_CHUNK_BYTES = 2048
"""Plain bytes of such chunks. Twice as many are 5 % smaller, and take twice the time of a row."""
_SPLIT = EncodingKey(COMPRESSIVE, "byte_stream_split")
_FLAT = EncodingKey(COMPRESSIVE, "flat")
_VARIABLE = EncodingKey(COMPRESSIVE, "variable")
"""The only child of zipped values: the reference decompresses them, and ignores the codec named as child."""
_ALONE = frozenset((_VARIABLE, _FLAT))
"""Codecs without children, whose results do not depend on the excluded codecs."""


@dataclass(frozen=True, slots=True)
class General:
    """Binds ``general`` around any child; writes it if the options require compression, or with `compact`."""

    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.2", DecodeContext.PER_VALUE: "2.1"}
    )
    writes = since

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Bind the scheme and the child; compressed zipped values always have variable width."""
        return spi.compression.bind_compressed(
            spi.compression.Frames.bind(message.compression, context, scope), message.values, context, scope
        )

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Estimate from compressed samples of the children's output; None if it is not requested or saves little."""
        wanted = _wanted(block, context, scope)
        if wanted is None:
            return None
        if wanted.is_unasked:
            measure = _bytes_of_wide if _is_wide(block.shape) else _bytes_of_streams
            return measure(block, context, wanted, scope)
        if spi.compression.with_room(scope).estimate_child(block, context, without=frozenset({self.key})) is None:
            # Samples may miss a value that is too large for every codec.
            return None
        found = _choice(block, context, wanted, scope).num_bytes
        if found is None and _is_named(scope):
            # A codec named by the caller is used even if it compresses nothing.
            return scope.estimate_child(block, context, without=frozenset({self.key}))
        return found

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return an encoder that fits no small blocks, nor samples that stay large; about others, Python is asked."""
        options = scope.options
        if _is_named(scope) or not isinstance(shape, FixedWidth | VariableWidth):
            return None
        if context is DecodeContext.BLOCK:
            return _native_blocks(shape, scope)
        if options.compression in ("lz4", "zstd") or (options.compression is None and _is_compact(scope)):
            return native_codecs.asked_encoder(_LEAST_BYTES, 0)
        splits = isinstance(shape, FixedWidth) and shape.bits in (32, 64) and options.bss != "off"
        if options.compression is None and options.preset == "default" and _is_wide(shape):
            return _native_wide(shape, scope)
        if options.compression is not None or options.preset != "default" or not splits:
            return native_codecs.unfit_encoder()
        return native.streams_asked_encoder(_LEAST_BYTES, _SAMPLED_PART)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
        """Compress the output of the best child; if that saves nothing, return the child's result."""
        wanted = _wanted(block, context, scope) or _requested(context, scope.options)
        is_zipped = context is DecodeContext.PER_VALUE
        key, answers = _VARIABLE, None
        if wanted.is_unasked:
            key = None if _is_wide(block.shape) else _SPLIT
        if not is_zipped and not wanted.is_unasked:
            choice = _choice(block, context, wanted, scope)
            key, answers = choice.key, choice.answers
        if answers is None:
            # Streams of times and steps are smooth, but zeros for nulls would not be.
            values = scope.summary(block).forward_filled if key == _SPLIT else block
            inner = _in_small_chunks(scope) if wanted.is_unasked and key is None else spi.compression.with_room(scope)
            plain = _child(key, values, context, inner)
            answers = plain, _compressed(plain, wanted, scope)
        child, answer = answers
        # A codec named by the caller is used, even if another codec alone is smaller.
        most = scope.summary(block).raw_bytes if _is_named(scope) else child.nbytes
        if answer.nbytes < most:
            return answer
        if key is not None and key != _SPLIT:
            return child
        # Byte streams without compression are of no use.
        return scope.encode_child(block, context, without=frozenset({_SPLIT}))


class _Wanted(NamedTuple):
    """Compression to use."""

    scheme: str
    level: int | None
    is_unasked: bool = False

    @property
    def compression(self) -> BufferCompression:
        return BufferCompression(scheme=CompressionScheme.Value(self.scheme), level=self.level)

    def message(self, child: Any) -> CompressiveEncoding:
        return CompressiveEncoding(general=GeneralMessage(compression=self.compression, values=child))


_UNASKED = _Wanted("LZ4", None, True)


def _is_named(scope: EncodeScope) -> bool:
    return scope.options.codec == General.key.case


def _is_wide(shape: spi.BlockShape) -> bool:
    return isinstance(shape, FixedWidth) and shape.bits not in _PACKED_BITS


def _in_small_chunks(scope: EncodeScope) -> EncodeScope:
    """Return a scope for chunks of wide values: half of one is decompressed for a row, which plain ones are not."""
    rules = spi.compression.with_room(scope).chunk_rules
    most = min(rules.max_bytes, _WIDE_CHUNK_BYTES)
    return scope.with_rules(replace(rules, max_bytes=most, target_bytes=min(rules.target_bytes, most)))


def _native_blocks(shape: FixedWidth | VariableWidth, scope: EncodeScope) -> object | None:
    options = scope.options
    if options.compression not in ("lz4", "zstd") and (options.compression is not None or not _is_compact(scope)):
        return native_codecs.unfit_blocks_encoder()
    wanted = _requested(DecodeContext.BLOCK, options)
    frames = _native_frames(wanted, scope) if isinstance(shape, VariableWidth) else None
    if frames is None:
        return native_codecs.asked_blocks_encoder(_LEAST_BLOCK_BYTES)
    children = scope.native_encoders(shape, DecodeContext.BLOCK, without=frozenset({General.key}))
    if children is None:
        return None
    return native_codecs.compressed_blocks_encoder(
        frames,
        children,
        wanted.compression.SerializeToString(),
        least_bytes=_LEAST_BLOCK_BYTES,
        sampled_bytes=_SAMPLED_BYTES,
        num_samples=_NUM_SAMPLES,
        worthwhile=_WORTHWHILE,
    )


def _native_wide(shape: FixedWidth, scope: EncodeScope) -> object | None:
    frames = _native_frames(_UNASKED, scope)
    if frames is None:
        return native_codecs.asked_encoder(_LEAST_BYTES, 0)
    children = scope.native_encoders(shape, DecodeContext.MINI_BLOCK, without=frozenset({General.key}))
    if children is None:
        return None
    return native_codecs.compressed_chunks_encoder(
        frames,
        children,
        _UNASKED.compression.SerializeToString(),
        least_bytes=_LEAST_BYTES,
        sampled_bytes=_UNASKED_SAMPLED_BYTES,
        num_samples=_NUM_SAMPLES,
        most_part=_UNASKED_PART,
        chunk_bytes=_WIDE_CHUNK_BYTES,
    )


def _native_frames(wanted: _Wanted, scope: EncodeScope) -> object | None:
    try:
        scheme = scope.scheme(wanted.scheme)
    except UnsupportedError:
        # Only pages that are compressed need it.
        return None
    offer = getattr(scheme, "native_frames", None)
    return None if offer is None else offer(wanted.level)


def _is_compact(scope: EncodeScope) -> bool:
    return scope.options.preset == "compact"


def _wanted(block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> _Wanted | None:
    """Return the compression for the block; None if it is not requested, or if there are too few bytes."""
    options, summary = scope.options, scope.summary(block)
    # Fixed-width values are located by their number; compressed one by one, they would need an index.
    if context is DecodeContext.PER_VALUE and not isinstance(block.shape, VariableWidth):
        return None
    if _is_named(scope):
        return _requested(context, options)
    is_asked = options.compression in ("lz4", "zstd")
    if not is_asked and options.compression is not None:
        return None
    num_bytes = summary.raw_bytes
    if context is DecodeContext.PER_VALUE:
        is_asked = is_asked and num_bytes >= _LEAST_ZIPPED_BYTES
        if options.preset == "compact":
            is_asked |= num_bytes >= _COMPACT_VALUE_BYTES * block.num_values
        elif options.preset == "default":
            is_asked |= summary.max_value_bytes > _LARGE_VALUE_BYTES
    elif options.preset == "compact":
        is_asked = True
    elif options.preset == "default" and not is_asked and context is DecodeContext.MINI_BLOCK:
        return _UNASKED if num_bytes >= _LEAST_BYTES else None
    least = _LEAST_BLOCK_BYTES if context is DecodeContext.BLOCK else _LEAST_BYTES
    return _requested(context, options) if is_asked and num_bytes >= least else None


def _requested(context: DecodeContext, options: spi.EncodeOptions) -> _Wanted:
    is_compact = options.preset == "compact"
    # LZ4 is never written for zipped values: readers of the reference know only ZSTD there. Source: spec 10.
    is_small = is_compact or options.codec == "general"
    usual = "zstd" if is_small or context is DecodeContext.PER_VALUE else "lz4"
    scheme = options.compression if options.compression in ("lz4", "zstd") else usual
    if context is DecodeContext.PER_VALUE or scheme == "zstd":
        level = options.compression_level
        return _Wanted("ZSTD", _COMPACT_LEVEL if level is None and is_compact else level)
    return _Wanted("LZ4", None)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Result of the samples of a block.

    Parameters
    ----------
    key
        Child with the best compression; None: any child.
    num_bytes
        Estimated bytes; None if compression saves nothing.
    answers
        Plain and compressed output of the child, if the sample was the whole block.
    """

    key: EncodingKey | None = None
    num_bytes: float | None = None
    answers: tuple[spi.Encoded, spi.Encoded] | None = None


def _choice(block: BlockSlice, context: DecodeContext, wanted: _Wanted, scope: EncodeScope) -> _Choice:
    """Return the child with the best compression."""
    of = ("general", context, wanted, scope.chunk_rules, _is_named(scope))
    return scope.summary(block).remember(
        of, lambda: _try_children(block, context, wanted, spi.compression.with_room(scope))
    )


def _bytes_of_streams(block: BlockSlice, context: DecodeContext, wanted: _Wanted, scope: EncodeScope) -> float | None:
    """Return the compressed bytes of the block's byte streams; None if they are not far below the alternatives."""
    is_split = isinstance(block.shape, FixedWidth) and block.shape.bits in (32, 64) and scope.options.bss != "off"
    if not is_split or min(block.num_values, scope.chunk_rules.max_values) < _GROUP_VALUES:
        return None

    def find_out() -> float | None:
        raw_bytes = scope.summary(block).raw_bytes
        plain = scope.estimate_child(block, context, without=frozenset({General.key, _SPLIT}))
        if plain is None or plain < _LEAST_PLAIN_PART * raw_bytes:
            return None
        samples = [scope.summary(one).forward_filled for one in _samples(block, context, _UNASKED_SAMPLED_BYTES)]
        width, sampled_bytes = block.shape.num_bytes(1), sum(len(one.values) for one in samples)
        counted = sum(native.lz4_stream_bytes(np.ascontiguousarray(one.values), width) for one in samples)
        if counted / sampled_bytes * raw_bytes >= _SAMPLED_PART * plain:
            return None
        inner = spi.compression.with_room(scope)
        split = [inner.encode_with(_SPLIT, one, context) for one in samples]
        part = sum(_compressed(one, wanted, scope).nbytes for one in split) / sum(one.nbytes for one in split)
        return part * raw_bytes if part * raw_bytes < _UNASKED_PART * plain else None

    return scope.summary(block).remember(("general streams", scope.chunk_rules), find_out)


def _bytes_of_wide(block: BlockSlice, context: DecodeContext, wanted: _Wanted, scope: EncodeScope) -> float | None:
    """Return the compressed bytes of values that no codec packs; None if they are not far below the alternatives."""
    summary, inner, without = scope.summary(block), _in_small_chunks(scope), frozenset({General.key})
    plain = scope.estimate_child(block, context, without=without)
    if plain is None or inner.estimate_child(block, context, without=without) is None:
        return None

    def part() -> float:
        parts = _samples(block, context, _UNASKED_SAMPLED_BYTES)
        samples = [inner.encode_child(one, context, without=without) for one in parts]
        return sum(_compressed(one, wanted, scope).nbytes for one in samples) / sum(one.nbytes for one in samples)

    # Rules that differ elsewhere give the same chunks.
    num_bytes = summary.remember(("general wide", inner.chunk_rules.max_bytes), part) * summary.raw_bytes
    return num_bytes if num_bytes < _UNASKED_PART * plain else None


def _try_children(block: BlockSlice, context: DecodeContext, wanted: _Wanted, scope: EncodeScope) -> _Choice:
    samples = _samples(block, context)
    if samples[0] is not block and wanted.level is not None:
        wanted = wanted._replace(level=min(wanted.level, _SAMPLED_LEVEL))
    plain_bytes = sum(scope.summary(sample).raw_bytes for sample in samples)
    if not plain_bytes:
        return _Choice()
    sizes: dict[EncodingKey | None, int] = {}
    answers = {}
    for key in (_VARIABLE,) if context is DecodeContext.PER_VALUE else _children(samples[0], context, scope):
        try:
            encoded = [scope.encode_with(key, sample, context) for sample in samples]
        except UnsupportedError:
            # It could only encode the first sample.
            continue
        compressed = [_compressed(one, wanted, scope) for one in encoded]
        if samples[0] is block and key in _ALONE:
            answers[key] = encoded[0], compressed[0]
        framed = [one.nbytes for one in compressed]
        sizes[key] = sum(framed) if _is_named(scope) else sum(map(min, framed, (one.nbytes for one in encoded)))
    if not sizes:
        return _Choice()
    best = min(sizes, key=lambda key: (sizes[key], str(key)))
    part = sizes[best] / plain_bytes
    num_bytes = part * scope.summary(block).raw_bytes if part < _WORTHWHILE else None
    return _Choice(best, num_bytes, answers.get(best))


def _children(sample: BlockSlice, context: DecodeContext, scope: EncodeScope) -> list[EncodingKey]:
    """Return codecs for the block: the best one, the best without that one, and so on."""
    found: list[EncodingKey] = []
    without = frozenset({General.key})
    while True:
        cost = scope.estimate_child(sample, context, without=without)
        if cost is None or math.isinf(cost):
            break
        try:
            description = scope.encode_child(sample, context, without=without).description
        except UnsupportedError:
            # The codecs of its parts are excluded now.
            break
        key = EncodingKey(COMPRESSIVE, description.WhichOneof("compression"))
        if key in without:
            # The codec returned the result of another one.
            break
        found.append(key)
        without |= {key}
    return found


def _child(key: EncodingKey | None, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
    """Encode the block with the best codec of the samples, or with the best one that can hold all of it."""
    if key is not None:
        try:
            return scope.encode_with(key, block, context)
        except UnsupportedError:
            # Some value differs from those of the samples.
            pass
    return scope.encode_child(block, context)


def _samples(block: BlockSlice, context: DecodeContext, sampled_bytes: int = _SAMPLED_BYTES) -> list[BlockSlice]:
    """Return values from a few positions, in whole groups."""
    average = max(_raw_bytes(block) // max(block.num_values, 1), 1)
    group = 1 if isinstance(block.shape, VariableWidth) else _GROUP_VALUES
    count = max(-(-sampled_bytes // average // group) * group, group)
    if block.num_values <= count * _NUM_SAMPLES:
        return [block]
    firsts = [number * (block.num_values // _NUM_SAMPLES) // group * group for number in range(_NUM_SAMPLES)]
    return [_part(block, first, first + count) for first in firsts]


def _raw_bytes(block: BlockSlice) -> int:
    return len(block.values) + sum(map(_raw_bytes, block.fields))


def _part(block: BlockSlice, start: int, stop: int) -> BlockSlice:
    if not isinstance(block.shape, VariableWidth):
        return block.part(start, stop)
    offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}")
    own = offsets[start : stop + 1]
    values = block.values[int(own[0] - offsets[0]) : int(own[-1] - offsets[0])]
    present = None if block.present is None else block.present.part(start, stop)
    return BlockSlice(block.shape, stop - start, values, offsets=own.view(np.uint8), present=present)


def _compressed(child: spi.Encoded, wanted: _Wanted, scope: EncodeScope) -> spi.Encoded:
    return spi.compression.compressed(
        child, scope.scheme(wanted.scheme).compress, wanted.level, wanted.message(child.description)
    )


@hookimpl
def lance_provide_codecs() -> list[General]:
    return [General()]
