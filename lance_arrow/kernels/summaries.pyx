# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Facts about values that encodings are chosen by; meaning in ``reference/summaries.py``."""

from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as cpp_bool

from lance_arrow.kernels.outcome cimport Outcome, Parts, part_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/encode/summaries.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _measure_groups "lance_arrow::kernels::measure_groups"(Parts, int, int64_t*, int64_t*)
    Outcome _all_equal "lance_arrow::kernels::all_equal"(const uint8_t*, int64_t, int64_t, cpp_bool*)


def measure_groups(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits,
    int64_t[::1] out_bits not None, int64_t[::1] out_changes not None,
):
    cdef Parts groups = part_table(values, value_starts)
    cdef Outcome outcome
    if out_bits.shape[0] != groups.num_parts or out_changes.shape[0] != groups.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _measure_groups(groups, word_bits, &out_bits[0], &out_changes[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def all_equal(const uint8_t[::1] values not None, int64_t bytes_per_value):
    cdef cpp_bool equal = False
    cdef Outcome outcome
    with nogil:
        outcome = _all_equal(&values[0], values.shape[0], bytes_per_value, &equal)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return equal
