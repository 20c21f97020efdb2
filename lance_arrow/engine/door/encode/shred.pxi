# Arrow's validity and offsets to repetition and definition levels, and leaf values without what nulls hide.
#
# Unlike other kernels these read what a caller wrote, not a file: contradicting arrays raise InvalidArgumentError.

cdef extern from "engine/encode/shred.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ShredNode:
        int64_t num_slots
        const uint8_t* validity
        int64_t validity_bytes
        int64_t bit_offset
        const void* offsets
        int64_t num_offsets
        int offset_bits
        int64_t dimension
        int64_t first_item
        uint16_t null_level
        uint16_t empty_level
        uint16_t live_def
        uint16_t inner_rep
        cbool has_null
        cbool has_empty

    cdef struct ShredOut:
        uint16_t* rep
        uint16_t* def_ "def"
        int64_t capacity
        int64_t* run_starts
        int64_t* run_stops
        int64_t run_capacity
        int64_t num_entries
        int64_t num_runs

    cdef enum:
        _MAX_NODES "lance_arrow::engine::kMaxNodes"

    Outcome _shred_levels "lance_arrow::engine::shred_levels"(ShredNode*, int64_t, int64_t, ShredOut&) except +

cdef extern from "engine/encode/level_numbers.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct NodeTraits:
        cbool is_list
        cbool nullable
        cbool has_validity

    cdef struct NodeLevels:
        uint16_t null
        uint16_t empty

    cdef struct NodeSeen:
        uint8_t null
        uint8_t empty

    void _number_levels "lance_arrow::engine::number_levels"(const NodeTraits*, int64_t, NodeLevels*)
    void _set_levels "lance_arrow::engine::set_levels"(const NodeLevels*, ShredNode*, int64_t)
    Outcome _end_levels "lance_arrow::engine::end_levels"(
        const NodeTraits*, const NodeLevels*, NodeSeen*, int64_t, uint16_t*, int64_t, uint8_t*, cbool*) except +

cdef extern from "engine/encode/shred_values.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ValueLevels:
        const uint16_t* def_ "def"
        int64_t num_entries
        uint16_t max_visible

    cdef struct ByteStrings:
        const void* offsets
        int64_t num_offsets
        int offset_bits
        int64_t data_bytes
        const int64_t* run_starts
        const int64_t* run_stops
        int64_t num_runs

    cdef struct StringsOut:
        void* offsets
        int64_t num_offsets
        int64_t base
        int64_t num_bytes
        int64_t span_start

    Outcome _clear_null_values "lance_arrow::engine::clear_null_values"(ValueLevels, int64_t, uint8_t*, int64_t)
    Outcome _fill_null_bits "lance_arrow::engine::fill_null_bits"(ValueLevels, int64_t, uint8_t*, int64_t, cbool)
    Outcome _shred_offsets "lance_arrow::engine::shred_offsets"(ByteStrings, ValueLevels, StringsOut&)
    Outcome _shred_bytes "lance_arrow::engine::shred_bytes"(
        ByteStrings, ValueLevels, const uint8_t*, uint8_t*, int64_t)


cdef object _refusal(Outcome outcome):
    """The arrays are the caller's, not a file's: what contradicts itself there is the caller's mistake."""
    cdef bytes message = outcome.message
    kind = InvalidArgumentError if outcome.blame == 1 else InternalError
    return kind(message.decode("ascii"), detail=None if outcome.index < 0 else outcome.index)


cdef int _node(ShredNode* out, object node) except -1:
    """Take the addresses of a node's arrays, which the caller's sequence keeps alive."""
    cdef const uint8_t[::1] bits
    cdef const int32_t[::1] narrow
    cdef const int64_t[::1] wide
    num_slots, validity, bit_offset, offsets, dimension, first_item = node
    out.num_slots, out.bit_offset, out.dimension, out.first_item = num_slots, bit_offset, dimension, first_item
    out.validity = NULL
    out.validity_bytes = 0
    out.offsets = NULL
    out.num_offsets = 0
    out.offset_bits = 0
    out.has_null = out.has_empty = False
    if validity is not None:
        bits = validity
        out.validity, out.validity_bytes = &bits[0], bits.shape[0]
    if offsets is None:
        return 0
    if offsets.itemsize == 8:
        wide = offsets
        out.offsets, out.num_offsets, out.offset_bits = <const void*>&wide[0], wide.shape[0], 64
    else:
        narrow = offsets
        out.offsets, out.num_offsets, out.offset_bits = <const void*>&narrow[0], narrow.shape[0], 32
    return 0


def shred_levels(
    nodes, int64_t num_rows, const uint16_t[:, ::1] levels not None, uint16_t[::1] out_rep,
    uint16_t[::1] out_def not None, int64_t[::1] out_run_starts not None, int64_t[::1] out_run_stops not None,
    uint8_t[:, ::1] seen not None,
) -> tuple[int, int]:
    """Write the levels of the first ``num_rows`` slots of the outer-most node.

    Parameters
    ----------
    nodes
        Outer-most first, the leaf last: ``(num_slots, validity, bit_offset, offsets, dimension, first_item)``.
        ``validity`` is a bitmap whose bit ``bit_offset`` belongs to slot 0, or None. ``offsets`` are the ``num_slots +
        1`` offsets of a list, or None. ``dimension`` is the number of items of a fixed-size list of structs, or 0. Its
        slot 0 begins at ``first_item`` of the next node.
    levels
        ``(num_nodes, 2) uint16``: the definition levels of a null slot and of an empty list, numbered like the layers
        (spec 2); 0 for none. A node with a bitmap needs the first, a list the second.
    out_rep, out_def
        Memory for the entries; ``out_rep`` is needed if and only if there is a list.
    out_run_starts, out_run_stops
        Memory for the runs of visible slots of the leaf.
    seen
        ``(num_nodes, 2) uint8``: set to 1 if a null slot, or an empty list, occurred outside of nulls.

    Returns
    -------
    num_entries, num_runs
        If there are more runs than memory for them, runs are not written: call again with more.

    Raises
    ------
    InvalidArgumentError
        Offsets descend or exceed their items, or an array is shorter than the outer one requires.
    """
    cdef ShredNode opened[_MAX_NODES]
    cdef ShredOut out
    cdef Outcome outcome
    cdef Py_ssize_t num_nodes = len(nodes), n
    cdef NodeLevels given[_MAX_NODES]
    if num_nodes > _MAX_NODES or levels.shape[0] != num_nodes or seen.shape[0] != num_nodes:
        raise InternalError("arrays over nodes have different lengths")
    if levels.shape[1] != 2 or seen.shape[1] != 2:
        raise InternalError("a node has a null and an empty level")
    if out_run_starts.shape[0] != out_run_stops.shape[0]:
        raise InternalError("arrays over runs have different lengths")
    if out_rep is not None and out_rep.shape[0] != out_def.shape[0]:
        raise InternalError("repetition and definition levels differ in number")
    for n in range(num_nodes):
        _node(&opened[n], nodes[n])
        given[n].null, given[n].empty = levels[n, 0], levels[n, 1]
    _set_levels(given, opened, num_nodes)
    out.rep = NULL
    if out_rep is not None:
        out.rep = &out_rep[0]
    out.def_, out.capacity = &out_def[0], out_def.shape[0]
    out.run_starts, out.run_stops = &out_run_starts[0], &out_run_stops[0]
    out.run_capacity, out.num_entries, out.num_runs = out_run_starts.shape[0], 0, 0
    with nogil:
        outcome = _shred_levels(opened, num_nodes, num_rows, out)
    if outcome.message != NULL:
        raise _refusal(outcome)
    for n in range(num_nodes):
        seen[n, 0] |= opened[n].has_null
        seen[n, 1] |= opened[n].has_empty
    return out.num_entries, out.num_runs


cdef Py_ssize_t _traits(nodes, NodeTraits* out) except -1:
    cdef const uint8_t[:, ::1] given = nodes
    cdef Py_ssize_t n
    if not 1 <= given.shape[0] <= _MAX_NODES or given.shape[1] != 3:
        raise InternalError("a node has three traits, and a leaf 1 to 64 nodes")
    for n in range(given.shape[0]):
        out[n].is_list, out[n].nullable, out[n].has_validity = given[n, 0] != 0, given[n, 1] != 0, given[n, 2] != 0
    return given.shape[0]


def number_levels(const uint8_t[:, ::1] nodes not None, uint16_t[:, ::1] out not None) -> None:
    """Number the levels that nodes can have, from the inner-most on.

    Parameters
    ----------
    nodes
        ``(num_nodes, 3) uint8``, outer-most first: whether a node is a list, may be null by the schema, and has a
        bitmap in any array.
    out
        ``(num_nodes, 2) uint16``: the definition levels of a null slot and of an empty list; 0 for none.
    """
    cdef NodeTraits traits[_MAX_NODES]
    cdef NodeLevels levels[_MAX_NODES]
    cdef Py_ssize_t num_nodes = _traits(nodes, traits), n
    if out.shape[0] != num_nodes or out.shape[1] != 2:
        raise InternalError("arrays over nodes have different lengths")
    with nogil:
        _number_levels(traits, num_nodes, levels)
    for n in range(num_nodes):
        out[n, 0], out[n, 1] = levels[n].null, levels[n].empty


def end_levels(
    const uint8_t[:, ::1] nodes not None, const uint16_t[:, ::1] levels not None, uint8_t[:, ::1] seen not None,
    uint16_t[::1] def_ not None, uint8_t[::1] out_layers not None,
) -> bool:
    """Write the layers of a page, and renumber its levels to those that occurred; return whether there are any.

    Parameters
    ----------
    nodes, levels
        As for `number_levels`.
    seen
        ``(num_nodes, 2) uint8``: whether a null slot, or an empty list, occurred outside of nulls. What the reference
        needs to read the page is set on top.
    def_
        Levels of all entries, changed in place.
    out_layers
        ``(num_nodes,) uint8``: numbers of `LayerKind`, inner-most first.
    """
    cdef NodeTraits traits[_MAX_NODES]
    cdef NodeLevels given[_MAX_NODES]
    cdef NodeSeen found[_MAX_NODES]
    cdef Outcome outcome
    cdef cbool has_levels = False
    cdef Py_ssize_t num_nodes = _traits(nodes, traits), n
    if not levels.shape[0] == seen.shape[0] == out_layers.shape[0] == num_nodes or not levels.shape[1] == seen.shape[1] == 2:
        raise InternalError("arrays over nodes have different lengths")
    for n in range(num_nodes):
        given[n].null, given[n].empty = levels[n, 0], levels[n, 1]
        found[n].null, found[n].empty = seen[n, 0], seen[n, 1]
    with nogil:
        outcome = _end_levels(traits, given, found, num_nodes, &def_[0], def_.shape[0], &out_layers[0], &has_levels)
    if outcome.message != NULL:
        raise _refusal(outcome)
    for n in range(num_nodes):
        seen[n, 0], seen[n, 1] = found[n].null, found[n].empty
    return has_levels


cdef ValueLevels _levels(const uint16_t[::1] def_, int max_visible) except *:
    cdef ValueLevels levels
    levels.def_ = NULL
    levels.num_entries = 0
    if not 0 <= max_visible <= 0xFFFF:
        raise InternalError("a bound is not a 16-bit level")
    if def_ is not None:
        levels.def_, levels.num_entries = &def_[0], def_.shape[0]
    levels.max_visible = <uint16_t>max_visible
    return levels


def clear_null_values(
    const uint16_t[::1] def_ not None, int max_visible, int64_t bytes_per_value, uint8_t[::1] values not None
) -> None:
    """Zero the values whose definition level is above 0; entries above ``max_visible`` own no value."""
    cdef ValueLevels levels = _levels(def_, max_visible)
    cdef Outcome outcome
    with nogil:
        outcome = _clear_null_values(levels, bytes_per_value, &values[0], values.shape[0])
    if outcome.message != NULL:
        raise _refusal(outcome)


def fill_null_bits(
    const uint16_t[::1] def_ not None, int max_visible, int64_t bits_per_value, uint8_t[::1] bits not None, bint value
) -> None:
    """Set (or clear) the ``bits_per_value`` bits of each null value; others keep theirs."""
    cdef ValueLevels levels = _levels(def_, max_visible)
    cdef Outcome outcome
    with nogil:
        outcome = _fill_null_bits(levels, bits_per_value, &bits[0], bits.shape[0], value)
    if outcome.message != NULL:
        raise _refusal(outcome)


cdef ByteStrings _strings(
    object offsets, int64_t data_bytes, const int64_t[::1] run_starts, const int64_t[::1] run_stops
) except *:
    cdef ByteStrings strings
    cdef const int32_t[::1] narrow
    cdef const int64_t[::1] wide
    if run_starts.shape[0] != run_stops.shape[0]:
        raise InternalError("arrays over runs have different lengths")
    if offsets.itemsize == 8:
        wide = offsets
        strings.offsets, strings.num_offsets, strings.offset_bits = <const void*>&wide[0], wide.shape[0], 64
    else:
        narrow = offsets
        strings.offsets, strings.num_offsets, strings.offset_bits = <const void*>&narrow[0], narrow.shape[0], 32
    strings.data_bytes = data_bytes
    strings.run_starts, strings.run_stops, strings.num_runs = &run_starts[0], &run_stops[0], run_starts.shape[0]
    return strings


def shred_offsets(
    offsets, int64_t data_bytes, const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None,
    const uint16_t[::1] def_, int max_visible, out_offsets, int64_t base,
) -> tuple[int, int]:
    """Write ``base`` and the ends of the visible values after it; null values are empty.

    Returns
    -------
    num_bytes, span_start
        Bytes of all values, and where they lie one after another in the data, or -1 when there are gaps.

    Raises
    ------
    InvalidArgumentError
        Offsets descend or leave their bytes, or the sum does not fit them.
    """
    cdef ByteStrings strings = _strings(offsets, data_bytes, run_starts, run_stops)
    cdef ValueLevels levels = _levels(def_, max_visible)
    cdef StringsOut out
    cdef Outcome outcome
    cdef int32_t[::1] narrow
    cdef int64_t[::1] wide
    if out_offsets.itemsize * 8 != strings.offset_bits:
        raise InternalError("input and output offsets must have the same width")
    if strings.offset_bits == 64:
        wide = out_offsets
        out.offsets, out.num_offsets = <void*>&wide[0], wide.shape[0]
    else:
        narrow = out_offsets
        out.offsets, out.num_offsets = <void*>&narrow[0], narrow.shape[0]
    out.base, out.num_bytes, out.span_start = base, 0, 0
    with nogil:
        outcome = _shred_offsets(strings, levels, out)
    if outcome.message != NULL:
        raise _refusal(outcome)
    return out.num_bytes, out.span_start


def shred_bytes(
    offsets, const uint8_t[::1] data not None, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None, const uint16_t[::1] def_, int max_visible, uint8_t[::1] out not None,
) -> None:
    """Copy the bytes of the visible values that are not null back to back; the inverse of gaps in `shred_offsets`."""
    cdef ByteStrings strings = _strings(offsets, data.shape[0], run_starts, run_stops)
    cdef ValueLevels levels = _levels(def_, max_visible)
    cdef Outcome outcome
    with nogil:
        outcome = _shred_bytes(strings, levels, &data[0], &out[0], out.shape[0])
    if outcome.message != NULL:
        raise _refusal(outcome)
