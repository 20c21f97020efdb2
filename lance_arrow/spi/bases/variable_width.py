"""`VariableWidthCodec`: base class of a codec that turns byte strings into bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.settings import Limits
from lance_arrow.spi.bases.authored import AuthoredCodec, encoded_chunks, parts_of, require_children
from lance_arrow.spi.blocks import BlockSlice, Bytes, VariableWidth
from lance_arrow.spi.chunk_cuts import starts_of
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.encoding import Encoded, EncodedBlock, EncodedValues
from lance_arrow.spi.frames import LARGEST_CONTENT
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.private import private_description
from lance_arrow.spi.scopes import BindScope, EncodeScope

_OFFSET_BITS = (32, 64)
Offsets = NDArray[np.int64]


class VariableWidthCodec(AuthoredCodec):
    """Inherit, set ``id`` and ``distribution``, and write two methods: strings to bytes and back.

    The size of the content precedes the bytes of each chunk, dictionary or single large value, so that limits are
    checked before anything is decoded. Strings that do not fit the chunks of a page are written by other codecs.
    """

    kinds: ClassVar[tuple[type, ...]] = (VariableWidth,)

    def encode_values(self, offsets: Offsets, data: bytes) -> bytes:
        """Encode the strings ``data[offsets[i] : offsets[i + 1]]``.

        `offsets` is ``(n + 1,) int64`` from 0 to ``len(data)``, with n > 0. A null is an empty string.
        """
        raise NotImplementedError

    def decode_values(self, data: bytes, num_values: int, num_bytes: int) -> tuple[Offsets, bytes]:
        """Return what `encode_values` got: ``(num_values + 1,) int64`` offsets, and `num_bytes` bytes.

        `data` may be damaged: raise one of ``decode_errors`` or `CorruptPageError`, or return other strings.
        """
        raise NotImplementedError

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundStrings | BoundSingleStrings:
        """Check the width of offsets and the parameters."""
        require_children(message, 0, self.id)
        bits = message.config[0] if message.config else 0
        if bits not in _OFFSET_BITS:
            raise CorruptFileError(f"the codec {self.id!r} with offsets of {bits} bits, expected 32 or 64")
        parts = Strings(self.for_config(message.config[1:]), bits // 8, scope.limits, context)
        kind = BoundSingleStrings if context is DecodeContext.PER_VALUE else BoundStrings
        return kind(VariableWidth(bits), parts)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Encode by chunks that obey the rules, or by other codecs."""
        codec, shape = self.for_options(scope.options.extra), block.shape
        if not isinstance(shape, VariableWidth):
            return self._by_others(block, context, scope)
        width, num_values = shape.offset_bits // 8, block.num_values
        description = private_description(self.key, self.distribution, bytes([shape.offset_bits]) + codec.config())
        ends = block.offsets.view(f"<i{width}").astype(np.int64)
        ends -= ends[:1]

        def encode(start: int, stop: int) -> bytes:
            content = block.values[ends[start] : ends[stop]].tobytes()
            if context is DecodeContext.PER_VALUE and not content:
                return b""
            made = codec._encoded(codec.encode_values(ends[start : stop + 1] - ends[start], content))
            return len(content).to_bytes(width, "little") + made

        if context is DecodeContext.BLOCK:
            return EncodedBlock(description, np.frombuffer(encode(0, num_values) if num_values else b"", np.uint8))
        if context is DecodeContext.PER_VALUE:
            values = [encode(one, one + 1) for one in range(num_values)]
            offsets = starts_of(np.array([len(one) for one in values], np.int64))
            joined = np.frombuffer(b"".join(values), np.uint8)
            return EncodedValues(description, joined, offsets=offsets, length_bits=shape.offset_bits)
        rules = scope.chunk_rules
        most_values = rules.target_bytes * num_values // max(scope.summary(block).raw_bytes, 1)
        chunks = encoded_chunks(description, num_values, most_values, rules, encode)
        return self._by_others(block, context, scope) if chunks is None else chunks


@dataclass(frozen=True, slots=True)
class Strings:
    """Encoded parts of a codec: reads the sizes of their content, and decodes them."""

    codec: Any
    width: int
    limits: Limits
    context: DecodeContext

    def sizes(self, data: Bytes, starts: Offsets, sizes: Offsets) -> Offsets:
        """Return the declared bytes of each content, ``(n,) int64``, within the limits."""
        found = np.zeros(len(sizes), np.int64)
        for number, part in enumerate(parts_of(data, starts, sizes)):
            if not part:
                continue
            declared = int.from_bytes(part[: self.width], "little")
            if len(part) < self.width:
                raise CorruptPageError("encoded strings are shorter than their header", detail=number)
            found[number] = self.limits.check(LARGEST_CONTENT[self.context], declared)
        self.limits.check("max_batch_bytes", int(found.sum()))
        return found

    def decode(self, part: bytes, num_values: int, number: int) -> tuple[Offsets, Bytes]:
        """Return the offsets and bytes of one part, after a check of the author's result."""
        declared = int.from_bytes(part[: self.width], "little")
        with self.codec._decoding(number):
            made = self.codec.decode_values(part[self.width :], num_values, declared)
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[0], np.ndarray):
            raise self.codec._broken(f"its decoder returned {type(made).__name__}, expected offsets and bytes")
        offsets, content = made[0], self.codec._encoded(made[1])
        if offsets.dtype.kind not in "iu":
            raise self.codec._broken(f"its decoder returned offsets of {offsets.dtype}, expected int64")
        if (
            offsets.shape != (num_values + 1,)
            or len(content) != declared
            or (offsets[0], offsets[-1]) != (0, declared)
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise CorruptPageError(
                f"the codec {self.codec.id!r} of {self.codec.distribution!r} decoded {len(offsets) - 1} strings of "
                f"{len(content)} bytes, or offsets that do not ascend; expected {num_values} of {declared} bytes",
                detail=number,
            )
        return offsets.astype(np.int64), np.frombuffer(content, np.uint8)

    def fill(self, data: Bytes, starts: Offsets, sizes: Offsets, value_starts: list[int], out: BlockSlice) -> None:
        """Decode all parts into `out`."""
        shape = out.shape
        assert isinstance(shape, VariableWidth)
        ends = out.offsets.view(f"<i{shape.offset_bits // 8}")
        base, position = int(ends[0]), 0
        for number, (part, (start, stop)) in enumerate(
            zip(parts_of(data, starts, sizes), pairwise(value_starts), strict=True)
        ):
            if not part or start == stop:
                # Only a zipped value, whose size is stored elsewhere, may have no bytes at all.
                if part or (start < stop and self.context is not DecodeContext.PER_VALUE):
                    raise CorruptPageError("encoded strings contradict their number", detail=number)
                ends[start + 1 : stop + 1] = base + position
                continue
            offsets, content = self.decode(part, stop - start, number)
            if position + len(content) > len(out.values):
                raise CorruptPageError("encoded strings exceed their measured bytes", detail=number)
            ends[start + 1 : stop + 1] = offsets[1:] + (base + position)
            out.values[position : position + len(content)] = content
            position += len(content)
        if position != len(out.values):
            raise CorruptPageError(f"{position} bytes of strings, expected {len(out.values)}")


@dataclass(frozen=True, slots=True)
class BoundStrings:
    """Decodes chunks and blocks."""

    shape: VariableWidth
    strings: Strings
    num_buffers: int = 1

    def measure(self, chunks: ChunkBatch) -> int:
        return int(self.strings.sizes(chunks.data, chunks.starts[0], chunks.sizes[0]).sum())

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = chunks.data, chunks.starts[0], chunks.sizes[0]
        self.strings.fill(*places, chunks.value_starts.tolist(), out)


@dataclass(frozen=True, slots=True)
class BoundSingleStrings:
    """Decodes zipped values, each alone."""

    shape: VariableWidth
    strings: Strings
    value_bits: None = None

    def measure(self, values: ValueBatch) -> int:
        return int(self.strings.sizes(values.data, values.starts, values.sizes).sum())

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        self.strings.fill(values.data, values.starts, values.sizes, list(range(values.num_values + 1)), out)
