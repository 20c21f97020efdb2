# What describes a file, read from its end in one call.

cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        string_view()
        string_view(const char*, size_t)
        const char* data()
        size_t size()

cdef extern from "engine/tables/file_head.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Tail:
        Tail()
        string_view bytes
        uint64_t file_size

    cdef cppclass ChecksumBytes:
        string_view table
        uint32_t block_bytes, num_buffers
        uint64_t num_blocks
        const char* starts()
        const char* sizes()
        const char* blocks()

    cdef cppclass CFileHead "lance_arrow::engine::FileHead":
        uint16_t minor
        uint32_t num_columns, num_buffers
        string_view column_table, buffer_table, descriptor, schema
        uint64_t first_column
        int64_t num_rows
        cbool promises_sums, has_sums
        ChecksumBytes sums
        cbool read(Tail*, cbool)


cdef BlockChecks _blocks_of(const ChecksumBytes& sums):
    """Make the blocks of a table that was found sound."""
    cdef BlockChecks found = BlockChecks.__new__(BlockChecks)
    cdef vector[int64_t] starts, sizes
    cdef vector[uint32_t] crcs
    starts.resize(sums.num_buffers + 1)
    sizes.resize(sums.num_buffers + 1)
    crcs.resize(sums.num_blocks + 1)
    memcpy(starts.data(), sums.starts(), 8 * sums.num_buffers)
    memcpy(sizes.data(), sums.sizes(), 8 * sums.num_buffers)
    memcpy(crcs.data(), sums.blocks(), 4 * sums.num_blocks)
    found._fill(starts.data(), sizes.data(), sums.num_buffers, crcs.data(), <int64_t>sums.num_blocks, sums.block_bytes)
    return found


def read_file_head(const uint8_t[::1] tail not None, int64_t file_size, bint wants_sums) -> tuple[Any, ...] | None:
    """Read footer, tables, checksums and descriptor of a file of version 2.1 or later from its end.

    Parameters
    ----------
    tail
        Last bytes of the file.
    file_size
        Bytes of the whole file; `tail` is its end.
    wants_sums
        Whether what is read is compared with the file's checksums.

    Returns
    -------
    tuple or None
        None if the file is not in the usual form of writers, or if metadata lies before the tail. Otherwise the minor
        version, and the offsets of column metadata, of the table of columns, and of that of global buffers. Then the
        numbers of columns and of global buffers, first and last byte of the descriptor, and the schema's message in it.
        Then the rows, and whether the file was written with checksums. Last, ``(BlockChecks, start, size)`` of the
        table of checksums, or None.
    """
    cdef Tail end
    cdef CFileHead head
    cdef const char* first = <const char*>&tail[0]
    cdef int64_t before = file_size - tail.shape[0]
    if before < 0:
        raise refusal(b"the tail is larger than its file", -1, 0)
    end.bytes = string_view(first, tail.shape[0])
    end.file_size = file_size
    if not head.read(&end, wants_sums):
        return None
    sums = None
    if head.has_sums:
        sums = (_blocks_of(head.sums), before + (head.sums.table.data() - first), head.sums.table.size())
    return (
        head.minor, head.first_column, before + (head.column_table.data() - first),
        before + (head.buffer_table.data() - first), head.num_columns, head.num_buffers,
        before + (head.descriptor.data() - first),
        before + (head.descriptor.data() - first) + <int64_t>head.descriptor.size(),
        head.schema.data()[:head.schema.size()], head.num_rows, head.promises_sums, sums,
    )
