"""A compression of a third party: Brotli around whatever codec suits the values.

    frame   u64 bytes of the content, u32 CRC-32 of it, the content as one Brotli stream; no content has no frame

The checksum is there because pyarrow does not say how much a stream held: a damaged one may end early.

The format's buffer schemes are LZ4 and ZSTD and cannot be more. A third compression is a private codec. It is written
where a column names it, by ``column_options={"s": {"codec": "example.brotli/1", "quality": 9}}``, and the caller passes
``allow_private_encodings=True``.
"""

from __future__ import annotations

import struct
import zlib
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError, InvalidArgumentError
from lance_arrow.spi import (
    COMPRESSIVE,
    PRIVATE_CODEC,
    BindScope,
    BlockSlice,
    BoundCodec,
    Bytes,
    DecodeContext,
    Encoded,
    EncodeScope,
    EncodingKey,
    Frames,
    bind_compressed,
    compressed,
    hookimpl,
    private_description,
    with_room,
)

HEADER = struct.Struct("<QI")


class BrotliFrames:
    """What a buffer scheme is when it is bound: knows the sizes of frames, and opens them."""

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> NDArray[np.int64]:
        found = np.zeros(len(sizes), np.int64)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            if size == 0:
                continue
            if size <= HEADER.size or not 0 <= start <= len(data) - size:
                raise CorruptPageError("a Brotli frame is shorter than its header or leaves its page", detail=frame)
            declared, _ = HEADER.unpack_from(data, start)
            if declared >= 1 << 63:
                raise CorruptPageError("a Brotli frame declares an impossible size", detail=frame)
            found[frame] = declared
        return found

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        codec = pa.Codec("brotli")
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            place = slice(int(out_starts[frame]), int(out_starts[frame + 1]))
            if size == 0:
                continue
            declared, checksum = HEADER.unpack_from(data, start)
            stream = data[start + HEADER.size : start + size].tobytes()
            try:
                content = codec.decompress(stream, decompressed_size=declared, asbytes=True)
            except (pa.ArrowException, OSError) as error:
                raise CorruptPageError(f"a Brotli frame cannot be opened: {error}", detail=frame) from error
            if len(content) != place.stop - place.start or zlib.crc32(content) != checksum:
                raise CorruptPageError("a Brotli frame does not hold what it declares", detail=frame)
            out[place] = np.frombuffer(content, np.uint8)


def compress(data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, NDArray[np.int64]]:
    """Compress each part to a frame."""
    codec = pa.Codec("brotli", level)
    frames = [b""] * len(sizes)
    for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if size:
            content = data[start : start + size].tobytes()
            frames[frame] = HEADER.pack(size, zlib.crc32(content)) + codec.compress(content, asbytes=True)
    offsets = np.append(0, np.cumsum([len(frame) for frame in frames])).astype(np.int64)
    return np.frombuffer(b"".join(frames), np.uint8), offsets


class Brotli:
    """The factory; chunks, blocks and zipped values are the business of ``lance_arrow.spi``."""

    key = EncodingKey(PRIVATE_CODEC, "example.brotli/1")
    contexts = frozenset(DecodeContext)
    writes = MappingProxyType(dict.fromkeys(DecodeContext, "2.1"))
    not_below = frozenset({key, EncodingKey(COMPRESSIVE, "general")})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        if message.config or len(message.children) != 1:
            raise CorruptFileError(f"Brotli around {len(message.children)} codecs, expected one")
        return bind_compressed(Frames.of(BrotliFrames(), context, scope), message.children[0], context, scope)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        return with_room(scope).estimate_child(block, context, without=self.not_below)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        child = with_room(scope).encode_child(block, context, without=self.not_below)
        if context is DecodeContext.PER_VALUE and getattr(child, "offsets", None) is None:
            # Values of one width are found by counting, which frames are not.
            return child
        description = private_description(self.key, "lance-brotli", children=[child.description])
        answer = compressed(child, compress, _quality(scope), description)
        return answer if answer.nbytes < child.nbytes else child


def _quality(scope: EncodeScope) -> int | None:
    quality = scope.options.extra.get("quality")
    if quality is not None and quality not in range(12):
        raise InvalidArgumentError(f"quality is {quality!r}, expected 0 to 11", detail=quality)
    return quality


@hookimpl
def lance_provide_codecs() -> list[Brotli]:
    return [Brotli()]
