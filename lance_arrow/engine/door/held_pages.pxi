# Pages whose values are indices in memory, into items in memory.


def held_page(indices not None, int64_t index_bits, tuple items not None, bint keeps_items) -> NativePage:
    """Build a page of values by index, which reads nothing.

    Parameters
    ----------
    indices
        ``(n,) uint8``: an index of 8, 16, 32 or 64 bits for each row. Those of nulls name an item, too.
    index_bits
        Their width.
    items, keeps_items
        As for `chunked_page`.
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
