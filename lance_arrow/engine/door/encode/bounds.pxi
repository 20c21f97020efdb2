# Smallest and greatest value of each of many runs ("zones") of values, with counts of nulls and NaN.

cdef extern from "engine/encode/bounds.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ZoneCounts:
        int64_t* values
        int64_t* nulls
        int64_t* nans

    cdef struct Validity:
        const uint8_t* bits
        int64_t bytes
        int64_t offset

    cdef struct Zones:
        const int64_t* starts
        int64_t count

    Outcome _bound_fixed "lance_arrow::engine::bound_fixed"(
        const uint8_t*, int64_t, int64_t, int, int64_t, Validity, Zones, uint8_t*, uint8_t*, int64_t, ZoneCounts)
    Outcome _bound_variable "lance_arrow::engine::bound_variable"(
        const uint8_t*, int64_t, int, const uint8_t*, int64_t, Validity, Zones, int64_t*, int64_t*, ZoneCounts)


cdef Validity _zone_validity(const uint8_t[::1] bits, int64_t bit_offset):
    cdef Validity validity
    validity.bits = NULL
    validity.bytes = 0
    validity.offset = bit_offset
    if bits is not None:
        validity.bits = &bits[0]
        validity.bytes = bits.shape[0]
    return validity


cdef Zones _zones(const int64_t[::1] zone_starts):
    cdef Zones zones
    zones.starts = &zone_starts[0]
    zones.count = zone_starts.shape[0] - 1
    return zones


cdef ZoneCounts _zone_counts(int64_t[::1] counts, int64_t num_zones):
    cdef ZoneCounts places
    if num_zones < 0 or counts.shape[0] != 3 * num_zones:
        raise refusal(b"the counts do not fit", -1, 0)
    places.values = &counts[0]
    places.nulls = &counts[num_zones]
    places.nans = &counts[2 * num_zones]
    return places


def bound_fixed(
    const uint8_t[::1] values not None, int64_t value_offset, int kind, int64_t width, const uint8_t[::1] validity,
    int64_t bit_offset, const int64_t[::1] zone_starts not None, uint8_t[::1] mins not None,
    uint8_t[::1] maxs not None, int64_t[::1] counts not None,
) -> None:
    """Compute the bounds of zones of fixed-width values.

    Parameters
    ----------
    values, value_offset
        Their bytes; value i is item ``value_offset + i`` (bit, for bits).
    kind, width
        0: signed integers (1, 2, 4, 8, 16, 32 bytes). 1: unsigned integers (1, 2, 4, 8). 2: floats (2, 4, 8). 3: bits
        (1). 4: bytes in lexicographic order (any width).
    validity, bit_offset
        Bitmap, bit ``bit_offset + i`` tells that value i is valid; all are when None.
    zone_starts
        ``(num_zones + 1,)`` first value of each zone, and where the last one stops.
    mins, maxs
        ``(num_zones * width,) uint8`` out: bounds; unchanged for zones without values. NaN is ignored; a bound of zero
        is ``-0.0`` in `mins` and ``+0.0`` in `maxs`. Bits are bytes 0 and 1.
    counts
        ``(3 * num_zones,)`` out: for all zones the values that are neither null nor NaN, then the nulls, then the NaNs.

    Raises
    ------
    InternalError
        The arguments contradict each other.
    """
    cdef Zones zones = _zones(zone_starts)
    cdef Validity valid = _zone_validity(validity, bit_offset)
    cdef ZoneCounts places = _zone_counts(counts, zones.count)
    cdef int64_t bounds_bytes = min(mins.shape[0], maxs.shape[0])
    cdef Outcome outcome
    with nogil:
        outcome = _bound_fixed(&values[0], values.shape[0], value_offset, kind, width, valid, zones, &mins[0], &maxs[0],
                               bounds_bytes, places)
    check_outcome(outcome)


def bound_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint8_t[::1] validity, int64_t bit_offset, const int64_t[::1] zone_starts not None,
    int64_t[::1] min_indices not None, int64_t[::1] max_indices not None, int64_t[::1] counts not None,
) -> None:
    """Find the first smallest and first greatest value of each zone, in the order of their bytes.

    Parameters
    ----------
    offsets, offset_bits
        Bytes of 32- or 64-bit offsets, from that of value 0 on, one more than values.
    data
        What they point into.
    min_indices, max_indices
        ``(num_zones,)`` out: numbers of the values, -1 in zones without values.
    validity, bit_offset, zone_starts, counts
        As for `bound_fixed`; there are no NaNs.

    Raises
    ------
    InternalError
        The arguments contradict each other, or an offset of a valid value leaves the data.
    """
    cdef Zones zones = _zones(zone_starts)
    cdef Validity valid = _zone_validity(validity, bit_offset)
    cdef ZoneCounts places = _zone_counts(counts, zones.count)
    cdef Outcome outcome
    if min_indices.shape[0] != zones.count or max_indices.shape[0] != zones.count:
        raise refusal(b"the bounds do not fit", -1, 0)
    if offset_bits != 32 and offset_bits != 64:
        raise refusal(b"offsets have 32 or 64 bits", -1, 0)
    with nogil:
        outcome = _bound_variable(&offsets[0], offsets.shape[0], offset_bits, &data[0], data.shape[0], valid, zones,
                                  &min_indices[0], &max_indices[0], places)
    check_outcome(outcome)
