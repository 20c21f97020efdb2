# The engine for reads of few rows: a leaf's rows read, opened and laid out, page by page without Python.
#
# For unsupported or damaged rows it returns an error text. The methods of layouts and codecs then read the same rows,
# and raise errors with column, page and byte range.

cdef class LeafTake:
    """Rows of one leaf in the making; made by `prepare_leaves`."""

    cdef Leaf leaf
    cdef vector[PageRef] refs
    cdef list pages
    cdef object lent, lent_bytes
    cdef tuple blobs
    cdef int form
    cdef object judge
    cdef int value_offset_bits


# Forms of values of variable width: as they are, as codes into one dictionary, as views. Two are for pages that all have
# a dictionary of few items, others come as they are: as codes, and as flags, whether the items satisfy a condition.
cdef enum Form:
    PLAIN = 0
    CODES = 1
    VIEWS = 2
    TEXT_VIEWS = 3
    STORED = 4
    JUDGED = 5

cdef int64_t MOST_JUDGED = 1024

FORMS = {"plain": PLAIN, "codes": CODES, "views": VIEWS, "text_views": TEXT_VIEWS, "stored": STORED}


cdef LeafTake _prepare(tuple wanted, tuple part_rows, int64_t num_rows, int64_t limit_bytes, allocate):
    if len(wanted) != 7:
        raise ValueError(f"a leaf is wanted by {len(wanted)} things, expected 7")
    cdef LeafTake take = LeafTake.__new__(LeafTake)
    cdef int64_t value_bits = wanted[2], start = 0, width
    cdef bint has_lists = False, has_items = True
    cdef Py_ssize_t part, num_parts = len(part_rows)
    cdef PageRef ref
    cdef NativePage page
    cdef uint8_t* address = NULL
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
        ref.buffers.count = 0
        if not page.page.get().is_indexed():
            _note_buffers(&ref.buffers, item[2], item[3])
        take.refs.push_back(ref)
        has_items = has_items and ref.page.has_few_items()
    for bits in wanted[1]:
        take.leaf.offset_bits.push_back(<int>bits)
        has_lists = has_lists or bits != 0
    take.leaf.value_bits = value_bits
    take.value_offset_bits = wanted[3]
    for num_bytes in wanted[4]:
        take.leaf.field_bytes.push_back(<int64_t>num_bytes)
    take.blobs = wanted[5]
    if isinstance(wanted[6], str):
        take.form = FORMS[wanted[6]]
    else:
        take.form, take.judge = JUDGED, wanted[6]
    if take.form >= STORED and (not has_items or take.refs.empty()):
        take.form = PLAIN
    elif take.form == STORED:
        take.form = CODES
    take.leaf.lent = value_bits > 0 and value_bits % 8 == 0 and not has_lists and not wanted[4] and take.blobs is None
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
        if take.form == CODES:
            take.leaf.parts[part].get().coded.reset(new ItemCodes())
            if not has_lists and num_parts == 1:
                # Every row has a code: it is written where Arrow wants it.
                take.lent = allocate(4 * num_rows)
                take.leaf.parts[part].get().coded.get().lend(<int32_t*><size_t>take.lent.address, num_rows)
        if take.leaf.lent:
            take.leaf.parts[part].get().values.lend(address + start * width, <int64_t>part_rows[part] * width, False)
            start += part_rows[part]
    return take


cdef int _note_buffers(PageBuffers* buffers, starts, sizes) except -1:
    """Write down where the buffers of a page lie; of more than it may have, that it has more."""
    cdef size_t number, count = len(starts)
    for number in range(min(count, MOST_BUFFERS)):
        buffers.starts[number], buffers.sizes[number] = starts[number], sizes[number]
    buffers.count = count
    return 0


def prepare_leaves(list wanted, tuple part_rows, int64_t limit_bytes, allocate) -> list[LeafTake | None]:
    """Allocate memory for rows of leaves.

    Parameters
    ----------
    wanted
        Per leaf ``(pages, offset_bits, value_bits, value_offset_bits, field_bytes, blobs, form)``.

        ``pages``: pages with selected rows, in order, each ``(NativePage or None, first_row, buffer_offsets,
        buffer_sizes)``. ``offset_bits``: per node of the path, inner-most first, the width of a list's offsets or 0.
        ``value_bits``: bits of a value; 0 for variable width, with ``value_offset_bits``. ``field_bytes``: bytes of
        each field of a packed struct, whose sum is the value; empty for others. ``blobs``: None, or ``(data_stop,
        most_bytes, most_at_once, offset_bits)`` if the values are places of blobs to be read. These are the end of
        values in the file, the most bytes of blobs, and the most bytes of one read. Last, the width of their offsets.
        ``form``: a key of `FORMS`. ``"codes"``: values of variable width come as codes into one dictionary. ``"views"``,
        ``"text_views"``: they come as views, checked as UTF-8 or not; only of `read_leaves`. ``"stored"``: as codes
        where all pages have a dictionary of few items. All of them have one part. Instead of a key, a condition may stand
        there: such pages give flags of rows then. It is called with ``(offsets, offset_bits, values)`` of a page's items.
        It returns a byte for each, 1 where the item satisfies it; or None if items cannot be judged. Its `null` tells
        whether null satisfies it.
    part_rows
        Rows of each part; parts are read in parallel.
    limit_bytes
        Most bytes of values or of one read.
    allocate
        Called with a number of bytes; returns a writable Arrow buffer.

    Returns
    -------
    list
        LeafTake, or None for a leaf with a page that the engine cannot read, or with values that differ from the
        schema.
    """
    cdef int64_t num_rows = sum(part_rows)
    return [_prepare(leaf, part_rows, num_rows, limit_bytes, allocate) for leaf in wanted]


def run_leaves(
    list leaves, int part, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int fd,
    const uint8_t[::1] memory, int64_t size, checks=None,
) -> tuple[str | None, int, int, int, int]:
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
        `BlockChecks` of the file: unchecked blocks are compared with their checksums. None: no checks.

    Returns
    -------
    refusal
        Error text if a leaf could not be read, or None; after an error, no leaf may be used.
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
) -> tuple[list[tuple[int, Any, Any, list[Any]] | None] | str, int, int, int, int]:
    """Read, open and lay out leaves one after the other; they share their read buffers.

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
        Per leaf the result of `finish_leaves`, or None if the engine cannot read it. Instead, an error text if a leaf
        could not be read; then no leaf may be used.
    requests, ranges, bytes_wanted, bytes_read
        What was read.
    """
    cdef Request request = _request(starts, stops, fd, memory, size, checks)
    cdef LeafTake leaf
    cdef Outcome outcome
    cdef tuple part_rows = (num_rows,)
    cdef list done = []
    cdef SelectionBitmap selection
    with nogil:
        selection.select(request.rows.starts, request.rows.stops, request.rows.num_runs)
    request.selection = &selection
    for item in wanted:
        leaf = _prepare(item, part_rows, num_rows, limit_bytes, allocate)
        if leaf is None:
            done.append(None)
            continue
        if leaf.form == JUDGED:
            refusal = _begin_judging(leaf, &request, num_rows)
            if refusal is not None:
                return refusal, *_counts(&request)
        if leaf.form == VIEWS or leaf.form == TEXT_VIEWS:
            _begin_views(leaf, num_rows, largest_offset, allocate)
        _lend_large(leaf, &request, limit_bytes, allocate)
        outcome = _run(leaf, 0, &request)
        if outcome.message != NULL:
            return outcome.message.decode("ascii"), *_counts(&request)
        finished = _finish(leaf, largest_offset, allocate, &request)
        if isinstance(finished, str):
            return finished, *_counts(&request)
        done.append(finished)
        leaf.leaf.give_back_part()
    return done, *_counts(&request)


cdef int _lend_large(LeafTake leaf, const Request* request, int64_t limit_bytes, allocate) except -1:
    """Let large values of variable width be decoded where Arrow wants them: growing and copying cost fresh pages."""
    cdef int64_t num_bytes
    if leaf.leaf.value_bits != 0 or leaf.form == CODES or leaf.form == JUDGED:
        return 0
    num_bytes = expected_bytes(leaf.refs, request.rows)
    if 0 < num_bytes <= limit_bytes:
        lent = allocate(num_bytes)
        leaf.leaf.parts[0].get().values.lend(<uint8_t*><size_t>lent.address, num_bytes, True)
        if leaf.form == PLAIN:
            leaf.lent = lent
        else:
            leaf.lent_bytes = lent
    return 0


cdef object _begin_judging(LeafTake leaf, Request* request, int64_t num_rows):
    """Let the items of all pages be judged; returns why that could not be done."""
    cdef LeafPart* part = leaf.leaf.parts[0].get()
    cdef Outcome outcome
    cdef const Items* items
    cdef const uint8_t[::1] flags
    cdef size_t number
    with nogil:
        outcome = load_indices(leaf.refs, request.reader, &request.count)
    if outcome.message != NULL:
        return outcome.message.decode("ascii")
    part.judged.reset(new JudgedItems(leaf.judge.null, num_rows))
    for number in range(leaf.refs.size()):
        items = leaf.refs[number].page.items()
        found = None
        # Judging many items for few rows would take longer than reading the rows.
        if items != NULL and 0 < items.num_items <= max(MOST_JUDGED, num_rows):
            offsets = items.offsets[:(items.num_items + 1) * (items.offset_bits // 8)]
            found = leaf.judge(offsets, items.offset_bits, items.values[:items.values_bytes])
        if found is None:
            part.judged.reset()
            leaf.form = PLAIN
            return None
        flags = found
        if flags.shape[0] != items.num_items:
            raise InternalError("items were judged that are none")
        part.judged.get().judge(items, &flags[0])
    return None


cdef int _begin_views(LeafTake leaf, int64_t num_rows, int64_t largest_offset, allocate) except -1:
    """Let values become views. Every row has one where there are no lists: it is written where Arrow wants it."""
    cdef LeafPart* part = leaf.leaf.parts[0].get()
    part.viewed.reset(new ValueViews(leaf.form == TEXT_VIEWS, max(1, largest_offset // 2 + 1)))
    if all([bits == 0 for bits in leaf.leaf.offset_bits]):
        leaf.lent = allocate(16 * num_rows)
        part.viewed.get().lend(<uint8_t*><size_t>leaf.lent.address, num_rows)
    return 0


cdef struct Request:
    LaRuns rows
    const SelectionBitmap* selection
    Reader reader
    ReadCount count


cdef Request _request(
    const int64_t[::1] starts, const int64_t[::1] stops, int fd, const uint8_t[::1] memory, int64_t size, checks
):
    cdef Request request
    request.rows.starts, request.rows.stops, request.rows.num_runs = &starts[0], &stops[0], starts.shape[0]
    request.selection = NULL
    request.reader.fd, request.reader.size = fd, size
    request.reader.memory = NULL
    if memory is not None:
        request.reader.memory = &memory[0]
    request.reader.checks = NULL
    if checks is not None:
        # `checks` is held by the caller's argument as long as the request is used.
        request.reader.checks = <Checks*>PyCapsule_GetPointer(checks.pointer, "lance_arrow.BlockChecks")
    request.count = ReadCount()
    return request


cdef tuple _counts(const Request* request):
    return request.count.requests, request.count.ranges, request.count.bytes_wanted, request.count.bytes_read


cdef Outcome _run(LeafTake leaf, int part, Request* request):
    cdef Outcome outcome
    with nogil:
        outcome = read_leaf(
            leaf.refs, request.reader, request.selection, request.rows, leaf.leaf.parts[part].get(), &request.count)
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


cdef object _read_blobs(LeafTake leaf, int64_t num_values, Request* request, allocate):
    """Read the blobs whose places were read; returns their bytes and offsets, or an error text.

    Blobs with many bytes are not read: the result has memory for them and their positions instead of their bytes."""
    cdef int64_t data_stop = leaf.blobs[0], most_bytes = leaf.blobs[1], most_at_once = leaf.blobs[2], num_bytes = 0
    cdef int offset_bits = leaf.blobs[3]
    cdef BlobPlaces places
    cdef Outcome outcome
    if request == NULL:
        return "blobs are read where all rows are one part"
    offsets = allocate((num_values + 1) * (offset_bits // 8))
    cdef uint8_t* offset_bytes = <uint8_t*><size_t>offsets.address
    cdef uint8_t* value_bytes
    # Places of nulls are empty by now.
    places = places_of_rows(leaf.leaf.parts[0].get().values.data(), num_values)
    with nogil:
        outcome = _lay_out_blobs(places, data_stop, most_bytes, offset_bits, offset_bytes, &num_bytes)
    if outcome.message != NULL:
        return outcome.message.decode("ascii")
    values = allocate(num_bytes)
    value_bytes = <uint8_t*><size_t>values.address
    if num_bytes > most_at_once:
        positions = allocate(num_values * 8)
        _copy_positions(places, <uint8_t*><size_t>positions.address)
        return (values, positions), offsets
    with nogil:
        outcome = read_laid_out(
            places, offset_bits, offset_bytes, 0, num_values, request.reader, value_bytes, &request.count)
    return (values, offsets) if outcome.message == NULL else outcome.message.decode("ascii")


cdef object _lay_values(LeafTake leaf, int64_t num_values, int64_t num_bytes, int64_t largest_offset, allocate):
    """Lay values out; returns them and their offsets, or why that could not be done."""
    cdef uint8_t* value_bytes = NULL
    cdef uint8_t* offset_bytes = NULL
    cdef int offset_bits = leaf.value_offset_bits
    if leaf.leaf.field_bytes.size():
        return _split(leaf, num_values, allocate), None
    values, value_offsets = leaf.lent, None
    if leaf.leaf.value_bits == 0 and values is not None:
        # What outgrew the loan lies elsewhere.
        values = values.slice(0, num_bytes) if leaf.leaf.parts[0].get().values.is_lent() else None
    if offset_bits:
        if offset_bits == 32 and num_bytes > largest_offset:
            return "the values exceed 32-bit offsets"
        value_offsets = allocate((num_values + 1) * offset_bits // 8)
        offset_bytes = <uint8_t*><size_t>value_offsets.address
    if values is None:
        values = allocate(num_bytes if offset_bits else (num_values * leaf.leaf.value_bits + 7) // 8)
        value_bytes = <uint8_t*><size_t>values.address
        if leaf.leaf.value_bits == 1 and num_values:
            value_bytes[(num_values + 7) // 8 - 1] = 0
    if value_bytes != NULL or offset_bytes != NULL:
        with nogil:
            _copy_leaf_values(leaf.leaf, value_bytes, offset_bytes, offset_bits)
    return values, value_offsets


cdef object _lay_codes(LeafTake leaf, const NodeOut* node, int64_t largest_offset, allocate):
    """Lay codes and the items of their dictionary out; returns them, or why that could not be done."""
    cdef LeafPart* part = leaf.leaf.parts[0].get()
    cdef ItemCodes* coded = part.coded.get()
    cdef int offset_bits = leaf.value_offset_bits
    cdef Outcome outcome
    cdef uint8_t* code_bytes
    cdef uint8_t* item_bytes
    cdef uint8_t* offset_bytes
    if leaf.leaf.parts.size() != 1 or not offset_bits:
        return "codes are read of values of variable width, in one part"
    if part.num_values != node.slots or coded.num_codes() != node.slots:
        return "values and slots differ in number"
    with nogil:
        outcome = coded.settle_empty(node.validity if node.null_count else NULL, part.limit)
    if outcome.message != NULL:
        return outcome.message.decode("ascii")
    if offset_bits == 32 and coded.num_item_bytes() > largest_offset:
        return "the values exceed 32-bit offsets"
    codes = leaf.lent if coded.is_lent() else allocate(4 * part.num_values)
    items = allocate(coded.num_item_bytes())
    offsets = allocate((coded.num_items() + 1) * offset_bits // 8)
    code_bytes, item_bytes = <uint8_t*><size_t>codes.address, <uint8_t*><size_t>items.address
    offset_bytes = <uint8_t*><size_t>offsets.address
    with nogil:
        if not coded.is_lent():
            memcpy(code_bytes, coded.codes(), 4 * part.num_values)
        coded.copy_items(item_bytes, offset_bytes, offset_bits)
    return codes, (coded.num_items(), offsets, items)


cdef object _lay_views(LeafTake leaf, const NodeOut* node, allocate):
    """Lay views and the bytes out that they point to; returns them, or why that could not be done."""
    cdef LeafPart* part = leaf.leaf.parts[0].get()
    cdef ValueViews* viewed = part.viewed.get()
    cdef uint8_t* address
    cdef int64_t num_bytes = part.num_bytes, start = 0
    if leaf.leaf.parts.size() != 1 or viewed == NULL:
        return "views are read of values of variable width, in one part"
    if part.num_values != node.slots or viewed.num_views() != node.slots:
        return "values and slots differ in number"
    views = leaf.lent
    if not viewed.is_lent():
        views = allocate(16 * part.num_values)
        address = <uint8_t*><size_t>views.address
        with nogil:
            memcpy(address, viewed.views(), 16 * part.num_values)
    # A loan that is mostly empty would be kept as long as the views.
    if leaf.lent_bytes is not None and part.values.is_lent() and 2 * num_bytes >= <int64_t>leaf.lent_bytes.size:
        values = leaf.lent_bytes.slice(0, num_bytes)
    else:
        values = allocate(num_bytes)
        address = <uint8_t*><size_t>values.address
        with nogil:
            memcpy(address, part.values.data(), num_bytes)
    buffers = []
    while start < num_bytes:
        buffers.append(values.slice(start, num_bytes - start))
        start += viewed.buffer_bytes()
    return views, tuple(buffers)


cdef object _lay_flags(LeafTake leaf, allocate):
    """Lay flags of rows out as bits."""
    cdef LeafPart* part = leaf.leaf.parts[0].get()
    cdef int64_t num_rows = part.num_values
    cdef uint8_t* address
    if part.judged.get().num_marks() != num_rows:
        return "values and flags differ in number"
    bits = allocate((num_rows + 7) // 8)
    address = <uint8_t*><size_t>bits.address
    with nogil:
        part.judged.get().copy_bits(address)
    return num_rows, bits, None, [(num_rows, None, 0, None, 0)]


cdef object _finish(LeafTake leaf, int64_t largest_offset, allocate, Request* request):
    cdef int64_t slots[MAX_NODES]
    cdef cbool nullable[MAX_NODES]
    cdef NodeOut nodes[MAX_NODES]
    cdef size_t num_nodes = leaf.leaf.offset_bits.size(), node, part
    cdef int64_t num_values = 0, num_bytes = 0
    cdef Outcome outcome
    if leaf.form == JUDGED:
        return _lay_flags(leaf, allocate)
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
    if leaf.form == CODES:
        laid_out = _lay_codes(leaf, &nodes[0], largest_offset, allocate)
    elif leaf.form != PLAIN:
        laid_out = _lay_views(leaf, &nodes[0], allocate)
    elif leaf.blobs is None:
        laid_out = _lay_values(leaf, num_values, num_bytes, largest_offset, allocate)
    else:
        laid_out = _read_blobs(leaf, num_values, request, allocate)
    if isinstance(laid_out, str):
        return laid_out
    values, value_offsets = laid_out
    for node in range(num_nodes):
        validity, offsets = structure[node]
        items = slots[node - 1] if leaf.leaf.offset_bits[node] else 0
        structure[node] = (
            slots[node], validity if nodes[node].null_count else None, nodes[node].null_count, offsets, items)
    return num_values, values, value_offsets, structure


def finish_leaves(list leaves, int64_t largest_offset, allocate) -> list[tuple[int, Any, Any, list[Any]]] | str:
    """Lay out the rows of all parts.

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
        num_items)`` per node, inner-most first; an error text if the levels contradict the layers. Values are one
        buffer, or a tuple of one per field. For blobs with too many bytes for one read, they are a tuple of memory for
        the blobs and of their positions. For codes, the offsets are the dictionary: ``(num_items, offsets, values)``; for views, the
        buffers that they point to. Flags of judged values are bits, without offsets.
    """
    cdef LeafTake leaf
    done = []
    for item in leaves:
        leaf = item
        finished = _finish(leaf, largest_offset, allocate, NULL)
        if isinstance(finished, str):
            return finished
        done.append(finished)
    return done
