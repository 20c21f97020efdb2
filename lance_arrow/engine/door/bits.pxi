# Single bits, many chunks per call.
#
# Chunk arguments are the same everywhere in `kernels`. ``data`` is ``(total_bytes,) uint8``. ``starts`` and ``sizes``
# are ``(num_chunks,) int64``: the byte range of one buffer of each chunk inside ``data``. ``value_starts`` is
# ``(num_chunks + 1,) int64``: offsets of the values of each chunk in the output. Every kernel raises CorruptPageError
# (``detail``: chunk or value number) for bytes that contradict themselves. It raises InternalError for a caller's
# mistake, such as a too small output. After both, the contents of the output are unspecified.

cdef extern from "lance_arrow/bits.hpp" namespace "lance_arrow" nogil:
    Outcome _fill_bits "lance_arrow::fill_bits"(uint8_t*, int64_t, int64_t, int64_t, bint)

cdef extern from "engine/common/bitmaps.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _copy_bits "lance_arrow::engine::copy_bits"(Chunks, uint8_t*, int64_t, int64_t)
    Outcome _take_bit_runs "lance_arrow::engine::take_bit_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t, int64_t)
    Outcome _fill_bit_runs "lance_arrow::engine::fill_bit_runs"(
        const int64_t*, const int64_t*, int64_t, int64_t, uint8_t*, int64_t)
    Outcome _count_bits "lance_arrow::engine::count_bits"(const uint8_t*, int64_t, int64_t, int64_t, int64_t*)
    Outcome _count_marked_runs "lance_arrow::engine::count_marked_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, int64_t*)
    Outcome _mark_runs "lance_arrow::engine::mark_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, int64_t*, int64_t*, int64_t)


def copy_bits(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, uint8_t[::1] out not None, int64_t out_bit_offset,
) -> None:
    """Copy bitmap chunks, each starting at its first bit, into one bitmap whose values start at ``out_bit_offset``.

    Bits of ``out`` outside the written range keep their value. Source: CompressiveEncoding.Flat with 1 bit; spec 5.1.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _copy_bits(chunks, &out[0], out.shape[0], out_bit_offset)
    check_outcome(outcome)


def take_bit_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None, uint8_t[::1] out not None, int64_t out_bit_offset,
) -> None:
    """Copy the bit ranges ``run_starts[i] .. run_stops[i]`` of ``src`` back to back.

    Runs count from ``src_bit_offset``. A run outside ``src`` is the caller's mistake.
    """
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_bit_runs(&src[0], src.shape[0], src_bit_offset, &run_starts[0], &run_stops[0],
                                 run_starts.shape[0], &out[0], out.shape[0], out_bit_offset)
    check_outcome(outcome)


def fill_bits(uint8_t[::1] out not None, int64_t bit_offset, int64_t num_bits, bint value) -> None:
    """Set (or clear) ``num_bits`` bits; others keep their value."""
    cdef Outcome outcome
    with nogil:
        outcome = _fill_bits(&out[0], out.shape[0], bit_offset, num_bits, value)
    check_outcome(outcome)


def fill_bit_runs(
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None, uint8_t[::1] out not None,
    int64_t first_bit=0,
) -> None:
    """Set the bits ``run_starts[i] .. run_stops[i]``, leave others alone; runs outside are the caller's mistake.

    ``first_bit`` is the number of the first bit of ``out``.
    """
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _fill_bit_runs(
            &run_starts[0], &run_stops[0], run_starts.shape[0], first_bit, &out[0], out.shape[0])
    check_outcome(outcome)


def count_bits(const uint8_t[::1] src not None, int64_t bit_offset, int64_t num_bits) -> int:
    """Return how many of ``num_bits`` bits are set."""
    cdef Outcome outcome
    cdef int64_t count = 0
    with nogil:
        outcome = _count_bits(&src[0], src.shape[0], bit_offset, num_bits, &count)
    check_outcome(outcome)
    return count


def count_marked_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] range_starts not None,
    const int64_t[::1] range_stops not None,
) -> int:
    """Return how many runs `mark_runs` writes."""
    cdef Outcome outcome
    cdef int64_t count = 0
    if range_starts.shape[0] != range_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _count_marked_runs(&src[0], src.shape[0], src_bit_offset, &range_starts[0], &range_stops[0],
                                     range_starts.shape[0], &count)
    check_outcome(outcome)
    return count


def mark_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] range_starts not None,
    const int64_t[::1] range_stops not None, int64_t[::1] out_starts not None, int64_t[::1] out_stops not None,
) -> None:
    """Write the runs of marked rows of ascending ranges; runs that touch across ranges are one.

    Row i of all ranges taken together is marked by bit ``src_bit_offset + i``. Marks outside ``src``, or more runs than
    the output holds, are the caller's mistake.
    """
    cdef Outcome outcome
    if range_starts.shape[0] != range_stops.shape[0] or out_starts.shape[0] != out_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _mark_runs(&src[0], src.shape[0], src_bit_offset, &range_starts[0], &range_stops[0],
                             range_starts.shape[0], &out_starts[0], &out_stops[0], out_starts.shape[0])
    check_outcome(outcome)
