# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""CRC32C of many pieces per call, and which blocks of a file were checked; meaning in ``reference/checksums.py``."""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/tables/block_checks.hpp" namespace "lance_arrow::kernels" nogil:
    cbool has_crc_instruction()
    uint32_t _crc32c "lance_arrow::kernels::crc32c"(uint32_t, const uint8_t*, int64_t)
    uint32_t _crc32c_portable "lance_arrow::kernels::crc32c_portable"(uint32_t, const uint8_t*, int64_t)
    Outcome _crc32c_blocks "lance_arrow::kernels::crc32c_blocks"(
        const uint8_t*, int64_t, int64_t, uint32_t*, int64_t)
    Outcome _crc32c_of "lance_arrow::kernels::crc32c_of"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, uint32_t*)

    cdef cppclass Checks "lance_arrow::kernels::BlockChecks":
        Checks(const int64_t*, const int64_t*, int64_t, const uint32_t*, int64_t, int64_t) except +
        @staticmethod
        Outcome validate(const int64_t*, const int64_t*, int64_t, int64_t, int64_t)
        int64_t num_pending()
        cbool widen(int64_t*, int64_t*)
        int64_t check(int64_t, int64_t, const uint8_t*)
        void place(int64_t, int64_t*, int64_t*)


def is_accelerated():
    return has_crc_instruction()


def crc32c(const uint8_t[::1] data not None, uint32_t crc=0):
    with nogil:
        crc = _crc32c(crc, &data[0], data.shape[0])
    return crc


def crc32c_portable(const uint8_t[::1] data not None, uint32_t crc=0):
    with nogil:
        crc = _crc32c_portable(crc, &data[0], data.shape[0])
    return crc


def crc32c_blocks(const uint8_t[::1] data not None, int64_t block_bytes, uint32_t[::1] out not None):
    cdef Outcome outcome
    with nogil:
        outcome = _crc32c_blocks(&data[0], data.shape[0], block_bytes, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def crc32c_of(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    uint32_t[::1] out not None,
):
    cdef Outcome outcome
    if stops.shape[0] != starts.shape[0] or out.shape[0] != starts.shape[0]:
        raise refusal(b"starts, stops and out have contradicting lengths", -1, 0)
    with nogil:
        outcome = _crc32c_of(&data[0], data.shape[0], &starts[0], &stops[0], starts.shape[0], &out[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


cdef class BlockChecks:
    cdef unique_ptr[Checks] checks
    cdef readonly int64_t num_blocks
    cdef readonly object pointer

    def __init__(
        self, const int64_t[::1] starts not None, const int64_t[::1] sizes not None, const uint32_t[::1] crcs not None,
        int64_t block_bytes,
    ):
        cdef Outcome outcome
        if sizes.shape[0] != starts.shape[0]:
            raise refusal(b"starts and sizes have contradicting lengths", -1, 0)
        outcome = Checks.validate(&starts[0], &sizes[0], starts.shape[0], crcs.shape[0], block_bytes)
        if outcome.message != NULL:
            raise refusal(outcome.message, outcome.index, outcome.blame)
        self.num_blocks = crcs.shape[0]
        self.checks.reset(
            new Checks(&starts[0], &sizes[0], starts.shape[0], &crcs[0], crcs.shape[0], block_bytes))
        self.pointer = PyCapsule_New(self.checks.get(), "lance_arrow.BlockChecks", NULL)

    @property
    def num_pending(self):
        return self.checks.get().num_pending()

    def widen(
        self, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int64_t[::1] wide_starts not None,
        int64_t[::1] wide_stops not None,
    ):
        cdef int64_t range_number, num_pending = 0, n = starts.shape[0]
        if stops.shape[0] != n or wide_starts.shape[0] != n or wide_stops.shape[0] != n:
            raise refusal(b"starts, stops and their wider twins have contradicting lengths", -1, 0)
        with nogil:
            for range_number in range(n):
                wide_starts[range_number], wide_stops[range_number] = starts[range_number], stops[range_number]
                num_pending += self.checks.get().widen(&wide_starts[range_number], &wide_stops[range_number])
        return num_pending

    def check(
        self, const uint8_t[::1] data not None, const int64_t[::1] positions not None,
        const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    ):
        cdef int64_t range_number, size, wrong = -1, n = starts.shape[0]
        if stops.shape[0] != n or positions.shape[0] != n:
            raise refusal(b"positions, starts and stops have contradicting lengths", -1, 0)
        for range_number in range(n):
            size = stops[range_number] - starts[range_number]
            if size < 0 or positions[range_number] < 0 or positions[range_number] > data.shape[0] - size:
                raise refusal(b"a range lies outside the data", range_number, 0)
        with nogil:
            for range_number in range(n):
                wrong = self.checks.get().check(
                    starts[range_number], stops[range_number], &data[0] + positions[range_number])
                if wrong >= 0:
                    break
        return wrong

    def place(self, int64_t block):
        cdef int64_t start, stop
        if block < 0 or block >= self.num_blocks:
            raise refusal(b"there is no such block", block, 0)
        self.checks.get().place(block, &start, &stop)
        return start, stop
