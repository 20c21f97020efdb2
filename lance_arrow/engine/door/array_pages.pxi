# Pages of 2.0, whose parts are arrays in buffers of their own.

def flat_page(int64_t num_rows, int64_t bits, int data_buffer, int validity_buffer=-1) -> NativePage:
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
    cdef NativePage page = _page(new_flat_page(bits, has_validity), num_rows, layers, data_buffer, 0, ())
    page.second_buffer = validity_buffer
    return page


def nullable_items_page(
    int64_t num_rows, int64_t list_size, int64_t item_bits, int data_buffer, int items_buffer, int validity_buffer=-1
) -> NativePage:
    """Build a page of lists of one length whose items may be null.

    Parameters
    ----------
    num_rows
        Lists of the page; all buffers are large enough for them.
    list_size, item_bits
        Items of a list, and bits of an item: 1 or a multiple of 8.
    data_buffer, items_buffer, validity_buffer
        Numbers of buffers. Bits are set where an item is valid, and where a list is; -1 where all lists are.
    """
    cdef bint has_validity = validity_buffer >= 0
    layers = (_NULLABLE_ITEM if has_validity else _ALL_VALID_ITEM,)
    cdef NativePage page = _page(
        new_nullable_items_page(list_size, item_bits, has_validity), num_rows, layers, data_buffer, 0, ())
    page.second_buffer, page.third_buffer = items_buffer, validity_buffer
    return page


ALL_VALID, ALL_NULL = -1, -2


def list_rows_page(int64_t num_rows, bits, buffers, int validity_buffer=-1) -> NativePage:
    """Build a page of lists of lists of one length, some of whose items may be null.

    Parameters
    ----------
    num_rows
        Lists of the page; all buffers are large enough for them.
    bits
        Of each part in a list: the bitmaps of each layer of items, outer-most first, and the innermost items.
    buffers
        Numbers of the buffers of these. For a bitmap `ALL_VALID` or `ALL_NULL` may stand, for items `ALL_NULL`.
    validity_buffer
        Of a bit for each list, set where it is valid; -1 where all are.
    """
    cdef ListRowsForm form
    form.bits, form.buffers, form.has_validity = bits, buffers, validity_buffer >= 0
    if form.bits.size() != form.buffers.size() or form.bits.size() < 2 or min(bits) < 1:
        raise InvalidArgumentError(f"lists of {len(bits)} parts have {len(buffers)} buffers")
    cdef int data_buffer = form.buffers.back()
    if data_buffer == ALL_VALID:
        raise InvalidArgumentError("items of lists have no buffer")
    layers = (_NULLABLE_ITEM if form.has_validity else _ALL_VALID_ITEM,)
    cdef NativePage page = _page(new_list_rows_page(form), num_rows, layers, max(data_buffer, -1), 0, ())
    page.second_buffer = validity_buffer
    return page


def list_page(int64_t num_rows, int ends_buffer, uint64_t null_adjustment, int64_t num_items) -> NativePage:
    """Build a page of lists whose items lie in another column.

    Parameters
    ----------
    num_rows
        Lists of the page; the buffer of ends is large enough for ends of 64 bits.
    ends_buffer
        Number of the buffer that says where each list ends.
    null_adjustment
        As in `binary_page`.
    num_items
        Items of all lists of the page.
    """
    return _page(new_list_page(null_adjustment, num_items), num_rows, (_NULLABLE_ITEM,), ends_buffer, 0, ())


def binary_page(
    int64_t num_rows, int offset_bits, int data_buffer, int ends_buffer, int64_t end_bytes, uint64_t null_adjustment,
    codes=None, frames=None, int64_t most_frame_bytes=0,
) -> NativePage:
    """Build a page of byte strings.

    Parameters
    ----------
    num_rows, offset_bits
        As in `chunk_template`; the buffer of ends is large enough.
    data_buffer, ends_buffer
        Numbers of buffers: the bytes, and where each string ends.
    end_bytes
        Bytes of an end, 4 or 8.
    null_adjustment
        Added to the ends of nulls; 0 where none is null.
    codes
        Capsule of a value codec of variable width that decodes each string; None where they are stored plainly.
    frames, most_frame_bytes
        Capsule of the scheme that made one frame of all bytes, and the most bytes of its content; or None.
    """
    cdef BinaryForm form
    cdef FrameForm frame
    cdef NativePage page
    kept, layers = (codes, frames), (_NULLABLE_ITEM,)
    form.end_bytes, form.null_adjustment = end_bytes, null_adjustment
    form.codes = NULL
    if codes is not None:
        form.codes = <const LaValueCodec*>PyCapsule_GetPointer(codes, _VALUE)
        if form.codes.bits != 0:
            raise InvalidArgumentError("codes of strings are values of variable width")
    if frames is None:
        page = _page(new_binary_page(form), num_rows, layers, data_buffer, offset_bits, kept)
        page.second_buffer = ends_buffer
        return page
    frame.buffer, frame.most_bytes = data_buffer, most_frame_bytes
    frame.frames = <const LaFrameCodec*>PyCapsule_GetPointer(frames, _FRAMES)
    return _page(new_framed_binary_page(form, frame), num_rows, layers, ends_buffer, offset_bits, kept)


def indexed_page(
    NativePage indices not None, NativePage items not None, int64_t num_items, bint keeps_items, int64_t most_item_bytes
) -> NativePage | None:
    """Build a page of values by index.

    Parameters
    ----------
    indices, items
        Pages of the integers, a row each, and of the items, a row each. Buffers of both are those of one page.
    num_items
        Rows of `items`.
    keeps_items
        Whether values are the indices, which count items from 0. Otherwise index 0 is null, and k is item k - 1.
    most_item_bytes
        The most bytes of all items.

    Returns
    -------
    NativePage or None
        None where indices have another width than 8, 16, 32 or 64 bits, or items are no runs of bytes.
    """
    cdef IndexedForm form
    cdef const Page* of_items = items.page.get()
    cdef NativePage page
    if indices.page.get().value_bits not in (8, 16, 32, 64) or not indices.page.get().is_indexed():
        return None
    if of_items.value_bits < 0 or of_items.value_bits % 8 != 0 or not of_items.parts.empty():
        return None
    form.indices, form.items, form.num_items = indices.page.get(), of_items, num_items
    form.item_buffers[0], form.item_buffers[1] = items.data_buffer, items.second_buffer
    form.item_buffers[2] = items.third_buffer
    form.keeps_items, form.most_item_bytes = keeps_items, most_item_bytes
    page = _page(
        new_indexed_page(form), indices.page.get().num_rows, (_NULLABLE_ITEM,), indices.data_buffer,
        0 if keeps_items else items.offset_bits, (indices, items))
    page.second_buffer, page.third_buffer = indices.second_buffer, indices.third_buffer
    return page
