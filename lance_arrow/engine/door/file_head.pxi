# What describes a file, read from its end in one call.

cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        string_view()
        string_view(const char*, size_t)
        const char* data()
        size_t size()
        bint operator!=(string_view)

cdef extern from "engine/tables/file_head.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass TailRange "lance_arrow::engine::Tail::Range":
        uint64_t start, stop

    cdef cppclass TailPiece "lance_arrow::engine::Tail::Piece":
        uint64_t start
        string_view bytes

    cdef cppclass Tail:
        Tail()
        string_view bytes
        uint64_t file_size
        vector[TailPiece] pieces
        vector[TailRange] absent

    cdef cppclass ChecksumBytes:
        string_view table
        uint32_t block_bytes, num_buffers
        uint64_t num_blocks
        cbool is_late
        const char* starts()
        const char* sizes()
        const char* columns()
        const char* blocks()

    cdef cppclass CFileHead "lance_arrow::engine::FileHead":
        uint16_t minor
        uint32_t num_columns, num_buffers
        string_view column_table, buffer_table, descriptor, schema
        uint64_t first_column
        int64_t num_rows
        cbool promises_sums, has_sums
        ChecksumBytes sums
        cbool read(Tail*, cbool, cbool)

    uint32_t _crc_of "lance_arrow::engine::crc_of"(string_view)


cdef BlockChecks _blocks_of(const ChecksumBytes& sums, int64_t place):
    """Make the blocks of a table that was found sound, and lies at a place in the file."""
    cdef BlockChecks found = BlockChecks.__new__(BlockChecks)
    cdef vector[int64_t] starts, sizes
    cdef vector[uint32_t] crcs
    starts.resize(sums.num_buffers + 1)
    sizes.resize(sums.num_buffers + 1)
    memcpy(starts.data(), sums.starts(), 8 * sums.num_buffers)
    memcpy(sizes.data(), sums.sizes(), 8 * sums.num_buffers)
    if sums.is_late:
        found._fill(
            starts.data(), sizes.data(), sums.num_buffers, NULL, <int64_t>sums.num_blocks, sums.block_bytes,
            place + <int64_t>sums.table.size())
        return found
    crcs.resize(sums.num_blocks + 1)
    memcpy(crcs.data(), sums.blocks(), 4 * sums.num_blocks)
    found._fill(
        starts.data(), sizes.data(), sums.num_buffers, crcs.data(), <int64_t>sums.num_blocks, sums.block_bytes, -1)
    return found


cdef int64_t _place_in(const Tail& end, string_view part) noexcept:
    """Return the place in the file of bytes that `Tail.at` has returned."""
    cdef size_t number
    cdef string_view piece
    for number in range(end.pieces.size()):
        piece = end.pieces[number].bytes
        if piece.data() <= part.data() and part.data() + part.size() <= piece.data() + piece.size():
            return <int64_t>end.pieces[number].start + (part.data() - piece.data())
    return <int64_t>end.file_size - <int64_t>end.bytes.size() + (part.data() - end.bytes.data())


def read_file_head(
    const uint8_t[::1] tail not None, int64_t file_size, bint wants_sums, list pieces not None, int64_t most_sum_bytes,
) -> tuple[Any, ...] | list[tuple[int, int]] | None:
    """Read footer, tables, checksums and descriptor of a file of version 2 from its end.

    Parameters
    ----------
    tail
        Last bytes of the file.
    file_size
        Bytes of the whole file; `tail` is its end.
    wants_sums
        Whether what is read is compared with the file's checksums.
    pieces
        ``(start, bytes)`` of ranges of the file before its tail, which were missing before.
    most_sum_bytes
        None is returned of a file with more checksums of blocks: each block takes memory before any of them is read.

    Returns
    -------
    tuple, list or None
        None if the file is not in the usual form of writers. A list if metadata is missing: its half-open byte ranges.
        They are inside the file; nothing else about them is checked.

        Otherwise the minor version, and the offsets of column metadata, of the table of columns, and of that of global
        buffers. Then the numbers of columns and of global buffers, first and last byte of the descriptor, and the
        schema's message in it. Then the rows, and whether the file was written with checksums. Then ``(BlockChecks,
        start, size, columns)`` of the table of checksums, without those of blocks where they are late, or None; `columns`
        are bytes of the checksums of columns. Last, the bytes of the table of columns.
    """
    cdef Tail end
    cdef CFileHead head
    cdef TailPiece piece
    cdef const uint8_t[::1] held
    if tail.shape[0] > file_size:
        raise refusal(b"the tail is larger than its file", -1, 0)
    end.bytes = string_view(<const char*>&tail[0], tail.shape[0])
    end.file_size = file_size
    for start, held in pieces:
        if held.shape[0]:
            piece.start = start
            piece.bytes = string_view(<const char*>&held[0], held.shape[0])
            end.pieces.push_back(piece)
    if not head.read(&end, wants_sums, True):
        return [(one.start, one.stop) for one in end.absent] if end.absent.size() else None
    sums = None
    if head.has_sums and 4 * head.sums.num_blocks > <uint64_t>most_sum_bytes:
        return None
    if head.has_sums:
        place = _place_in(end, head.sums.table)
        of_columns = head.sums.columns()[:4 * head.num_columns]
        sums = (_blocks_of(head.sums, place), place, head.sums.table.size(), of_columns)
    descriptor = _place_in(end, head.descriptor)
    return (
        head.minor, head.first_column, _place_in(end, head.column_table), _place_in(end, head.buffer_table),
        head.num_columns, head.num_buffers, descriptor, descriptor + <int64_t>head.descriptor.size(),
        head.schema.data()[:head.schema.size()], head.num_rows, head.promises_sums, sums,
        head.column_table.data()[:head.column_table.size()],
    )


# Fields of a schema as arrays, without an object for each.

cdef extern from "engine/tables/schema_message.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t kSchemaFacts

    cdef cppclass SchemaNode:
        int64_t name, name_bytes

    cdef cppclass SchemaNodes:
        SchemaNodes()
        vector[SchemaNode] nodes
        vector[string_view] types
        vector[uint8_t] are_leaf_types
        vector[pair[string_view, string_view]] metadata
        int64_t num_columns
        cbool read(string_view, int)


NUM_SCHEMA_FACTS = kSchemaFacts


def read_schema_message(bytes message not None, int minor) -> tuple[Any, ...] | None:
    """Read the fields of a lance.file.Schema in the order of the message, which is pre-order.

    Parameters
    ----------
    message
        The serialized message.
    minor
        Minor version of the file, of version 2.

    Returns
    -------
    tuple or None
        None if the schema is not in the usual form of writers. Otherwise ``(n, NUM_SCHEMA_FACTS) int64``, the members of
        ``SchemaNode`` of each field, and a list of the names of the fields. Then a list of ``(name, is a leaf)`` of the
        distinct types, and the number of physical columns. Last, a list of keys and values: metadata of the schema.
    """
    cdef SchemaNodes found
    cdef int64_t number, count
    cdef const char* data = <const char*>message
    if not found.read(string_view(data, len(message)), minor):
        return None
    count = <int64_t>found.nodes.size()
    facts = numpy.empty((count, kSchemaFacts), numpy.int64)
    cdef int64_t[:, ::1] out = facts
    if count:
        memcpy(&out[0, 0], found.nodes.data(), count * sizeof(SchemaNode))
    facts.flags.writeable = False
    names = [
        data[found.nodes[number].name:found.nodes[number].name + found.nodes[number].name_bytes].decode("utf-8")
        for number in range(count)
    ]
    types = [
        (found.types[number].data()[:found.types[number].size()].decode("utf-8"), found.are_leaf_types[number] != 0)
        for number in range(<int64_t>found.types.size())
    ]
    metadata = [
        (one.first.data()[:one.first.size()], one.second.data()[:one.second.size()]) for one in found.metadata
    ]
    return facts, names, types, found.num_columns, metadata
