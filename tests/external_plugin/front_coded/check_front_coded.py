"""The conformance suite for this project's codec; run by name where the project is installed."""

from __future__ import annotations

import zlib

from example_front_coded import FrontCoded

from lance_arrow.spi import DecodeContext, VariableWidth, private_description
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


class TestFrontCoded(CodecSuite):
    key = FrontCoded.key
    contexts = frozenset(DecodeContext)
    shapes = (VariableWidth(32), VariableWidth(64))
    chunk_values = 64
    is_private = True

    def encode(self, sample, context):
        width = sample.shape.offset_bits // 8
        description = private_description(self.key, "lance-front-coded", bytes([8 * width]))
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(
            context, self.chunk_values
        )
        parts = sample.chunks(size)
        units = tuple((one_by_one(part.items, width),) for part in parts)
        return EncodedSample(description, units, tuple(part.num_values for part in parts))


def one_by_one(items: list[bytes], width: int) -> bytes:
    """The same bytes by another road: prefixes are tried from the longest on."""
    if not items:
        return b""
    head, rests, before = b"", b"", b""
    for item in items:
        shared = next(size for size in range(len(item), -1, -1) if before.startswith(item[:size]))
        head += shared.to_bytes(4, "little") + (len(item) - shared).to_bytes(4, "little")
        rests += item[shared:]
        before = item
    return sum(map(len, items)).to_bytes(width, "little") + zlib.compress(head + rests)
