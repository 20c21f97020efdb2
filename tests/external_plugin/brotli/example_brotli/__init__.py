"""A compression of a third party: Brotli around whatever codec suits the values.

The format's buffer schemes are LZ4 and ZSTD and cannot be more. A third compression is a private codec. It is written
where a column names it, by ``column_options={"s": {"codec": "example.brotli/1", "level": 9}}``, and the caller passes
``allow_private_encodings=True``.
"""

from __future__ import annotations

import pyarrow as pa

from lance_arrow.spi import CompressionCodec, hookimpl


class Brotli(CompressionCodec):
    """Frames, chunks, blocks and zipped values are the business of ``lance_arrow.spi``."""

    id = "example.brotli/1"
    distribution = "lance-brotli"
    levels = range(12)
    decode_errors = (pa.ArrowException, OSError)

    def compress(self, data: bytes, level: int | None) -> bytes:
        return pa.Codec("brotli", level).compress(data, asbytes=True)

    def decompress(self, data: bytes, num_bytes: int) -> bytes:
        return pa.Codec("brotli").decompress(data, decompressed_size=num_bytes, asbytes=True)


@hookimpl
def lance_provide_codecs() -> list[Brotli]:
    return [Brotli()]
