# Pages whose values, or bytes, lie in memory: what a layout has read as its index.


def held_page(indices not None, int64_t index_bits, tuple items not None, bint keeps_items) -> NativePage:
    """Build a page of values by index, which reads nothing.

    Parameters
    ----------
    indices
        ``(n,) uint8``: an index of 8, 16, 32 or 64 bits for each row. Those of nulls name an item, too.
    index_bits
        Their width.
    items, keeps_items
        ``(bits, values, offsets or None, offset_bits, num_items)``, and whether values are the indices.
    """
    cdef const uint8_t[::1] held = indices
    cdef HeldForm form
    if index_bits not in (8, 16, 32, 64):
        raise InvalidArgumentError(f"indices cannot have {index_bits} bits")
    form.indices, form.index_bytes, form.keeps_items = &held[0], index_bits // 8, keeps_items
    _set_items(&form.items, items)
    return _page(
        new_held_page(form), held.shape[0] // form.index_bytes, (_ALL_VALID_ITEM,), -1, 0 if keeps_items else items[3],
        (indices, items))


def index_page(NativePage page not None, const uint8_t[::1] memory not None, starts, sizes) -> Refusal | None:
    """Let a page read its index out of memory.

    Parameters
    ----------
    page
        Has no index yet.
    memory
        The buffers that the index is made of.
    starts, sizes
        Of all buffers of the page: where they lie in `memory`, and their sizes; the start of others means nothing.

    Returns
    -------
    Refusal or None
        What contradicts itself.
    """
    cdef vector[PageRef] refs
    cdef Reader reader = _in_memory(memory)
    cdef ReadCount count
    cdef Outcome outcome
    refs.resize(1)
    _has_ref(&refs[0], (page, 0, starts, sizes))
    with nogil:
        outcome = load_indices(refs, reader, &count)
    return refusal_of(outcome)


def try_rows(
    NativePage page not None, const uint8_t[::1] memory not None, starts, sizes,
    const int64_t[::1] row_starts not None, const int64_t[::1] row_stops not None, int64_t most_bytes,
) -> Refusal | None:
    """Read rows of a page in memory, and forget them.

    Parameters
    ----------
    page, memory, starts, sizes
        As for `index_page`; all buffers lie in `memory`.
    row_starts, row_stops
        ``(n,) int64``: rows of the page, ascending, disjoint, none empty, and at least one.
    most_bytes
        The most bytes that they take.

    Returns
    -------
    Refusal or None
        Why the rows cannot be read.
    """
    cdef vector[PageRef] refs
    cdef Reader reader = _in_memory(memory)
    cdef ReadCount count
    cdef Outcome outcome
    cdef LeafPart part
    cdef LaRuns rows = _runs(row_starts, row_stops)
    part.limit = most_bytes
    refs.resize(1)
    _has_ref(&refs[0], (page, 0, starts, sizes))
    with nogil:
        outcome = load_indices(refs, reader, &count)
        if outcome.message == NULL:
            outcome = read_leaf(refs, reader, NULL, rows, &part, &count)
    return refusal_of(outcome)


cdef Reader _in_memory(const uint8_t[::1] memory) noexcept:
    cdef Reader reader
    reader.fd, reader.memory, reader.size = -1, &memory[0], memory.shape[0]
    reader.segments = NULL
    reader.checks = NULL
    return reader


def buffered_page(NativePage page not None, const uint8_t[::1] data not None) -> NativePage:
    """Build a page whose data buffer lies in memory.

    Parameters
    ----------
    page
        Has its index, and its values in one buffer.
    data
        That buffer.
    """
    cdef Page* inner = page.page.get()
    if page.data_buffer < 0 or page.second_buffer >= 0 or inner.in_two_steps or not inner.is_indexed():
        raise InvalidArgumentError("only pages with an index, and their values in one buffer, lie in memory")
    return _page(
        new_buffered_page(inner, &data[0], data.shape[0]), inner.num_rows, (), -1, page.offset_bits, (page, data))


def flattened_page(
    NativePage items not None, layers, int64_t items_per_list, int own_levels, tuple bitmaps, int64_t item_bits
) -> NativePage | None:
    """Build a page of fixed-size lists out of one of their items: each item repeats the levels of its list.

    Parameters
    ----------
    items
        A row for each item.
    layers
        Layer kinds of the lists and what is around them, inner-most first.
    items_per_list
        Items of a list.
    own_levels
        Definition levels of the layers inside the list; levels above them are those of `layers`.
    bitmaps
        ``(bits, level)`` for each of these layers, outer-most first. These are the slots of a list, 0 if none can be
        null, and the smallest definition level of nulls.
    item_bits
        Bits of all items of a list.

    Returns
    -------
    NativePage or None
        None where `items` has lists, values of other widths, or must read its index first.
    """
    cdef FlattenedForm form
    cdef const Page* inner = items.page.get()
    if items_per_list < 1 or item_bits < 0:
        raise InvalidArgumentError(f"lists of {items_per_list} items in {item_bits} bits are no values")
    if inner.value_bits <= 0 or inner.value_bits != item_bits // items_per_list or not inner.is_indexed():
        return None
    form.items_per_list, form.own_levels, form.item_bits = items_per_list, own_levels, item_bits
    for bits, level in bitmaps:
        if bits < 0 or bits > items_per_list:
            raise InvalidArgumentError(f"a layer has {bits} slots in a list of {items_per_list} items")
        form.bitmap_bits.push_back(bits)
        form.null_levels.push_back(level)
    cdef NativePage page = _page(
        new_flattened_page(form, inner), inner.num_rows // items_per_list, layers, items.data_buffer, 0, (items,))
    page.second_buffer, page.third_buffer = items.second_buffer, items.third_buffer
    return page
