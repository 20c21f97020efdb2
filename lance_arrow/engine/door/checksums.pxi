# CRC32C (Castagnoli) of many pieces per call, and which blocks of a file were compared with theirs.
#
# Checksums are as in RFC 3720: initial value and final xor of all ones, reflected, polynomial 0x1EDC6F41.

cdef extern from "engine/tables/block_checks.hpp" namespace "lance_arrow::engine" nogil:
    cbool has_crc_instruction()
    uint32_t _crc32c "lance_arrow::engine::crc32c"(uint32_t, const uint8_t*, int64_t)
    uint32_t _crc32c_portable "lance_arrow::engine::crc32c_portable"(uint32_t, const uint8_t*, int64_t)
    Outcome _crc32c_blocks "lance_arrow::engine::crc32c_blocks"(
        const uint8_t*, int64_t, int64_t, uint32_t*, int64_t)
    Outcome _crc32c_of "lance_arrow::engine::crc32c_of"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, uint32_t*)

    cdef cppclass Checks "lance_arrow::engine::BlockChecks":
        Checks(const int64_t*, const int64_t*, int64_t, const uint32_t*, int64_t, int64_t, int64_t) except +
        @staticmethod
        Outcome validate(const int64_t*, const int64_t*, int64_t, int64_t, int64_t)
        int64_t num_pending()
        cbool is_late()
        cbool widen(int64_t*, int64_t*)
        int64_t check(int64_t, int64_t, const uint8_t*)
        void place(int64_t, int64_t*, int64_t*)
        void take(int64_t, int64_t, const uint8_t*)

    cdef cppclass AbsentSums "lance_arrow::engine::AbsentSums":
        vector[pair[int64_t, int64_t]] places
        void find(const Checks&, int64_t, int64_t)
        void join()


def is_accelerated() -> bool:
    """Tell whether this processor has the instruction; tables are used where not."""
    return has_crc_instruction()


def crc32c(const uint8_t[::1] data not None, uint32_t crc=0) -> int:
    """Return the checksum of what `crc` is the checksum of (0: of nothing), followed by `data`."""
    with nogil:
        crc = _crc32c(crc, &data[0], data.shape[0])
    return crc


def crc32c_portable(const uint8_t[::1] data not None, uint32_t crc=0) -> int:
    """Return what `crc32c` does, without the instruction."""
    with nogil:
        crc = _crc32c_portable(crc, &data[0], data.shape[0])
    return crc


def crc32c_blocks(const uint8_t[::1] data not None, int64_t block_bytes, uint32_t[::1] out not None) -> None:
    """Compute the checksum of every block of `block_bytes`, the last one short.

    Parameters
    ----------
    data
        ``(n,) uint8``.
    block_bytes
        At least 1.
    out
        ``(ceil(n / block_bytes),) uint32``, filled.

    Raises
    ------
    InternalError
        `out` has another length, or there is no such block size.
    """
    cdef Outcome outcome
    with nogil:
        outcome = _crc32c_blocks(&data[0], data.shape[0], block_bytes, &out[0], out.shape[0])
    check_outcome(outcome)


def crc32c_of(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    uint32_t[::1] out not None,
) -> None:
    """Compute the checksums of ``data[starts[i] : stops[i]]``.

    Parameters
    ----------
    data
        ``(m,) uint8``.
    starts, stops
        ``(n,) int64`` each, half-open; overlaps allowed.
    out
        ``(n,) uint32``, filled.

    Raises
    ------
    InternalError
        A range lies outside `data`, or lengths contradict each other; ``detail`` is the range.
    """
    cdef Outcome outcome
    if stops.shape[0] != starts.shape[0] or out.shape[0] != starts.shape[0]:
        raise refusal(b"starts, stops and out have contradicting lengths", -1, 0)
    with nogil:
        outcome = _crc32c_of(&data[0], data.shape[0], &starts[0], &stops[0], starts.shape[0], &out[0])
    check_outcome(outcome)


cdef class BlockChecks:
    """Checksums of a file's blocks, and which blocks were found right; may be shared between threads.

    Parameters
    ----------
    starts, sizes
        ``(n,) int64`` each: places of disjoint buffers in the file, in bytes, ascending, none empty.
    crcs
        ``(num_blocks,) uint32``: checksums of all blocks, buffer by buffer; blocks count from a buffer's own start.
    block_bytes
        Size of all blocks but the last of each buffer.

    Attributes
    ----------
    num_blocks, num_pending
        How many blocks there are, and how many of them were not checked yet.
    is_late
        Whether checksums are read when blocks are: what `absent` names must be taken before `check`.
    pointer
        Capsule of the C++ object for the native engine; valid as long as this object.

    Raises
    ------
    InternalError
        Buffers overlap or are empty, or there is not one checksum per block.
    """

    cdef unique_ptr[Checks] checks
    cdef readonly int64_t num_blocks
    cdef readonly object pointer

    def __init__(
        self, const int64_t[::1] starts not None, const int64_t[::1] sizes not None, const uint32_t[::1] crcs not None,
        int64_t block_bytes,
    ) -> None:
        if sizes.shape[0] != starts.shape[0]:
            raise refusal(b"starts and sizes have contradicting lengths", -1, 0)
        self._fill(&starts[0], &sizes[0], starts.shape[0], &crcs[0], crcs.shape[0], block_bytes, -1)

    @staticmethod
    def late(
        const int64_t[::1] starts not None, const int64_t[::1] sizes not None, int64_t num_blocks, int64_t block_bytes,
        int64_t place,
    ) -> BlockChecks:
        """Return the blocks of a large file, whose checksums are read when blocks are.

        Parameters
        ----------
        starts, sizes, num_blocks, block_bytes
            As above; the number of checksums in place of them.
        place
            Where the first checksum lies in the file.
        """
        cdef BlockChecks found = BlockChecks.__new__(BlockChecks)
        if sizes.shape[0] != starts.shape[0] or place < 0:
            raise refusal(b"starts and sizes have contradicting lengths, or checksums no place", -1, 0)
        found._fill(&starts[0], &sizes[0], starts.shape[0], NULL, num_blocks, block_bytes, place)
        return found

    cdef int _fill(
        self, const int64_t* starts, const int64_t* sizes, int64_t num_buffers, const uint32_t* crcs, int64_t num_blocks,
        int64_t block_bytes, int64_t place,
    ) except -1:
        check_outcome(Checks.validate(starts, sizes, num_buffers, num_blocks, block_bytes))
        self.num_blocks = num_blocks
        self.checks.reset(new Checks(starts, sizes, num_buffers, crcs, num_blocks, block_bytes, place))
        self.pointer = PyCapsule_New(self.checks.get(), "lance_arrow.BlockChecks", NULL)
        return 0

    @property
    def is_late(self) -> bool:
        return self.checks.get().is_late()

    @property
    def num_pending(self) -> int:
        return self.checks.get().num_pending()

    def widen(
        self, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int64_t[::1] wide_starts not None,
        int64_t[::1] wide_stops not None,
    ) -> int:
        """Widen ranges of the file to the borders of the unchecked blocks that they begin and end in.

        Parameters
        ----------
        starts, stops
            ``(n,) int64`` each, half-open.
        wide_starts, wide_stops
            ``(n,) int64`` each, filled.

        Returns
        -------
        int
            How many of the ranges hold bytes of unchecked blocks.
        """
        cdef int64_t range_number, num_pending = 0, n = starts.shape[0]
        if stops.shape[0] != n or wide_starts.shape[0] != n or wide_stops.shape[0] != n:
            raise refusal(b"starts, stops and their wider twins have contradicting lengths", -1, 0)
        with nogil:
            for range_number in range(n):
                wide_starts[range_number], wide_stops[range_number] = starts[range_number], stops[range_number]
                num_pending += self.checks.get().widen(&wide_starts[range_number], &wide_stops[range_number])
        return num_pending

    def absent(
        self, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    ) -> tuple[numpy.ndarray, numpy.ndarray] | None:
        """Return where checksums lie in the file that must be here before blocks of ranges are checked.

        Parameters
        ----------
        starts, stops
            ``(n,) int64`` each, half-open.

        Returns
        -------
        tuple of two ``(m,) int64``, or None
            Starts and stops of places, ascending and apart; `take` takes what lies there. None if all are here.
        """
        cdef AbsentSums found
        cdef int64_t range_number, n = starts.shape[0]
        cdef size_t number
        if stops.shape[0] != n:
            raise refusal(b"starts and stops have contradicting lengths", -1, 0)
        with nogil:
            for range_number in range(n):
                found.find(self.checks.get()[0], starts[range_number], stops[range_number])
            found.join()
        if found.places.size() == 0:
            return None
        return (
            numpy.array([found.places[number].first for number in range(found.places.size())], numpy.int64),
            numpy.array([found.places[number].second for number in range(found.places.size())], numpy.int64),
        )

    def take(self, int64_t place, const uint8_t[::1] data not None) -> None:
        """Take checksums from the start of a place that `absent` named on; others behind them are taken, too."""
        with nogil:
            self.checks.get().take(place, data.shape[0], &data[0])

    def check(
        self, const uint8_t[::1] data not None, const int64_t[::1] positions not None,
        const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    ) -> int:
        """Check the unchecked blocks that lie whole within ranges of the file.

        Parameters
        ----------
        data
            ``(m,) uint8``: bytes of the file; those of range i begin at ``positions[i]``.
        positions, starts, stops
            ``(n,) int64`` each; the ranges are half-open.

        Returns
        -------
        int
            The first block that contradicts its checksum, or -1. Blocks before it are marked as checked.
        """
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

    def place(self, int64_t block) -> tuple[int, int]:
        """Return the half-open bytes of the file that a block has."""
        cdef int64_t start, stop
        if block < 0 or block >= self.num_blocks:
            raise refusal(b"there is no such block", block, 0)
        self.checks.get().place(block, &start, &stop)
        return start, stop
