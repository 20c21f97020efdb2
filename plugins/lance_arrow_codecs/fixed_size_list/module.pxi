# Lists of one length.

cdef extern from "lance_arrow_codecs/fixed_size_list/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_list_rows(
        const LaChunkCodec*, int64_t, const vector[int64_t]&, int64_t, int64_t item_bits) except +
    HeldValueCodec* hold_zipped_nulls(int64_t stored_bytes, int64_t row_bytes) except +


cdef int64_t _list_bits(child, int64_t items_per_value) except -1:
    """Bits of a list whose items lie as they are; 0 where they do not."""
    if child is None:
        return 0
    return 8 * chunk_codec_of(child).plain_bytes * items_per_value


def fixed_size_lists_codec(
    child, int64_t items_per_value, bitmaps=(), int num_stored=0, int64_t item_bits=0
) -> object | None:
    """Lists of one length.

    Parameters
    ----------
    child
        Capsule of the codec of items; None, if all items are null.
    items_per_value
        Values of `child` in a list.
    bitmaps, num_stored
        Bits of each bitmap of items in a list, and how many of the bitmaps are stored; all others are of nulls.
    item_bits
        Bits of the items of a list, where there is no `child`.

    Returns
    -------
    object or None
        A value is a row of the bitmaps and the items, each in whole bytes. None if items have no fixed width.
    """
    cdef HeldChunkCodec* held
    cdef vector[int64_t] bits = bitmaps
    cdef const LaChunkCodec* own = chunk_codec_of(child)
    if own != NULL:
        if own.plain_bytes > 0 and bits.empty():
            return chunk_capsule(hold_plain_chunks(_list_bits(child, items_per_value)))
        item_bits = own.bits * items_per_value
    held = hold_list_rows(own, items_per_value, bits, num_stored, item_bits)
    if held == NULL:
        return None
    return chunk_capsule(held, child)


def zipped_fixed_size_lists_codec(child, int64_t items_per_value, int64_t bitmap_bytes=0) -> object | None:
    """The same, zipped, behind so many bytes of bitmaps.

    `child` is still the codec of a chunk, which one list's items are. None unless its values lie as they are.
    """
    cdef int64_t bits = _list_bits(child, items_per_value)
    return value_capsule(hold_plain_values(bits + 8 * bitmap_bytes)) if bits else None


def zipped_nulls_codec(int64_t stored_bytes, int64_t row_bytes) -> object:
    """Zipped lists of one length without items: rows of so many bytes that begin with the stored ones, bitmaps."""
    if not 0 < stored_bytes <= row_bytes:
        raise InvalidArgumentError(f"rows of {row_bytes} bytes cannot begin with {stored_bytes} stored ones")
    return value_capsule(hold_zipped_nulls(stored_bytes, row_bytes))
