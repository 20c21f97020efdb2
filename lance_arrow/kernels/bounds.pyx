# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Smallest and greatest value of each of many runs; meaning in ``reference/bounds.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/encode/bounds.hpp" namespace "lance_arrow::kernels" nogil:
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

    Outcome _bound_fixed "lance_arrow::kernels::bound_fixed"(
        const uint8_t*, int64_t, int64_t, int, int64_t, Validity, Zones, uint8_t*, uint8_t*, int64_t, ZoneCounts)
    Outcome _bound_variable32 "lance_arrow::kernels::bound_variable<int32_t>"(
        const uint8_t*, int64_t, const uint8_t*, int64_t, Validity, Zones, int64_t*, int64_t*, ZoneCounts)
    Outcome _bound_variable64 "lance_arrow::kernels::bound_variable<int64_t>"(
        const uint8_t*, int64_t, const uint8_t*, int64_t, Validity, Zones, int64_t*, int64_t*, ZoneCounts)


cdef Validity _validity(const uint8_t[::1] bits, int64_t bit_offset):
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


cdef ZoneCounts _counts(int64_t[::1] counts, int64_t num_zones):
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
):
    cdef Zones zones = _zones(zone_starts)
    cdef Validity valid = _validity(validity, bit_offset)
    cdef ZoneCounts places = _counts(counts, zones.count)
    cdef int64_t bounds_bytes = min(mins.shape[0], maxs.shape[0])
    cdef Outcome outcome
    with nogil:
        outcome = _bound_fixed(&values[0], values.shape[0], value_offset, kind, width, valid, zones, &mins[0], &maxs[0],
                               bounds_bytes, places)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def bound_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint8_t[::1] validity, int64_t bit_offset, const int64_t[::1] zone_starts not None,
    int64_t[::1] min_indices not None, int64_t[::1] max_indices not None, int64_t[::1] counts not None,
):
    cdef Zones zones = _zones(zone_starts)
    cdef Validity valid = _validity(validity, bit_offset)
    cdef ZoneCounts places = _counts(counts, zones.count)
    cdef Outcome outcome
    if min_indices.shape[0] != zones.count or max_indices.shape[0] != zones.count:
        raise refusal(b"the bounds do not fit", -1, 0)
    if offset_bits != 32 and offset_bits != 64:
        raise refusal(b"offsets have 32 or 64 bits", -1, 0)
    with nogil:
        if offset_bits == 32:
            outcome = _bound_variable32(&offsets[0], offsets.shape[0], &data[0], data.shape[0], valid, zones,
                                        &min_indices[0], &max_indices[0], places)
        else:
            outcome = _bound_variable64(&offsets[0], offsets.shape[0], &data[0], data.shape[0], valid, zones,
                                        &min_indices[0], &max_indices[0], places)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
