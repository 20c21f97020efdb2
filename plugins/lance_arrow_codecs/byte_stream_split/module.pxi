# Byte streams.

cdef extern from "lance_arrow_codecs/byte_stream_split/streams.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _gather_streams "lance_arrow::codecs::gather_streams"(Chunks, int64_t, uint8_t*, int64_t)
    Outcome _scatter_streams "lance_arrow::codecs::scatter_streams"(Parts, int64_t, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/byte_stream_split/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_byte_streams(int64_t bits) except +


def gather_streams(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
) -> None:
    """Put values together whose byte b stands in stream b of their chunk.

    Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.

    Raises
    ------
    CorruptPageError
        A chunk is not exactly ``bytes_per_value`` streams of as many bytes as it has values.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _gather_streams(chunks, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def scatter_streams(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
) -> None:
    """Take values apart: byte b of every value of a part goes to stream b of it; the way back of `gather_streams`.

    Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.

    Parameters
    ----------
    value_starts
        ``(num_parts + 1,) int64``: where the values of each part begin; parts lie in `out` as they do in `values`.

    Raises
    ------
    InternalError
        A part leaves the values or the output.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _scatter_streams(parts, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def byte_streams_codec(int64_t bits) -> object | None:
    """Byte b of every value in stream b; None for widths that have no native form."""
    return chunk_capsule(hold_byte_streams(bits))
