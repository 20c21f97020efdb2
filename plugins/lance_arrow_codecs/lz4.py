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
from lance_arrow.kernels import frames
from lance_arrow.spi import BindScope, Bytes, EncodingKey, hookimpl

_HEADER_BYTES = 4
_LARGEST_RATIO = 255
"""An LZ4 block yields at most so many bytes per byte."""
_FEW = 8
"""Up to so many blocks, decoding one after the other is quicker than building a stream of them."""
_BLOCKS = pa.Codec("lz4_raw")
_STREAMS = pa.Codec("lz4")
# Beginnings of LZ4 streams (the LZ4 *frame* format) of independent blocks of at most so many bytes, and their checksum.
_STREAM_MAGIC = b"\x04\x22\x4d\x18"
_STREAM_HEADS = {
    1 << 16: _STREAM_MAGIC + b"\x60\x40\x82",
    1 << 18: _STREAM_MAGIC + b"\x60\x50\xfb",
    1 << 20: _STREAM_MAGIC + b"\x60\x60\x51",
    1 << 22: _STREAM_MAGIC + b"\x60\x70\x73",
}
_STREAM_END = 4


@dataclass(frozen=True, slots=True)
class Lz4:
    """Binds the scheme; the level is of no use to readers, nor to this writer."""

    key = EncodingKey("lance.encodings21.CompressionScheme", "LZ4")

    def bind(self, message: Any, scope: BindScope) -> BoundLz4:
        return BoundLz4()

    def compress(self, data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, NDArray[np.int64]]:
        """Compress each part to a size and a block; there is one level only."""
        frames_found = [b""] * len(sizes)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            if size >= 1 << 32:
                raise UnsupportedError(f"an LZ4 frame of {size:,} bytes; its size has 32 bits")
            if size:
                block = _BLOCKS.compress(data[start : start + size], asbytes=True)
                frames_found[frame] = size.to_bytes(_HEADER_BYTES, "little") + block
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum([len(frame) for frame in frames_found], out=offsets[1:])
        return np.frombuffer(b"".join(frames_found), np.uint8), offsets


@dataclass(frozen=True, slots=True)
class BoundLz4:
    """Decompresses frames whose blocks are proven to yield what the frames declare."""

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Return declared sizes, none larger than a block of that many bytes can hold."""
        if len(sizes) > _FEW:
            return _many_sizes(data, starts, sizes)
        found = np.zeros(len(sizes), np.int64)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            if size == 0:
                continue
            if start < 0 or size < _HEADER_BYTES or start + size > len(data):
                raise CorruptPageError("an LZ4 frame is shorter than its header or leaves its page", detail=frame)
            declared = int.from_bytes(data[start : start + _HEADER_BYTES].tobytes(), "little")
            if declared > (size - _HEADER_BYTES) * _LARGEST_RATIO:
                raise CorruptPageError("an LZ4 frame declares another size than its block has", detail=frame)
            found[frame] = declared
        return found

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Decode each block into exactly its room, after a walk: the decoder would leave a larger room half filled."""
        plain_sizes = np.diff(out_starts)
        present = sizes > 0
        measured = np.zeros(len(sizes), np.int64)
        if present.all():
            frames.measure_lz4_blocks(data, starts + _HEADER_BYTES, sizes - _HEADER_BYTES, measured)
        else:
            some = np.empty(int(present.sum()), np.int64)
            frames.measure_lz4_blocks(data, starts[present] + _HEADER_BYTES, sizes[present] - _HEADER_BYTES, some)
            measured[present] = some
        if (measured != plain_sizes).any():
            wrong = int(np.argmax(measured != plain_sizes))
            raise CorruptPageError("an LZ4 frame declares another size than its block has", detail=wrong)
        if len(sizes) <= _FEW:
            _decompress_each(data, starts, sizes, out, out_starts)
            return
        # Blocks without content may be skipped now: they were walked through.
        filled = np.flatnonzero(plain_sizes)
        first, stop = int(out_starts[0]), int(out_starts[-1])
        most = int(plain_sizes.max(initial=0))
        if not len(filled) or not _decompress_stream(data, starts[filled], sizes[filled], most, out[first:stop]):
            _decompress_each(data, starts, sizes, out, out_starts)


def _many_sizes(data: Bytes, starts: Any, sizes: Any) -> Any:
    present = np.flatnonzero(sizes)
    starts, sizes, found = starts[present], sizes[present], np.zeros(len(sizes), np.int64)
    wrong = (sizes < _HEADER_BYTES) | (starts < 0) | (starts > len(data) - sizes)
    if wrong.any():
        frame = int(present[np.argmax(wrong)])
        raise CorruptPageError("an LZ4 frame is shorter than its header or leaves its page", detail=frame)
    declared = np.empty(len(present), np.uint32)
    kernels.copy_values(data, starts, _HEADER_BYTES, declared.view(np.uint8))
    wrong = declared > (sizes - _HEADER_BYTES) * _LARGEST_RATIO
    if wrong.any():
        frame = int(present[np.argmax(wrong)])
        raise CorruptPageError("an LZ4 frame declares another size than its block has", detail=frame)
    found[present] = declared
    return found


def _decompress_stream(data: Bytes, starts: Any, sizes: Any, most: int, out: Bytes) -> bool:
    """Decode all frames, of at most `most` bytes, in one call as blocks of one LZ4 stream; False if not possible."""
    # A stream's block begins with its own size, so each frame becomes one when its first word is replaced.
    largest = max(int(sizes.max()), most)
    head = next((head for room, head in _STREAM_HEADS.items() if largest <= room), None)
    if head is None:
        return False
    stream = np.empty(len(head) + int(sizes.sum()) + _STREAM_END, np.uint8)
    stream[: len(head)] = np.frombuffer(head, np.uint8)
    stream[-_STREAM_END:] = 0
    offsets = np.zeros(len(sizes) + 1, np.int64)
    blocks = stream[len(head) : len(stream) - _STREAM_END]
    kernels.decode_variable_values(data, starts, sizes, offsets.view(np.uint8), 64, blocks)
    words = (sizes - _HEADER_BYTES).astype("<u4").view(np.uint8).reshape(-1, _HEADER_BYTES)
    blocks[offsets[:-1, np.newaxis] + np.arange(_HEADER_BYTES)] = words
    try:
        plain = _STREAMS.decompress(stream, decompressed_size=out.size)
    except OSError:
        return False
    if len(plain) != out.size:
        return False
    out[:] = np.frombuffer(plain, np.uint8)
    return True


def _decompress_each(data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
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
