# Samples that decide whether values are compressed.

cdef extern from "lance_arrow_codecs/general/stream_samples.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _lz4_stream_bytes "lance_arrow::codecs::lz4_stream_bytes"(const uint8_t*, int64_t, int64_t, int64_t*)

cdef extern from "lance_arrow_codecs/general/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkEncoder* hold_streams_asked(int64_t, double) except +


def lz4_stream_bytes(const uint8_t[::1] values not None, int64_t bytes_per_value) -> int:
    """Return how many bytes LZ4 frames of byte streams take, without writing them; in chunks of 4096 bytes.

    Parameters
    ----------
    values
        Whole values, a sample of a page.
    bytes_per_value
        4 or 8.

    Raises
    ------
    InternalError
        Values have another width.
    """
    cdef int64_t found = 0
    cdef Outcome outcome
    with nogil:
        outcome = _lz4_stream_bytes(&values[0] if values.shape[0] else NULL, values.shape[0], bytes_per_value, &found)
    check_outcome(outcome)
    return found


def streams_asked_encoder(int64_t least_bytes, double most_part) -> object:
    """A codec that is asked in Python where compressed byte streams may be small, by samples (`lz4_stream_bytes`).

    Parameters
    ----------
    least_bytes
        Smaller blocks do not fit, nor do fewer than 1,024 values, nor widths other than 32 and 64 bits.
    most_part
        Largest part that the streams may take of the values, plain or packed.
    """
    return chunk_encoder_capsule(hold_streams_asked(least_bytes, most_part))
