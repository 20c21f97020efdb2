# What the metadata of columns say: of some columns of one file, or of one column of many files.

cdef extern from "engine/tables/column_metadata.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct MetadataFault:
        int kind
        int64_t page
        uint64_t first, second, third

    cdef cppclass DescriptionField:
        uint64_t where
        string_view here
        uint64_t start, size

    cdef cppclass AnyMessage:
        AnyMessage()
        string_view type_url, value
        cbool read(string_view)

    cdef cppclass CPageTable "lance_arrow::engine::PageTable":
        CPageTable()
        vector[int64_t] row_starts, borders, starts, sizes, description_of
        vector[DescriptionField] descriptions
        int64_t num_pages()

    cdef cppclass ColumnMetadata:
        ColumnMetadata()
        DescriptionField description
        vector[uint64_t] starts, sizes
        MetadataFault fault, pages_fault
        void read(string_view, uint64_t, uint64_t, int64_t, CPageTable*)


cdef object _description(const DescriptionField& field):
    """Return the bytes of a description, or where they lie in the file: half-open."""
    if field.where == 1:
        return (field.start, field.size)
    return field.here.data()[:field.here.size()]


cdef object _fault(const MetadataFault& fault):
    return None if fault.kind == 0 else (fault.kind, fault.page, fault.first, fault.second, fault.third)


cdef int64_t* _copied(int64_t* out, const vector[int64_t]& numbers) noexcept nogil:
    if numbers.size():
        memcpy(out, numbers.data(), 8 * numbers.size())
    return out + numbers.size()


cdef tuple _pages_of(CPageTable& pages):
    """Return the arrays of a table of pages, which are parts of one, and its descriptions."""
    cdef int64_t n = pages.num_pages(), m = <int64_t>pages.starts.size()
    numbers = numpy.empty(3 * n + 2 + 2 * m, numpy.int64)
    cdef int64_t[::1] held = numbers
    cdef int64_t* out = &held[0]
    out = _copied(out, pages.row_starts)
    out = _copied(out, pages.borders)
    out = _copied(out, pages.description_of)
    out = _copied(out, pages.starts)
    _copied(out, pages.sizes)
    numbers.flags.writeable = False
    cdef int64_t number
    descriptions = [_description(pages.descriptions[number]) for number in range(<int64_t>pages.descriptions.size())]
    buffers = 3 * n + 2
    return (
        numbers[:n + 1], numbers[n + 1:2 * n + 2], numbers[buffers:buffers + m], numbers[buffers + m:], descriptions,
        numbers[2 * n + 2:buffers],
    )


cdef object _numbers(const vector[uint64_t]& numbers):
    """Return places or sizes that lie in the file as an array; the same one for all columns without any."""
    if numbers.empty():
        return _NO_NUMBERS
    found = numpy.empty(<int64_t>numbers.size(), numpy.int64)
    cdef int64_t[::1] out = found
    memcpy(&out[0], numbers.data(), 8 * numbers.size())
    found.flags.writeable = False
    return found


_NO_NUMBERS = numpy.empty(0, numpy.int64)
_NO_NUMBERS.flags.writeable = False


cdef tuple _one_page(CPageTable& pages, dict alike):
    """Return what `_pages_of` does for one page; pages of as many rows and buffers share the arrays that tell these."""
    cdef int64_t m = <int64_t>pages.starts.size()
    cdef int64_t[::1] held
    cdef int64_t num_rows = pages.row_starts[1]
    cdef object key = (num_rows, m)
    shared = alike.get(key)
    if shared is None:
        shared = alike[key] = numpy.array([0, num_rows], numpy.int64), numpy.array([0, m], numpy.int64), _FIRST
        for one in shared:
            one.flags.writeable = False
    numbers = numpy.empty(2 * m, numpy.int64)
    if m:
        held = numbers
        _copied(_copied(&held[0], pages.starts), pages.sizes)
    numbers.flags.writeable = False
    row_starts, borders, description_of = shared
    return row_starts, borders, numbers[:m], numbers[m:], [_description(pages.descriptions[0])], description_of


_FIRST = numpy.zeros(1, numpy.int64)


def split_any(bytes data not None) -> tuple[str, bytes] | None:
    """Split a serialized google.protobuf.Any into its type URL and the bytes of its message; None where it is malformed."""
    cdef AnyMessage message
    if not message.read(string_view(<const char*>data, len(data))):
        return None
    try:
        return message.type_url.data()[:message.type_url.size()].decode(), message.value.data()[:message.value.size()]
    except UnicodeDecodeError:
        return None


def read_column_metadata(
    list blocks not None, uint64_t file_size, uint64_t alignment, const uint32_t[::1] crcs, describe,
) -> list[tuple[Any, ...]]:
    """Read the metadata of some columns of a file.

    Parameters
    ----------
    blocks
        The message of each column, ``(n,) uint8``.
    file_size
        Bytes of the file.
    alignment
        Alignment of the buffers of pages in bytes.
    crcs
        ``(n,) uint32``: checksum of each message; None where the file has none.
    describe
        Called with each distinct description; what it returns stands for the description. If it is None, the bytes
        stay.

    Returns
    -------
    list of tuple
        One tuple per column. It has the fault outside of pages (or None), the description of the column, and ``(k,)
        int64`` places and sizes of the buffers of the column. Then it has the fault of its pages (or None), and the
        data of all valid pages.

        The data of pages is: ``(n + 1,) int64`` first row of each page, then all rows. ``(n + 1,) int64`` first buffer
        of each page, then the number of buffers. ``(m,) int64`` places and ``(m,) int64`` sizes of buffers. A list of
        the distinct descriptions, and ``(n,) int64`` the number of the description of each page.

        A description is its bytes, a google.protobuf.Any, or what `describe` has returned. It is a tuple of place and
        size if it is stored elsewhere. A fault is a tuple of its kind and four numbers, which ``MetadataFault``
        explains.
    """
    cdef const uint8_t[::1] block
    cdef CPageTable pages
    cdef ColumnMetadata metadata
    cdef string_view message
    cdef dict known = {}, alike = {}
    cdef Py_ssize_t number = 0
    if crcs is not None and crcs.shape[0] != len(blocks):
        raise refusal(b"there must be one checksum per column", -1, 0)
    found = []
    for block in blocks:
        pages = CPageTable()
        metadata = ColumnMetadata()
        message = string_view(<const char*>&block[0], block.shape[0]) if block.shape[0] else string_view()
        if crcs is not None and _crc_of(message) != crcs[number]:
            found.append(((CHECKSUM_FAULT, -1, 0, 0, 0), None, None, None, None, None))
            number += 1
            continue
        number += 1
        metadata.read(message, file_size, alignment, 0, &pages)
        if metadata.fault.kind != 0:
            found.append((_fault(metadata.fault), None, None, None, None, None))
            continue
        table = _one_page(pages, alike) if pages.num_pages() == 1 else _pages_of(pages)
        found.append((
            None, _described(_description(metadata.description), known, describe), _numbers(metadata.starts),
            _numbers(metadata.sizes), _fault(metadata.pages_fault),
            (*table[:4], [_described(one, known, describe) for one in table[4]], table[5]),
        ))
    return found


CHECKSUM_FAULT = 7


cdef object _described(description, dict known, describe):
    """Return what stands for a description; those that are stored elsewhere stay places."""
    if type(description) is not bytes:
        return description
    found = known.get(description)
    if found is None:
        found = describe(description)
        if found is None:
            return description
        known[description] = found
    return found
