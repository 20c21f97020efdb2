# What a written file says of its columns, and the checksums of its buffers: collected natively, serialized at once.

cdef extern from "engine/tables/column_records.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass PlacedBuffers:
        PlacedBuffers()
        vector[int64_t] positions, sizes

    cdef cppclass CColumnRecords "lance_arrow::engine::ColumnRecords":
        CColumnRecords(int64_t) except +
        int64_t num_columns()
        int64_t length(int64_t)
        cbool is_described(int64_t)
        void add_page(int64_t, string_view, const PlacedBuffers&, int64_t, int64_t) except +
        void describe(int64_t, string_view, const PlacedBuffers&) except +
        int64_t first_wrong(const int64_t*)
        string serialized(vector[int64_t]*) except +

    string _any_message "lance_arrow::engine::any_message"(string_view, string_view) except +

cdef extern from "engine/tables/block_sums.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass CBlockSums "lance_arrow::engine::BlockSums":
        CBlockSums(int64_t) except +
        vector[int64_t] starts, sizes
        vector[uint32_t] columns, kinds, crcs
        int64_t stop()
        cbool cover(uint32_t, uint32_t, int64_t, const uint8_t*, int64_t) except +


cdef string_view _bytes_view(bytes data):
    return string_view(<const char*>data, len(data))


cdef PlacedBuffers _placed(positions, sizes) except *:
    cdef PlacedBuffers placed
    for number in positions:
        placed.positions.push_back(number)
    for number in sizes:
        placed.sizes.push_back(number)
    return placed


def any_message(bytes type_url, bytes value) -> bytes:
    """Return a serialized ``google.protobuf.Any``."""
    return _any_message(_bytes_view(type_url), _bytes_view(value))


cdef class ColumnRecords:
    """Metadata of the columns of a written file.

    Parameters
    ----------
    num_columns
        Physical columns.
    """

    cdef unique_ptr[CColumnRecords] records

    def __init__(self, int64_t num_columns) -> None:
        self.records.reset(new CColumnRecords(num_columns))

    def add_page(self, int64_t column, bytes description, positions, sizes, int64_t length, int64_t priority) -> None:
        """Add the next page of a column.

        Parameters
        ----------
        column
            Number of the column.
        description
            Serialized ``google.protobuf.Any``.
        positions, sizes
            Places of its buffers.
        length, priority
            Rows as the column counts them, and the first top-level row. Source: ColumnMetadata.Page.
        """
        cdef PlacedBuffers placed = _placed(positions, sizes)
        self.records.get().add_page(column, _bytes_view(description), placed, length, priority)

    def describe(self, int64_t column, bytes description, positions, sizes) -> None:
        """Set the description of a whole column, and the places of its own buffers."""
        cdef PlacedBuffers placed = _placed(positions, sizes)
        self.records.get().describe(column, _bytes_view(description), placed)

    def is_described(self, int64_t column) -> bool:
        """Return whether `describe` was called for a column."""
        return self.records.get().is_described(column)

    def length(self, int64_t column) -> int:
        """Return the rows of all pages of a column."""
        return self.records.get().length(column)

    def first_wrong(self, const int64_t[::1] expected not None) -> int:
        """Return the first column without a description, or with another length than expected (below 0: any); or -1."""
        if expected.shape[0] != self.records.get().num_columns():
            raise refusal(b"there is not one length per column", -1, 0)
        return self.records.get().first_wrong(&expected[0])

    def serialized(self) -> tuple[bytes, numpy.ndarray]:
        """Return all messages one after another, and ``(num_columns,) int64`` bytes of each."""
        cdef vector[int64_t] sizes
        cdef string messages = self.records.get().serialized(&sizes)
        return messages, _int64_array(sizes)


cdef object _int64_array(const vector[int64_t]& numbers):
    found = numpy.empty(numbers.size(), numpy.int64)
    cdef int64_t[::1] view = found
    if numbers.size():
        memcpy(&view[0], numbers.data(), 8 * numbers.size())
    return found


cdef object _uint32_array(const vector[uint32_t]& numbers):
    found = numpy.empty(numbers.size(), numpy.uint32)
    cdef uint32_t[::1] view = found
    if numbers.size():
        memcpy(&view[0], numbers.data(), 4 * numbers.size())
    return found


cdef class BlockSums:
    """Checksums of the buffers of a written file, in the order of the file.

    Parameters
    ----------
    block_bytes
        Bytes per checksum.
    """

    cdef unique_ptr[CBlockSums] sums

    def __init__(self, int64_t block_bytes) -> None:
        self.sums.reset(new CBlockSums(block_bytes))

    @property
    def num_buffers(self) -> int:
        """Buffers that are covered."""
        return self.sums.get().starts.size()

    @property
    def num_blocks(self) -> int:
        """Blocks of all of them."""
        return self.sums.get().crcs.size()

    @property
    def stop(self) -> int:
        """Where the last one ends."""
        return self.sums.get().stop()

    def cover(self, uint32_t kind, uint32_t column, int64_t position, const uint8_t[::1] data not None) -> bool:
        """Add a buffer; returns False if it begins before the last one ends. Empty ones are passed over."""
        cdef cbool covered
        if data.shape[0] == 0:
            return True
        with nogil:
            covered = self.sums.get().cover(kind, column, position, &data[0], data.shape[0])
        return covered

    def arrays(self) -> tuple[numpy.ndarray, ...]:
        """Return positions and sizes (int64), columns, kinds and checksums (uint32)."""
        cdef CBlockSums* sums = self.sums.get()
        return (_int64_array(sums.starts), _int64_array(sums.sizes), _uint32_array(sums.columns),
                _uint32_array(sums.kinds), _uint32_array(sums.crcs))
