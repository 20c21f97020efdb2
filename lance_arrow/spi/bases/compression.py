"""`CompressionCodec`: base class of a compression of bytes around the codec that suits the values."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InvalidArgumentError
from lance_arrow.spi.bases.authored import AuthoredCodec, parts_of, require_children
from lance_arrow.spi.blocks import BlockSlice, Bytes
from lance_arrow.spi.chunk_cuts import starts_of
from lance_arrow.spi.codecs import BoundCodec
from lance_arrow.spi.compression import bind_compressed, compressed, with_room
from lance_arrow.spi.encoding import Encoded, EncodedValues
from lance_arrow.spi.frames import Frames
from lance_arrow.spi.keys import COMPRESSIVE, DecodeContext, EncodingKey
from lance_arrow.spi.private import private_description
from lance_arrow.spi.scopes import BindScope, EncodeScope

_HEADER = struct.Struct("<QI")
"""Bytes of the content, and the CRC-32 of it. No content has no frame."""
_GENERAL = EncodingKey(COMPRESSIVE, "general")


class CompressionCodec(AuthoredCodec):
    """Inherit, set ``id`` and ``distribution``, and write two methods: bytes to fewer bytes and back.

    Chunks, dictionaries and single large values are compressed, each alone, after another codec has encoded them. What
    does not become smaller stays as it is.
    """

    levels: ClassVar[range | None] = None
    """Levels that the column option ``level`` may have; None if there are none."""

    def compress(self, data: bytes, level: int | None) -> bytes:
        """Compress `data`, which is not empty; a level of None is the default."""
        raise NotImplementedError

    def decompress(self, data: bytes, num_bytes: int) -> bytes:
        """Return the content, which has `num_bytes` bytes.

        `data` may be damaged: raise one of ``decode_errors`` or `CorruptPageError`. A content of another size, or one
        that was changed, is rejected afterwards: a checksum is stored beside it.
        """
        raise NotImplementedError

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Bind the codec of the content."""
        require_children(message, 1, self.id)
        frames = Frames.of(CheckedFrames(self.for_config(message.config)), context, scope)
        return bind_compressed(frames, message.children[0], context, scope)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the score of the codec of the content."""
        return with_room(scope).estimate_child(block, context, without=frozenset({self.key, _GENERAL}))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Compress the result of the codec of the content, or return it if that saves nothing."""
        options = dict(scope.options.extra)
        level = options.pop("level", None)
        if level is not None and (self.levels is None or level not in self.levels):
            expected = "none" if self.levels is None else f"{self.levels[0]} to {self.levels[-1]}"
            raise InvalidArgumentError(f"level is {level!r}, expected {expected} for {self.id!r}", detail=level)
        codec = self.for_options(options)
        child = with_room(scope).encode_child(block, context, without=frozenset({self.key, _GENERAL}))
        if isinstance(child, EncodedValues) and child.offsets is None:
            # Values of one width are found by counting, which frames are not.
            return child
        inner: Any = child.description
        description = private_description(self.key, self.distribution, codec.config(), [inner])
        answer = compressed(child, codec._compress_parts, level, description)
        return answer if answer.nbytes < child.nbytes else child

    def _compress_parts(
        self, data: Bytes, starts: Any, sizes: Any, level: int | None
    ) -> tuple[Bytes, NDArray[np.int64]]:
        frames = [
            _HEADER.pack(len(part), zlib.crc32(part)) + self._encoded(self.compress(part, level)) if part else b""
            for part in parts_of(data, starts, sizes)
        ]
        return np.frombuffer(b"".join(frames), np.uint8), starts_of(np.array([len(one) for one in frames], np.int64))


@dataclass(frozen=True, slots=True)
class CheckedFrames:
    """The frames of a codec as a buffer scheme: a size, a checksum, and what the author's method made."""

    codec: Any

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> NDArray[np.int64]:
        found = np.zeros(len(sizes), np.int64)
        for frame, part in enumerate(parts_of(data, starts, sizes)):
            if not part:
                continue
            if len(part) <= _HEADER.size:
                raise CorruptPageError("a frame is shorter than its header", detail=frame)
            declared, _ = _HEADER.unpack_from(part)
            if declared >= 1 << 63:
                raise CorruptPageError("a frame declares an impossible size", detail=frame)
            found[frame] = declared
        return found

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        places = pairwise(out_starts.tolist())
        for frame, (part, (start, stop)) in enumerate(zip(parts_of(data, starts, sizes), places, strict=True)):
            if not part:
                continue
            _, checksum = _HEADER.unpack_from(part)
            with self.codec._decoding(frame):
                content = self.codec._encoded(self.codec.decompress(part[_HEADER.size :], stop - start))
            if len(content) != stop - start or zlib.crc32(content) != checksum:
                raise CorruptPageError(
                    f"a frame of the codec {self.codec.id!r} does not hold what it declares", detail=frame
                )
            out[start:stop] = np.frombuffer(content, np.uint8)
