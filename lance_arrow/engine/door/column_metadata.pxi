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


_NO_NUMBERS = numpy.empty(0, numpy.int64)
_NO_NUMBERS.flags.writeable = False


cdef tuple _one_page(CPageTable& pages, dict alike):
    """Return what tells rows and buffers of one page; pages with as many rows and buffers share it."""
    cdef int64_t m = <int64_t>pages.starts.size(), num_rows = pages.row_starts[1]
    cdef object key = (num_rows, m)
    shared = alike.get(key)
    if shared is None:
        shared = alike[key] = numpy.array([0, num_rows], numpy.int64), numpy.array([0, m], numpy.int64), _FIRST
        for one in shared:
            one.flags.writeable = False
    return shared


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


cdef struct NumbersOf:
    # Of one column among the numbers of all: places and sizes of its own buffers, then of those of its only page.
    int64_t own, num_own, of_page, num_of_page


cdef inline object _numbers_part(numbers, int64_t start, int64_t count):
    return numbers[start:start + count] if count else _NO_NUMBERS


cdef class _LastDescription:
    """What stands for the description before: most columns have the same, which need not be made into bytes again."""

    cdef string_view bytes
    cdef object found

    cdef object described(self, const DescriptionField& field, dict known, describe):
        if field.where == 1:
            return _description(field)
        if self.found is None or self.bytes != field.here:
            self.found = _described(_description(field), known, describe)
            self.bytes = field.here
        return self.found


def read_column_metadata(
    const uint8_t[::1] data, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    uint64_t file_size, uint64_t alignment, const uint32_t[::1] crcs, describe,
) -> list[tuple[Any, ...]]:
    """Read the metadata of some columns of a file.

    Parameters
    ----------
    data
        Bytes that hold all messages.
    starts, stops
        ``(n,) int64``: where the message of each column is in `data`.
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
    cdef Py_ssize_t number, count = starts.shape[0]
    cdef vector[string_view] messages
    cdef vector[uint32_t] expected
    if stops.shape[0] != count or (crcs is not None and crcs.shape[0] != count):
        raise refusal(b"there must be one checksum per column", -1, 0)
    for number in range(count):
        if not 0 <= starts[number] <= stops[number] <= data.shape[0]:
            raise refusal(b"a message lies outside of the bytes", number, starts[number])
        messages.push_back(_message(data, starts[number], stops[number]))
        if crcs is not None:
            expected.push_back(crcs[number])
    return _columns_of(messages, expected, file_size, alignment, describe)


def read_columns_at_hand(
    const uint8_t[::1] tail not None, bytes table not None, columns, int64_t most_bytes, uint64_t file_size,
    uint64_t alignment, bytes sums not None, describe,
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]] | None:
    """Read the metadata of some columns of a file from its end.

    Parameters
    ----------
    tail
        Last bytes of the file.
    table
        The table of columns: place and size of each message, 64 bits each.
    columns
        Numbers of columns.
    most_bytes
        Most bytes of a message.
    file_size, alignment, describe
        As for `read_column_metadata`.
    sums
        Checksum of each message of the file, 32 bits each; empty where nothing is compared.

    Returns
    -------
    tuple or None
        What `read_column_metadata` returns, and half-open byte ranges in the file. None if a message begins before the
        tail, or has more bytes.
    """
    cdef Py_ssize_t column, num_columns = len(table) // 16
    cdef const char* entries = table
    cdef const char* crcs = sums
    cdef cbool are_compared = len(sums) > 0
    cdef uint64_t[2] place
    cdef uint64_t first = file_size - <uint64_t>tail.shape[0]
    cdef uint32_t crc
    cdef vector[string_view] messages
    cdef vector[uint32_t] expected
    if <uint64_t>tail.shape[0] > file_size or (are_compared and len(sums) != 4 * num_columns):
        raise refusal(b"a tail, or checksums, of another file", -1, 0)
    places = []
    for column in columns:
        if not 0 <= column < num_columns:
            raise refusal(b"there is no such column", column, 0)
        memcpy(place, entries + 16 * column, 16)
        if place[0] < first or place[0] > file_size or place[1] > file_size - place[0] or place[1] > <uint64_t>most_bytes:
            return None
        messages.push_back(_message(tail, <int64_t>(place[0] - first), <int64_t>(place[0] + place[1] - first)))
        places.append((place[0], place[0] + place[1]))
        if are_compared:
            memcpy(&crc, crcs + 4 * column, 4)
            expected.push_back(crc)
    return _columns_of(messages, expected, file_size, alignment, describe), places


cdef inline string_view _message(const uint8_t[::1] data, int64_t start, int64_t stop):
    return string_view(<const char*>&data[start], stop - start) if start < stop else string_view()


cdef list _columns_of(
    const vector[string_view]& messages, const vector[uint32_t]& crcs, uint64_t file_size, uint64_t alignment, describe
):
    """Read messages; there are no checksums to compare them with, or as many."""
    cdef CPageTable pages
    cdef ColumnMetadata metadata
    cdef dict known = {}, alike = {}
    cdef Py_ssize_t number, count = <Py_ssize_t>messages.size()
    cdef vector[int64_t] held
    cdef vector[NumbersOf] parts
    cdef NumbersOf part
    cdef int64_t[::1] copied
    cdef _LastDescription of_column = _LastDescription(), of_page = _LastDescription()
    found = []
    for number in range(count):
        pages = CPageTable()
        metadata = ColumnMetadata()
        part = NumbersOf(0, 0, 0, 0)
        if crcs.size() and _crc_of(messages[number]) != crcs[number]:
            parts.push_back(part)
            found.append(((CHECKSUM_FAULT, -1, 0, 0, 0), None, None, None, None, None))
            continue
        metadata.read(messages[number], file_size, alignment, 0, &pages)
        if metadata.fault.kind != 0:
            parts.push_back(part)
            found.append((_fault(metadata.fault), None, None, None, None, None))
            continue
        part.own, part.num_own = <int64_t>held.size(), <int64_t>metadata.starts.size()
        held.insert(held.end(), metadata.starts.begin(), metadata.starts.end())
        held.insert(held.end(), metadata.sizes.begin(), metadata.sizes.end())
        if pages.num_pages() == 1:
            part.of_page, part.num_of_page = <int64_t>held.size(), <int64_t>pages.starts.size()
            held.insert(held.end(), pages.starts.begin(), pages.starts.end())
            held.insert(held.end(), pages.sizes.begin(), pages.sizes.end())
            table = (_one_page(pages, alike), of_page.described(pages.descriptions[0], known, describe))
        else:
            table = _pages_of(pages)
            table = (*table[:4], [_described(one, known, describe) for one in table[4]], table[5])
        parts.push_back(part)
        own = of_column.described(metadata.description, known, describe)
        found.append((None, own, _fault(metadata.pages_fault), table))
    numbers = numpy.empty(<int64_t>held.size(), numpy.int64)
    if held.size():
        copied = numbers
        _copied(&copied[0], held)
    numbers.flags.writeable = False
    for number in range(count):
        one = found[number]
        if one[0] is not None:
            continue
        part = parts[number]
        table = one[3]
        if len(table) == 2:
            (row_starts, borders, description_of), described = table
            table = (
                row_starts, borders, _numbers_part(numbers, part.of_page, part.num_of_page),
                _numbers_part(numbers, part.of_page + part.num_of_page, part.num_of_page), [described], description_of)
        found[number] = (
            None, one[1], _numbers_part(numbers, part.own, part.num_own),
            _numbers_part(numbers, part.own + part.num_own, part.num_own), one[2], table)
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
