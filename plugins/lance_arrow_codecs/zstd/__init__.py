"""Zstandard frames: the uncompressed size as a 64-bit word, then a standard frame. An empty frame is empty.

Some writers omit the size, so a buffer that begins with a standard frame is read as one.
Source: BufferCompression.scheme ZSTD; spec 5.11.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InvalidArgumentError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import BindScope, Bytes, EncodingKey, hookimpl
from lance_arrow_codecs import native

Positions = NDArray[np.int64]
_HEADER_BYTES = 8
_MAGIC = b"\x28\xb5\x2f\xfd"
_MAGIC_NUMBER = int.from_bytes(_MAGIC, "little")
_SHORT_DESCRIPTOR, _LONG_DESCRIPTOR = 0x20, 0x60
_RESERVED_BIT = 0x10
"""Unused bit of the byte after the magic. It is clear in every frame; if it is set, a size looks like the magic."""
_BLOCK_BYTES = 128 * 1024
_SMALLEST_BLOCK = 3
_UNKNOWN = -1
_DEFAULT_LEVEL = 3
_FEW = 8
"""Up to this many frames, a loop is faster than vectorised code."""
_LARGE_BYTES = 16 << 10
"""Above this mean size, separate calls cost less than copying frames into one stream."""
_USUAL_HEAD = np.dtype([("size", "<u8"), ("magic", "<u4"), ("descriptor", "u1"), ("one", "u1"), ("two", "u1")])
_STORED_HEAD = struct.Struct("<QIBHBH")
"""Header of a frame of one uncompressed block, typical for images and other compressed values. It has the size, a
header like the usual one, and three bytes of the last block (RFC 8878, 3.1.1.2)."""
_STORED_HEADS = np.dtype(
    [("size", "<u8"), ("magic", "<u4"), ("descriptor", "u1"), ("content", "<u2"), ("low", "u1"), ("high", "<u2")]
)
_LEAST_CONTENT = 256
_SENTINEL_TEXT = b"lance"
_SENTINEL = zstandard.ZstdCompressor().compress(_SENTINEL_TEXT)
"""A frame appended to all others: if something else follows them in a stream, they have wrong sizes."""


class _PerThread(threading.local):
    """Compressors and decompressors of one thread; they are reused, but must not be shared."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self._compressors: dict[int, zstandard.ZstdCompressor] = {}

    def compressor(self, level: int) -> zstandard.ZstdCompressor:
        if level not in self._compressors:
            self._compressors[level] = zstandard.ZstdCompressor(level=level)
        return self._compressors[level]


_per_thread = _PerThread()


@dataclass(frozen=True, slots=True)
class Zstd:
    """Binds the scheme; readers do not use the level."""

    key = EncodingKey("lance.encodings21.CompressionScheme", "ZSTD")

    def bind(self, message: Any, scope: BindScope) -> BoundZstd:
        return BoundZstd(scope.limits.check, scope.limits.max_value_bytes)

    def compress(self, data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, Positions]:
        """Compress each part to a size and a standard frame; levels None and 0 are the library's default.

        Raises
        ------
        InvalidArgumentError
            The library does not have this level.
        """
        if level is not None and level > zstandard.MAX_COMPRESSION_LEVEL:
            raise InvalidArgumentError(f"zstd has no level {level}, expected at most {zstandard.MAX_COMPRESSION_LEVEL}")
        compress = _per_thread.compressor(level or _DEFAULT_LEVEL).compress
        parts: list[Any] = []
        offsets = np.zeros(len(sizes) + 1, np.int64)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            offsets[frame + 1] = offsets[frame]
            if size:
                standard = compress(data[start : start + size])
                parts += size.to_bytes(_HEADER_BYTES, "little"), standard
                offsets[frame + 1] += _HEADER_BYTES + len(standard)
        return np.frombuffer(b"".join(parts), np.uint8), offsets


@dataclass(frozen=True, slots=True)
class BoundZstd:
    """Decompresses frames with or without a size before them."""

    check: Callable[[str, int], int]
    most_value_bytes: int

    def native(self) -> object | None:
        """Return a capsule around Arrow's decoder; None beside a pyarrow whose libraries the package cannot call."""
        return native.zstd_frames(native_codecs.zstd_decoder())

    def native_stored(self) -> object | None:
        """Return a capsule that locates frames with uncompressed content, for the engine."""
        return native.stored_zstd_values(self.most_value_bytes)

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Return declared sizes, after a check that a frame of that many bytes can expand to them."""
        usual = _usual_sizes(data, starts, sizes)
        if usual is None:
            usual = _stored_sizes(data, starts, sizes)
        if usual is not None:
            return usual
        plain_sizes = np.zeros(len(sizes), np.int64)
        for frame, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            if start < 0 or size < 0 or start + size > len(data):
                raise CorruptPageError("a frame exceeds its page", detail=frame)
            if _is_stored(data, start, size, size - _STORED_HEAD.size):
                plain_sizes[frame] = size - _STORED_HEAD.size
            elif size:
                plain_sizes[frame] = self._declared(data[start : start + size], frame)
        return plain_sizes

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Decode each frame; its own size, if it has one, must agree."""
        usual = _usual_sizes(data, starts, sizes)
        if usual is not None and (usual == np.diff(out_starts)).all():
            region = out[int(out_starts[0]) : int(out_starts[-1])]
            if _decompress_stream(data, starts + _HEADER_BYTES, sizes - _HEADER_BYTES, region):
                return
        stored = _stored_sizes(data, starts, sizes)
        if stored is not None and (stored == np.diff(out_starts)).all():
            region = out[int(out_starts[0]) : int(out_starts[-1])]
            offsets = np.zeros(len(sizes) + 1, np.int64)
            kernels.decode_variable_values(data, starts + _STORED_HEAD.size, stored, offsets.view(np.uint8), 64, region)
            return
        # Errors in the stream also occur here, with the number of the frame.
        places = zip(starts.tolist(), sizes.tolist(), out_starts.tolist(), out_starts[1:].tolist(), strict=False)
        for frame, (start, size, out_start, out_stop) in enumerate(places):
            if size == 0 and out_start == out_stop:
                continue
            if _is_stored(data, start, size, out_stop - out_start):
                out[out_start:out_stop] = data[start + _STORED_HEAD.size : start + size]
                continue
            standard = _standard_frame(data[start : start + size])
            plain = _decompress(standard, out_stop - out_start, frame)
            out[out_start:out_stop] = np.frombuffer(plain, np.uint8)

    def _declared(self, buffer: Bytes, frame: int) -> int:
        standard = _standard_frame(buffer)
        if len(standard) < len(buffer):
            declared = int.from_bytes(buffer[:_HEADER_BYTES].tobytes(), "little")
        else:
            declared = _content_size(standard, frame)
            if declared == _UNKNOWN:
                return self._streamed_size(standard, frame)
        if declared > (len(standard) // _SMALLEST_BLOCK + 1) * _BLOCK_BYTES:
            raise CorruptPageError(f"a zstd frame of {len(standard)} bytes declares {declared}", detail=frame)
        return declared

    def _streamed_size(self, standard: Bytes, frame: int) -> int:
        """Return the content size of a frame without a declared size, up to the limit of a value."""
        total = 0
        try:
            for part in _per_thread.decompressor.read_to_iter(standard.tobytes()):
                total = self.check("max_value_bytes", total + len(part))
        except zstandard.ZstdError as error:
            raise CorruptPageError("a zstd frame is malformed", detail=frame) from error
        return total


def _usual_sizes(data: Bytes, starts: Positions, sizes: Positions) -> Positions | None:
    """Return the sizes of frames in the usual form; None if a frame has another form, or for few frames.

    The usual form has the size before the frame. The header repeats it in one or two bytes, without window and
    dictionary (RFC 8878, 3.1.1.1).
    """
    head = _USUAL_HEAD.itemsize
    if (
        len(sizes) <= _FEW
        or sizes.sum() >= _LARGE_BYTES * len(sizes)
        or sizes.min() < head
        or starts.min() < 0
        or (starts > len(data) - sizes).any()
    ):
        return None
    heads = np.empty(len(sizes), _USUAL_HEAD)
    kernels.copy_values(data, starts, head, heads.view(np.uint8))
    descriptor = heads["descriptor"]
    one = heads["one"].astype(np.int64)
    contents = np.where(descriptor == _SHORT_DESCRIPTOR, one, (one | heads["two"].astype(np.int64) << 8) + 256)
    is_usual = (heads["magic"] == _MAGIC_NUMBER) & (heads["size"] == contents.astype(np.uint64))
    is_usual &= (descriptor == _SHORT_DESCRIPTOR) | (descriptor == _LONG_DESCRIPTOR)
    # A size that looks like the magic is no size.
    is_usual &= heads["size"] & 0xFFFFFFFF != _MAGIC_NUMBER
    possible = ((sizes - _HEADER_BYTES) // _SMALLEST_BLOCK + 1) * _BLOCK_BYTES
    return contents if (is_usual & (contents <= possible)).all() else None


def _is_stored(data: Bytes, start: int, size: int, content: int) -> bool:
    """Return whether a frame is one uncompressed block of `content` bytes."""
    if content < _LEAST_CONTENT or size != _STORED_HEAD.size + content or not 0 <= start <= len(data) - size:
        return False
    head = (content, _MAGIC_NUMBER, _LONG_DESCRIPTOR, content - _LEAST_CONTENT, (content << 3 | 1) & 0xFF, content >> 5)
    return _STORED_HEAD.unpack_from(data, start) == head


def _stored_sizes(data: Bytes, starts: Positions, sizes: Positions) -> Positions | None:
    """Return the sizes of frames of one uncompressed block each; None for other forms, or for few frames."""
    head = _STORED_HEAD.size
    if len(sizes) <= _FEW or not _is_stored(data, int(starts[0]), int(sizes[0]), int(sizes[0]) - head):
        return None
    contents = sizes - head
    if (contents < _LEAST_CONTENT).any() or starts.min() < 0 or (starts > len(data) - sizes).any():
        return None
    heads = np.empty(len(sizes), _STORED_HEADS)
    kernels.copy_values(data, starts, head, heads.view(np.uint8))
    is_stored = (heads["magic"] == _MAGIC_NUMBER) & (heads["size"] == contents.astype(np.uint64))
    is_stored &= (heads["descriptor"] == _LONG_DESCRIPTOR) & (heads["content"] + np.int64(_LEAST_CONTENT) == contents)
    is_stored &= heads["low"] + (heads["high"].astype(np.int64) << 8) == contents << 3 | 1
    return contents if is_stored.all() else None


def _decompress_stream(data: Bytes, starts: Positions, sizes: Positions, out: Bytes) -> bool:
    """Decode standard frames of known sizes, back to back, in one call; False if sizes turn out to be wrong."""
    total = int(sizes.sum())
    stream = np.empty(total + len(_SENTINEL), np.uint8)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    kernels.decode_variable_values(data, starts, sizes, offsets.view(np.uint8), 64, stream[:total])
    stream[total:] = np.frombuffer(_SENTINEL, np.uint8)
    try:
        with _per_thread.decompressor.stream_reader(stream.data, read_across_frames=True) as reader:
            return bool(
                reader.readinto(out.data) == out.size and reader.read(2 * len(_SENTINEL_TEXT)) == _SENTINEL_TEXT
            )
    except zstandard.ZstdError:
        return False


def _standard_frame(buffer: Bytes) -> Bytes:
    """Return the standard frame in `buffer`: all of it, or the part after the size."""
    head = buffer[:5].tobytes()
    if head[:4] == _MAGIC and (len(buffer) < _HEADER_BYTES or not head[4] & _RESERVED_BIT):
        return buffer
    return buffer[_HEADER_BYTES:] if len(buffer) >= _HEADER_BYTES else buffer


def _content_size(standard: Bytes, frame: int) -> int:
    try:
        return zstandard.frame_content_size(standard.data)
    except zstandard.ZstdError as error:
        raise CorruptPageError("a zstd frame has no valid header", detail=frame) from error


def _decompress(standard: Bytes, size: int, frame: int) -> bytes:
    """Decode one frame into exactly `size` bytes."""
    # The library allocates the size in the frame's own header, so that is compared first.
    if _content_size(standard, frame) not in (_UNKNOWN, size):
        raise CorruptPageError("a zstd frame contradicts its declared size", detail=frame)
    try:
        plain = _per_thread.decompressor.decompress(standard.data, max_output_size=max(size, 1), allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptPageError("a zstd frame is malformed", detail=frame) from error
    if len(plain) != size:
        raise CorruptPageError("a zstd frame contradicts its declared size", detail=frame)
    return plain


@hookimpl
def lance_provide_buffer_schemes() -> list[Zstd]:
    return [Zstd()]
