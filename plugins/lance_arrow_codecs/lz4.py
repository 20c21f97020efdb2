"""LZ4 frames: the uncompressed size as a 32-bit word, then one raw LZ4 block. An empty frame is empty.

Source: BufferCompression.scheme LZ4; spec 5.11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError
from lance_arrow.kernels import frames
from lance_arrow.spi import BindScope, Bytes, EncodingKey, hookimpl

_HEADER_BYTES = 4
_BLOCKS = pa.Codec("lz4_raw")


@dataclass(frozen=True, slots=True)
class Lz4:
    """Binds the scheme; the level is of no use to readers."""

    key = EncodingKey("lance.encodings21.CompressionScheme", "LZ4")

    def bind(self, message: Any, scope: BindScope) -> BoundLz4:
        return BoundLz4()


@dataclass(frozen=True, slots=True)
class BoundLz4:
    """Decompresses frames whose declared sizes are proven before anything is allocated."""

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Walk every block: what a frame declares must be what its block yields."""
        present = np.flatnonzero(sizes)
        short = present[sizes[present] < _HEADER_BYTES]
        if short.size:
            raise CorruptPageError("an LZ4 frame is shorter than its header", detail=int(short[0]))
        declared = np.empty(len(present), np.uint32)
        kernels.copy_values(data, starts[present], _HEADER_BYTES, declared.view(np.uint8))
        measured = np.empty(len(present), np.int64)
        frames.measure_lz4_blocks(data, starts[present] + _HEADER_BYTES, sizes[present] - _HEADER_BYTES, measured)
        wrong = present[declared != measured]
        if wrong.size:
            raise CorruptPageError("an LZ4 frame declares another size than its block has", detail=int(wrong[0]))
        plain_sizes = np.zeros(len(sizes), np.int64)
        plain_sizes[present] = measured
        return plain_sizes

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Decode each block into exactly its room: the decoder itself would leave a larger room half filled."""
        if (self.sizes(data, starts, sizes) != np.diff(out_starts)).any():
            raise CorruptPageError("LZ4 frames do not have the sizes expected of them")
        places = zip(starts.tolist(), sizes.tolist(), out_starts.tolist(), out_starts[1:].tolist(), strict=False)
        for frame, (start, size, out_start, out_stop) in enumerate(places):
            if out_start == out_stop:
                continue
            block = data[start + _HEADER_BYTES : start + size]
            try:
                plain = _BLOCKS.decompress(block, decompressed_size=out_stop - out_start)
            except OSError as error:
                raise CorruptPageError("an LZ4 block is malformed", detail=frame) from error
            out[out_start:out_stop] = np.frombuffer(plain, np.uint8)


@hookimpl
def lance_provide_buffer_schemes() -> list[Lz4]:
    return [Lz4()]
