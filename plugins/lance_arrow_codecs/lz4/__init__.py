"""LZ4 frames: the uncompressed size as a 32-bit word, then one raw LZ4 block. An empty frame is empty.

Source: BufferCompression.scheme LZ4; spec 5.11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.spi import BindScope, Bytes, EncodingKey, hookimpl
from lance_arrow_codecs import native

_HEADER_BYTES = 4
_LARGEST_RATIO = 255
"""An LZ4 block expands to at most this many bytes per byte."""
_BLOCKS = pa.Codec("lz4_raw")


@dataclass(frozen=True, slots=True)
class Lz4:
    """Binds the scheme; neither readers nor this writer use the level."""

    key = EncodingKey("lance.encodings21.CompressionScheme", "LZ4")

    def bind(self, message: Any, scope: BindScope) -> BoundLz4:
        return BoundLz4()

    def compress(self, data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, NDArray[np.int64]]:
        """Compress each part to a size and a block; there is only one level."""
        frames_found = [b""] * len(sizes)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            if size >= 1 << 32:
                raise UnsupportedError(f"an LZ4 frame of {size:,} bytes, but its size has only 32 bits")
            if size:
                block = _BLOCKS.compress(data[start : start + size], asbytes=True)
                frames_found[frame] = size.to_bytes(_HEADER_BYTES, "little") + block
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum([len(frame) for frame in frames_found], out=offsets[1:])
        return np.frombuffer(b"".join(frames_found), np.uint8), offsets

    def native_frames(self, level: int | None) -> object:
        """Return the C side of `compress`."""
        return native.lz4_encoder()


@dataclass(frozen=True, slots=True)
class BoundLz4:
    """Decompresses frames whose declared size is possible for their block."""

    def native(self) -> object:
        return native.lz4_frames()

    def native_prefixes(self) -> object:
        return native.lz4_frame_prefixes()

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Return declared sizes, after a check that a block of that many bytes can expand to them."""
        present = np.flatnonzero(sizes)
        starts, sizes, found = starts[present], sizes[present], np.zeros(len(sizes), np.int64)
        wrong = (sizes < _HEADER_BYTES) | (starts < 0) | (starts > len(data) - sizes)
        if wrong.any():
            frame = int(present[np.argmax(wrong)])
            raise CorruptPageError("an LZ4 frame is shorter than its header or exceeds its page", detail=frame)
        declared = np.empty(len(present), np.uint32)
        kernels.copy_values(data, starts, _HEADER_BYTES, declared.view(np.uint8))
        wrong = declared > (sizes - _HEADER_BYTES) * _LARGEST_RATIO
        if wrong.any():
            frame = int(present[np.argmax(wrong)])
            raise CorruptPageError("the declared size of an LZ4 frame differs from its block", detail=frame)
        found[present] = declared
        return found

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Decode each block into exactly its part of `out`."""
        present = sizes > 0
        if not present.all():
            # Empty frames have no block, and no bytes in `out`.
            wrong = np.flatnonzero(~present & (np.diff(out_starts) != 0))
            if len(wrong):
                raise CorruptPageError("the declared size of an LZ4 frame differs from its block", detail=int(wrong[0]))
            starts, sizes = starts[present], sizes[present]
            out_starts = np.append(out_starts[:-1][present], out_starts[-1])
        native.decode_lz4_blocks(data, starts + _HEADER_BYTES, sizes - _HEADER_BYTES, out, out_starts)


@hookimpl
def lance_provide_buffer_schemes() -> list[Lz4]:
    return [Lz4()]
