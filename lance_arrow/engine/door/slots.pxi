# Structure kept as positions to validity and offsets.

cdef extern from "engine/arrays/slots.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct SlotLayer:
        const int64_t* run_starts
        const int64_t* run_stops
        int64_t num_runs
        const int64_t* positions
        int64_t num_positions
        bint lists_nulls
        const int64_t* list_slots
        const int64_t* item_starts
        int64_t num_lists
        int64_t dimension

    cdef struct SlotOut:
        uint8_t* validity
        int64_t validity_bytes
        void* offsets
        int64_t num_offsets
        int offset_bits

    cdef enum:
        _MAX_SLOT_LAYERS "lance_arrow::engine::kMaxSlotLayers"

    Outcome _unravel_slots "lance_arrow::engine::unravel_slots"(const SlotLayer*, int, const SlotOut*, int64_t*, int64_t*)
    Outcome _null_flags "lance_arrow::engine::null_flags"(const SlotLayer&, uint16_t*, int64_t)


cdef int _open_slots(SlotLayer* layer, object parts) except -1:
    """Take the addresses of a layer's arrays, which the caller's sequences keep alive."""
    cdef const int64_t[::1] starts, stops, positions, list_slots, item_starts
    run_starts, run_stops, listed, layer.lists_nulls, lists, items = parts
    starts, stops, positions = run_starts, run_stops, listed
    if stops.shape[0] != starts.shape[0]:
        raise refusal(b"arrays over runs have different lengths", -1, 2)
    layer.run_starts, layer.run_stops, layer.num_runs = &starts[0], &stops[0], starts.shape[0]
    layer.positions, layer.num_positions = &positions[0], positions.shape[0]
    layer.list_slots = layer.item_starts = NULL
    layer.num_lists = layer.dimension = 0
    if lists is not None:
        list_slots, item_starts = lists, items
        if item_starts.shape[0] != list_slots.shape[0] + 1:
            raise refusal(b"item starts are one more than lists", -1, 2)
        layer.list_slots, layer.item_starts, layer.num_lists = &list_slots[0], &item_starts[0], list_slots.shape[0]
    return 0


cdef int _open_out(SlotOut* out, object validity, object offsets) except -1:
    cdef uint8_t[::1] bits
    cdef int32_t[::1] narrow
    cdef int64_t[::1] wide
    out.validity = NULL
    out.validity_bytes = 0
    out.offsets = NULL
    out.num_offsets = 0
    out.offset_bits = 0
    if validity is not None:
        bits = validity
        out.validity, out.validity_bytes = &bits[0], bits.shape[0]
    if offsets is None:
        return 0
    if offsets.itemsize == 8:
        wide = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&wide[0], wide.shape[0], 64
    else:
        narrow = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&narrow[0], narrow.shape[0], 32
    return 0


def unravel_slots(
    layers, out_validity, out_offsets, int64_t[::1] slots not None, int64_t[::1] null_counts not None
) -> None:
    """Append validity bits and list offsets of every layer after the existing `slots`, and increase the counts.

    Parameters
    ----------
    layers
        Inner-most first; a list's items are slots of the layer before it. Each has starts and stops of the selected
        runs, the listed slots, and whether these are the null ones. A list also has the slots of lists with items, and
        the offsets of their items (then the end); other layers have None. All are ``int64``.
    out_validity, out_offsets
        For each layer a bitmap, and offsets of 32 or 64 bits; None if they are not needed.
    slots, null_counts
        For each layer the existing number; increased by those of this page.
    """
    cdef SlotLayer opened[_MAX_SLOT_LAYERS]
    cdef SlotOut out[_MAX_SLOT_LAYERS]
    cdef Outcome outcome
    cdef int num_layers = len(layers), layer
    if not 1 <= num_layers <= _MAX_SLOT_LAYERS:
        raise refusal(b"there must be 1 to 64 layers", -1, 2)
    if (len(out_validity) != num_layers or len(out_offsets) != num_layers or slots.shape[0] != num_layers
            or null_counts.shape[0] != num_layers):
        raise refusal(b"arrays over layers have different lengths", -1, 2)
    for layer in range(num_layers):
        _open_slots(&opened[layer], layers[layer])
        _open_out(&out[layer], out_validity[layer], out_offsets[layer])
    with nogil:
        outcome = _unravel_slots(&opened[0], num_layers, &out[0], &slots[0], &null_counts[0])
    check_outcome(outcome)


def null_flags(layer, uint16_t[::1] out not None) -> None:
    """Write 1 for each null slot of the selected slots of a layer, else 0; layers have the form of `unravel_slots`.

    Slots that are not listed have the opposite validity.
    """
    cdef SlotLayer opened
    cdef Outcome outcome
    _open_slots(&opened, layer)
    with nogil:
        outcome = _null_flags(opened, &out[0], out.shape[0])
    check_outcome(outcome)
