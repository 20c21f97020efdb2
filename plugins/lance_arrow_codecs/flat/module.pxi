# Values back to back.

cdef extern from "lance_arrow_codecs/flat/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkEncoder* hold_flat_encoder(const string&) except +
    HeldBlocksEncoder* hold_flat_blocks(const string&) except +


def flat_codec(int64_t bits) -> object:
    """Values of `bits` (1 or whole bytes) back to back."""
    return chunk_capsule(hold_plain_chunks(bits))


def flat_encoder(bytes description) -> object:
    """Chunks of values back to back; `description` is the serialized ``CompressiveEncoding``, here and below."""
    return chunk_encoder_capsule(hold_flat_encoder(description))


def flat_blocks_encoder(bytes description) -> object:
    """Blocks of values back to back."""
    return blocks_encoder_capsule(hold_flat_blocks(description))
