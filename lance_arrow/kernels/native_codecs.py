"""Capsules of the format's codecs, public to plugin authors: tables of C functions, as in ``lance_arrow_native.h``."""

from __future__ import annotations

from lance_arrow.engine._engine import (
    asked_blocks_encoder,
    asked_encoder,
    best_blocks_encoder,
    best_chunks_encoder,
    chunk_pages_encoder,
    compressed_blocks_encoder,
    compressed_chunks_encoder,
    constant_pages_encoder,
    no_pages_encoder,
    zipped_pages_encoder,
    zstd_decoder,
)
from lance_arrow.engine._engine import called_chunks_codec as called_chunks
from lance_arrow.engine._engine import called_codec as called
from lance_arrow.engine._engine import compressed_codec as compressed
from lance_arrow.engine._engine import compressed_values_codec as compressed_values
from lance_arrow.engine._engine import is_plain_codec as is_plain
from lance_arrow.engine._engine import zipped_booleans_codec as zipped_booleans
from lance_arrow.engine._engine import zipped_codec as zipped

_NO_BLOCK = (1 << 63) - 1


def unfit_encoder() -> object:
    """Return an encoder of chunks that fits no block."""
    return asked_encoder(_NO_BLOCK, 0)


def unfit_blocks_encoder() -> object:
    """Return an encoder of blocks that fits none."""
    return asked_blocks_encoder(_NO_BLOCK)


__all__ = [
    "asked_blocks_encoder",
    "asked_encoder",
    "best_blocks_encoder",
    "best_chunks_encoder",
    "called",
    "called_chunks",
    "chunk_pages_encoder",
    "compressed",
    "compressed_blocks_encoder",
    "compressed_chunks_encoder",
    "compressed_values",
    "constant_pages_encoder",
    "is_plain",
    "no_pages_encoder",
    "unfit_blocks_encoder",
    "unfit_encoder",
    "zipped",
    "zipped_booleans",
    "zipped_pages_encoder",
    "zstd_decoder",
]
