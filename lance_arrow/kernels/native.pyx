# cython: language_level=3, boundscheck=False, wraparound=False
"""The engine for reads of few rows: pages as C++ objects, and a leaf's rows read, opened and laid out without Python.

What it cannot do it refuses with a sentence, and the same rows are then read by the layouts' and codecs' own methods,
which know how to name column, page and bytes.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from lance_arrow.kernels.outcome cimport Outcome

cdef const char* _CHUNK = "lance_arrow.chunk_codec/1"
cdef const char* _VALUE = "lance_arrow.value_codec/1"
cdef int _ALL_VALID_ITEM = 1
cdef int _NULLABLE_ITEM = 3
cdef const char* _STORED = "lance_arrow.stored_values/1"


cdef const LaChunkCodec* _chunk_codec(object capsule) except? NULL:
    if capsule is None:
        return NULL
    return <const LaChunkCodec*>PyCapsule_GetPointer(capsule, _CHUNK)


cdef class NativePage:
    """One page as the engine sees it; keeps alive what it points into. `data_buffer` is the buffer that rows lie in,
    `second_buffer` one that is read too or -1, `offset_bits` the width of the offsets of its values as they are stored,
    0 where they have one width; `is_for_scans` tells whether long runs of rows, too, are read faster this way than by
    the layouts."""

    cdef unique_ptr[Page] page
    cdef tuple kept
    cdef readonly int data_buffer
    cdef readonly int second_buffer
    cdef readonly int offset_bits
    cdef readonly bint is_for_scans

    @property
    def num_rows(self):
        return self.page.get().num_rows

    @property
    def value_bits(self):
        return self.page.get().value_bits


cdef NativePage _page(Page* made, int64_t num_rows, layers, int data_buffer, int offset_bits, tuple kept):
    cdef NativePage page = NativePage.__new__(NativePage)
    page.page.reset(made)
    made.num_rows = num_rows
    page.data_buffer = data_buffer
    page.second_buffer = -1
    page.offset_bits = offset_bits
    for kind in layers:
        made.layers.push_back(<uint8_t>int(kind))
    page.kept = kept
    page.is_for_scans = True
    return page


cdef bint _has_form(ChunkForm* form, tuple levels, bint large, values, rep, def_) except -1:
    """Write down the form of chunks; False where the codecs take what the engine has no room for."""
    form.large = large
    form.values = _chunk_codec(values)
    form.rep = _chunk_codec(rep)
    form.def_ = _chunk_codec(def_)
    form.max_rep, form.max_def, form.max_visible = levels
    form.has_items = False
    if form.values.num_buffers < 0 or form.values.num_buffers > 8:
        return False
    for stream in (rep, def_):
        # Levels are decoded into 16 bits each, whatever a codec says of itself.
        if stream is not None and (_chunk_codec(stream).bits != 16 or _chunk_codec(stream).num_buffers != 1):
            return False
    return True


def chunked_page(
    int64_t num_rows, layers, tuple levels, int offset_bits, values, rep, def_, bint large,
    const int64_t[::1] chunk_starts not None, const int64_t[::1] value_starts not None,
    const int64_t[::1] rows_started=None, const int64_t[::1] rows_finished=None,
    const int64_t[::1] rows_left=None, tuple items=None,
):
    """Build a page of chunks.

    Parameters
    ----------
    num_rows
        Rows of the page.
    layers, levels
        Layer kinds, inner-most first; largest repetition, definition and visible level.
    offset_bits
        Width of the offsets of the values, 0 where they have one width.
    values, rep, def_
        Capsules of chunk codecs; None for a level stream that does not exist.
    large
        Whether sizes in chunk headers have 32 bits.
    chunk_starts, value_starts, rows_started, rows_finished, rows_left
        ``(num_chunks + 1,) int64``; the last three with lists only.
    items
        ``(bits, values, offsets or None, offset_bits, num_items)`` of a dictionary.

    Returns
    -------
    NativePage or None
        None where the codecs take what the engine has no room for.
    """
    cdef ChunkForm form
    cdef ChunkPlaces places
    cdef const uint8_t[::1] item_values, item_offsets
    if not _has_form(&form, levels, large, values, rep, def_):
        return None
    form.has_items = items is not None
    if items is not None and form.values.bits not in (8, 16, 32, 64):
        return None
    if items is not None:
        item_values = items[1]
        form.items.bits, form.items.offset_bits, form.items.num_items = items[0], items[3], items[4]
        form.items.values, form.items.values_bytes = &item_values[0], item_values.shape[0]
        form.items.offsets = NULL
        if items[2] is not None:
            item_offsets = items[2]
            form.items.offsets = &item_offsets[0]
    places.chunk_starts, places.value_starts = &chunk_starts[0], &value_starts[0]
    places.num_chunks = chunk_starts.shape[0] - 1
    places.rows_started = NULL
    places.rows_finished = NULL
    places.rows_left = NULL
    if rows_started is not None and rows_finished is not None and rows_left is not None:
        places.rows_started, places.rows_finished = &rows_started[0], &rows_finished[0]
        places.rows_left = &rows_left[0]
    kept = (values, rep, def_, chunk_starts, value_starts, rows_started, rows_finished, rows_left, items)
    return _page(new ChunkedPage(form, places), num_rows, layers, 1, offset_bits, kept)


def chunked_pages(
    const int64_t[::1] num_rows not None, layers, tuple levels, int offset_bits, values, def_, bint large,
    const int64_t[::1] chunk_starts not None, const int64_t[::1] value_starts not None,
    const int64_t[::1] borders not None,
):
    """Build many pages of chunks of one form, without lists and dictionaries.

    Parameters
    ----------
    num_rows
        ``(n,) int64``: rows of each page.
    layers, levels, offset_bits, values, def_, large
        As in `chunked_page`.
    chunk_starts, value_starts
        As in `chunked_page`, of all pages one after the other.
    borders
        ``(n + 1,) int64``: where in these each page begins, and their end.

    Returns
    -------
    list of NativePage, or None
        As in `chunked_page`.
    """
    cdef ChunkForm form
    cdef ChunkPlaces places
    cdef int64_t one, n = num_rows.shape[0], total = chunk_starts.shape[0]
    cdef tuple kept = (values, def_, chunk_starts, value_starts)
    cdef tuple kinds = tuple([int(kind) for kind in layers])
    if borders.shape[0] != n + 1 or value_starts.shape[0] != total:
        raise ValueError("arrays over pages have contradicting lengths")
    for one in range(n):
        if borders[one] < 0 or borders[one + 1] - borders[one] < 2 or borders[one + 1] > total:
            raise ValueError("a page has no chunk, or lies outside the tables")
    if not _has_form(&form, levels, large, values, None, def_):
        return None
    places.rows_started = places.rows_finished = places.rows_left = NULL
    found = []
    for one in range(n):
        places.chunk_starts, places.value_starts = &chunk_starts[borders[one]], &value_starts[borders[one]]
        places.num_chunks = borders[one + 1] - borders[one] - 1
        found.append(_page(new ChunkedPage(form, places), num_rows[one], kinds, 1, offset_bits, kept))
    return found


def zipped_page(
    int64_t num_rows, layers, tuple levels, int offset_bits, tuple counts, tuple entry, values, int64_t row_bytes,
    const int64_t[::1] row_starts=None, stored=None,
):
    """Build a page of zipped entries.

    Parameters
    ----------
    num_rows, layers, levels, offset_bits
        As in `chunked_page`; the visible level is -1 without lists.
    counts
        Entries and values of the page.
    entry
        Bits of repetition and definition levels, bytes per value (-1: lengths are stored), bits of a length (0: none).
    values
        Capsule of a value codec.
    row_bytes, row_starts
        Bytes of every row, or (``row_bytes`` unused) ``(num_rows + 1,) int64`` places in the stream.
    stored
        Capsule that tells which values are stored as they are; None where the codec has none.
    """
    cdef StreamForm form
    form.zip.bits_rep, form.zip.bits_def, form.zip.bytes_per_value, form.zip.bits_per_offset = entry
    form.max_rep, form.max_def, form.zip.max_visible = levels
    form.num_entries, form.num_values = counts
    form.values = <const LaValueCodec*>PyCapsule_GetPointer(values, _VALUE)
    form.stored = NULL
    if stored is not None:
        form.stored = <const LaStoredValues*>PyCapsule_GetPointer(stored, _STORED)
    cdef NativePage page
    cdef const int64_t* starts = NULL
    if row_starts is not None:
        starts = &row_starts[0]
    page = _page(new ZippedPage(form, starts, row_bytes), num_rows, layers, 0, offset_bits, (values, row_starts, stored))
    page.is_for_scans = row_starts is None
    return page


def flat_page(int64_t num_rows, int64_t bits, int data_buffer, int validity_buffer=-1):
    """Build a page of values of one width, or bits, back to back.

    Parameters
    ----------
    num_rows
        Rows of the page; both buffers are large enough for them.
    bits
        Of a value: 1 or a multiple of 8.
    data_buffer, validity_buffer
        Numbers of buffers: values, and a bit for each of them that is set where it is valid; -1 where all are.
    """
    cdef bint has_validity = validity_buffer >= 0
    layers = (_NULLABLE_ITEM if has_validity else _ALL_VALID_ITEM,)
    cdef NativePage page = _page(new FlatPage(bits, has_validity), num_rows, layers, data_buffer, 0, ())
    page.second_buffer = validity_buffer
    return page


def binary_page(
    int64_t num_rows, int offset_bits, int data_buffer, int ends_buffer, int64_t end_bytes, uint64_t null_adjustment
):
    """Build a page of byte strings.

    Parameters
    ----------
    num_rows, offset_bits
        As in `chunked_page`; the buffer of ends is large enough.
    data_buffer, ends_buffer
        Numbers of buffers: the bytes, and where each string ends.
    end_bytes
        Bytes of an end, 4 or 8.
    null_adjustment
        Added to the ends of nulls; 0 where none is null.
    """
    layers = (_NULLABLE_ITEM,)
    cdef NativePage page = _page(
        new BinaryPage(end_bytes, null_adjustment), num_rows, layers, data_buffer, offset_bits, ())
    page.second_buffer = ends_buffer
    return page


def places_page(NativePage inner not None, layers, int highest):
    """Build a page of places of values out of the page that holds them; they tell which values are null.

    Parameters
    ----------
    inner
        Positions and sizes, 64 bits each, without a structure.
    layers, highest
        Layer kinds of the values, inner-most first, and the largest definition level of these.

    Returns
    -------
    NativePage or None
        None where `inner` holds something else.
    """
    if inner.page.get().value_bits != PLACE_BITS or inner.offset_bits != 0:
        return None
    cdef NativePage page = _page(
        new PlacesPage(inner.page.get(), highest), inner.page.get().num_rows, layers, inner.data_buffer, 0, (inner,))
    page.is_for_scans = inner.is_for_scans
    return page


cdef class LeafTake:
    """Rows of one leaf in the making; made by `prepare_leaves`."""

    cdef Leaf leaf
    cdef vector[PageRef] refs
    cdef list pages
    cdef object lent
    cdef int value_offset_bits


cdef LeafTake _prepare(tuple wanted, tuple part_rows, int64_t num_rows, int64_t limit_bytes, allocate):
    cdef LeafTake take = LeafTake.__new__(LeafTake)
    cdef int64_t value_bits = wanted[2], start = 0, width
    cdef bint has_lists = False
    cdef Py_ssize_t part, num_parts = len(part_rows)
    cdef PageRef ref
    cdef NativePage page
    cdef uint8_t* address
    take.pages = wanted[0]
    for item in take.pages:
        page = item[0]
        if page is None or page.page.get().value_bits != value_bits or page.offset_bits != wanted[3]:
            return None
        ref.page = page.page.get()
        ref.first_row, ref.data_start, ref.data_bytes = item[1], item[2][page.data_buffer], item[3][page.data_buffer]
        ref.second_start = ref.second_bytes = 0
        if page.second_buffer >= 0:
            ref.second_start, ref.second_bytes = item[2][page.second_buffer], item[3][page.second_buffer]
        take.refs.push_back(ref)
    for bits in wanted[1]:
        take.leaf.offset_bits.push_back(<int>bits)
        has_lists = has_lists or bits != 0
    take.leaf.value_bits = value_bits
    take.value_offset_bits = wanted[3]
    for num_bytes in wanted[4]:
        take.leaf.field_bytes.push_back(<int64_t>num_bytes)
    take.leaf.lent = value_bits > 0 and value_bits % 8 == 0 and not has_lists and take.leaf.field_bytes.size() == 0
    width = value_bits // 8
    if take.leaf.lent:
        # Every row is a value of known size: it is decoded where Arrow wants it.
        take.lent = allocate(num_rows * width)
        address = <uint8_t*><size_t>take.lent.address
    take.leaf.parts.resize(num_parts)
    for part in range(num_parts):
        if num_parts == 1:
            take.leaf.borrow_part()
        else:
            take.leaf.parts[part].reset(new LeafPart())
        take.leaf.parts[part].get().limit = limit_bytes
        if take.leaf.lent:
            take.leaf.parts[part].get().values.lend(address + start * width, <int64_t>part_rows[part] * width, False)
            start += part_rows[part]
    return take


def prepare_leaves(list wanted, tuple part_rows, int64_t limit_bytes, allocate):
    """Make room for rows of leaves.

    Parameters
    ----------
    wanted
        Per leaf ``(pages, offset_bits, value_bits, value_offset_bits, field_bytes)``: pages that hold rows, in order,
        each ``(NativePage or None, first_row, buffer_offsets, buffer_sizes)``; per node of the path, inner-most first,
        the width of a list's offsets or 0; bits of a value, or 0 and the width of its offsets; bytes of each field of
        a packed struct, which are the bits of a value together, and nothing for others.
    part_rows
        Rows of each part; parts are read side by side.
    limit_bytes
        Most bytes of values or of one read.
    allocate
        Called with a number of bytes; returns a writable Arrow buffer.

    Returns
    -------
    list
        LeafTake, or None for a leaf with a page that the engine cannot read or whose values are not the schema's.
    """
    cdef int64_t num_rows = sum(part_rows)
    return [_prepare(leaf, part_rows, num_rows, limit_bytes, allocate) for leaf in wanted]


def run_leaves(
    list leaves, int part, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int fd,
    const uint8_t[::1] memory, int64_t size, checks=None,
):
    """Read and open part number `part` of several leaves.

    Parameters
    ----------
    leaves
        LeafTake objects.
    starts, stops
        ``(n,) int64``: the rows of this part, ascending, disjoint, none empty.
    fd, memory, size
        An open file, or (fd -1) its bytes, and its size.
    checks
        `BlockChecks` of the file: what was not checked before is compared with its checksum. None: nothing is.

    Returns
    -------
    refusal
        Why a leaf could not be read, or None; after a refusal nothing of any leaf may be used.
    requests, ranges, bytes_wanted, bytes_read
        What was read.
    """
    cdef Request request = _request(starts, stops, fd, memory, size, checks)
    cdef LeafTake leaf
    cdef Outcome outcome
    for item in leaves:
        leaf = item
        outcome = _run(leaf, part, &request)
        if outcome.message != NULL:
            return outcome.message.decode("ascii"), *_counts(&request)
    return None, *_counts(&request)


def read_leaves(
    list wanted, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int64_t num_rows, int fd,
    const uint8_t[::1] memory, int64_t size, int64_t limit_bytes, int64_t largest_offset,
    allocate, checks=None,
):
    """Read, open and lay out leaves one after the other: what one was read into serves the next.

    Parameters
    ----------
    wanted, limit_bytes, allocate
        As for `prepare_leaves`.
    largest_offset
        As for `finish_leaves`.
    starts, stops, fd, memory, size, checks
        As for `run_leaves`, and the number of the rows.

    Returns
    -------
    done
        Per leaf what `finish_leaves` says of it, or None for one that the engine cannot read; why a leaf could not be
        read where one was refused, and then nothing may be used.
    requests, ranges, bytes_wanted, bytes_read
        What was read.
    """
    cdef Request request = _request(starts, stops, fd, memory, size, checks)
    cdef LeafTake leaf
    cdef Outcome outcome
    cdef tuple part_rows = (num_rows,)
    cdef list done = []
    for item in wanted:
        leaf = _prepare(item, part_rows, num_rows, limit_bytes, allocate)
        if leaf is None:
            done.append(None)
            continue
        _lend_large(leaf, &request, limit_bytes, allocate)
        outcome = _run(leaf, 0, &request)
        if outcome.message != NULL:
            return outcome.message.decode("ascii"), *_counts(&request)
        finished = _finish(leaf, leaf.value_offset_bits, largest_offset, allocate)
        if isinstance(finished, str):
            return finished, *_counts(&request)
        done.append(finished)
        leaf.leaf.give_back_part()
    return done, *_counts(&request)


cdef int _lend_large(LeafTake leaf, const Request* request, int64_t limit_bytes, allocate) except -1:
    """Let large values of variable width be decoded where Arrow wants them: growing and copying cost fresh pages."""
    cdef int64_t num_bytes
    if leaf.leaf.value_bits != 0:
        return 0
    num_bytes = expected_bytes(leaf.refs, request.rows)
    if 0 < num_bytes <= limit_bytes:
        leaf.lent = allocate(num_bytes)
        leaf.leaf.parts[0].get().values.lend(<uint8_t*><size_t>leaf.lent.address, num_bytes, True)
    return 0


cdef struct Request:
    LaRuns rows
    Reader reader
    int64_t requests
    int64_t ranges
    int64_t bytes_wanted
    int64_t bytes_read


cdef Request _request(
    const int64_t[::1] starts, const int64_t[::1] stops, int fd, const uint8_t[::1] memory, int64_t size, checks
):
    cdef Request request
    request.rows.starts, request.rows.stops, request.rows.num_runs = &starts[0], &stops[0], starts.shape[0]
    request.reader.fd, request.reader.size = fd, size
    request.reader.memory = NULL
    if memory is not None:
        request.reader.memory = &memory[0]
    request.reader.checks = NULL
    if checks is not None:
        # `checks` is held by the caller's argument as long as the request is used.
        request.reader.checks = <BlockChecks*>PyCapsule_GetPointer(checks.pointer, "lance_arrow.BlockChecks")
    request.requests = request.ranges = request.bytes_wanted = request.bytes_read = 0
    return request


cdef tuple _counts(const Request* request):
    return request.requests, request.ranges, request.bytes_wanted, request.bytes_read


cdef Outcome _run(LeafTake leaf, int part, Request* request):
    cdef unique_ptr[LeafReader] one
    cdef Outcome outcome
    one.reset(new LeafReader(leaf.refs, request.reader))
    with nogil:
        outcome = one.get().run(request.rows, leaf.leaf.parts[part].get())
    request.requests += one.get().count().requests
    request.ranges += one.get().count().ranges
    request.bytes_wanted += one.get().count().bytes_wanted
    request.bytes_read += one.get().count().bytes_read
    return outcome


cdef tuple _split(LeafTake leaf, int64_t num_values, allocate):
    """Lay the fields of a packed struct out, each in memory of its own."""
    cdef vector[uint8_t*] addresses
    fields = []
    for num_bytes in leaf.leaf.field_bytes:
        buffer = allocate(num_values * num_bytes)
        addresses.push_back(<uint8_t*><size_t>buffer.address)
        fields.append(buffer)
    with nogil:
        split_fields(leaf.leaf, addresses.data())
    return tuple(fields)


cdef object _finish(LeafTake leaf, int offset_bits, int64_t largest_offset, allocate):
    cdef int64_t slots[MAX_NODES]
    cdef cbool nullable[MAX_NODES]
    cdef NodeOut nodes[MAX_NODES]
    cdef size_t num_nodes = leaf.leaf.offset_bits.size(), node, part
    cdef int64_t num_values = 0, num_bytes = 0
    cdef Outcome outcome
    if num_nodes > MAX_NODES:
        return "there must be 1 to 64 layers"
    with nogil:
        outcome = measure_leaf(leaf.leaf, slots, nullable)
    if outcome.message != NULL:
        return outcome.message.decode("ascii")
    for part in range(leaf.leaf.parts.size()):
        num_values += leaf.leaf.parts[part].get().num_values
        num_bytes += leaf.leaf.parts[part].get().num_bytes
    structure = []
    for node in range(num_nodes):
        nodes[node].slots, nodes[node].null_count = slots[node], 0
        nodes[node].validity = NULL
        nodes[node].offsets = NULL
        validity = offsets = None
        if nullable[node] and slots[node]:
            validity = allocate((slots[node] + 7) // 8)
            nodes[node].validity = <uint8_t*><size_t>validity.address
            nodes[node].validity[(slots[node] + 7) // 8 - 1] = 0
        if leaf.leaf.offset_bits[node]:
            if leaf.leaf.offset_bits[node] == 32 and node and slots[node - 1] > largest_offset:
                return "a list has more items than its offsets can count"
            offsets = allocate((slots[node] + 1) * leaf.leaf.offset_bits[node] // 8)
            nodes[node].offsets = <void*><size_t>offsets.address
        structure.append((validity, offsets))
    with nogil:
        outcome = fill_structure(leaf.leaf, nodes)
    if outcome.message != NULL:
        return outcome.message.decode("ascii")
    cdef uint8_t* value_bytes = NULL
    cdef uint8_t* offset_bytes = NULL
    values, value_offsets = leaf.lent, None
    if leaf.leaf.value_bits == 0 and values is not None:
        # What outgrew the loan lies elsewhere.
        values = values.slice(0, num_bytes) if leaf.leaf.parts[0].get().values.is_lent() else None
    if offset_bits:
        if offset_bits == 32 and num_bytes > largest_offset:
            return "the values exceed 32-bit offsets"
        value_offsets = allocate((num_values + 1) * offset_bits // 8)
        offset_bytes = <uint8_t*><size_t>value_offsets.address
    if leaf.leaf.field_bytes.size():
        values = _split(leaf, num_values, allocate)
    elif values is None:
        values = allocate(num_bytes if offset_bits else (num_values * leaf.leaf.value_bits + 7) // 8)
        value_bytes = <uint8_t*><size_t>values.address
        if leaf.leaf.value_bits == 1 and num_values:
            value_bytes[(num_values + 7) // 8 - 1] = 0
    if value_bytes != NULL or offset_bytes != NULL:
        with nogil:
            copy_values(leaf.leaf, value_bytes, offset_bytes, offset_bits)
    for node in range(num_nodes):
        validity, offsets = structure[node]
        items = slots[node - 1] if leaf.leaf.offset_bits[node] else 0
        structure[node] = (
            slots[node], validity if nodes[node].null_count else None, nodes[node].null_count, offsets, items)
    return num_values, values, value_offsets, structure


def finish_leaves(list leaves, int64_t largest_offset, allocate):
    """Lay out what all parts read.

    Parameters
    ----------
    leaves
        LeafTake objects whose parts have all run.
    largest_offset
        Of offsets of 32 bits.
    allocate
        Called with a number of bytes; returns a writable Arrow buffer.

    Returns
    -------
    list of tuple or str
        ``(num_values, values, offsets or None, nodes)`` with ``(slots, validity or None, null_count, offsets or None,
        num_items)`` per node, inner-most first; a sentence where the levels contradict the layers. Values are one
        buffer, or a tuple of one per field.
    """
    cdef LeafTake leaf
    done = []
    for item in leaves:
        leaf = item
        finished = _finish(leaf, leaf.value_offset_bits, largest_offset, allocate)
        if isinstance(finished, str):
            return finished
        done.append(finished)
    return done
