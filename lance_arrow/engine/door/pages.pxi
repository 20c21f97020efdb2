# Pages as the native engine sees them: C++ objects that keep alive what they point into.

cdef int _ALL_VALID_ITEM = 1
cdef int _NULLABLE_ITEM = 3
# Objects of a page, about: of C++, of Python, and what a cache holds it by.
cdef int64_t _PAGE_BYTES = 2048

cdef class NativePage:
    """One page for the native engine; keeps the memory alive that it points to.

    `data_buffer` is the buffer with the rows, -1 where none has them; `second_buffer` and `third_buffer` are others that
    are read too, or -1. `offset_bits` is the width of the stored offsets of its values, 0 for fixed width. `picks_close_rows`: whether
    many short runs take about as long as all rows between them. """

    cdef unique_ptr[Page] page
    cdef tuple kept
    cdef readonly int data_buffer
    cdef readonly int second_buffer
    cdef readonly int third_buffer
    cdef readonly int offset_bits
    cdef public bint is_counted
    """Whether a cache with the page has counted the memory of its index."""

    @property
    def is_indexed(self) -> bool:
        """Whether its index is loaded; otherwise the page reads it when rows are first needed."""
        return self.page.get().is_indexed()

    @property
    def num_rows(self) -> int:
        return self.page.get().num_rows

    @property
    def picks_close_rows(self) -> bool:
        return self.page.get().picks_selected(1)

    @property
    def value_bits(self) -> int:
        return self.page.get().value_bits

    @property
    def parts(self) -> tuple[int, ...]:
        """Bits of each part, if a value is a row of parts, each in whole bytes; empty if it is one run of bits."""
        return tuple(self.page.get().parts)

    @parts.setter
    def parts(self, tuple parts) -> None:
        self.page.get().parts = parts

    def add_structs(self, int num_structs) -> None:
        """Add so many structs above its layers; none of them is null."""
        for _ in range(num_structs):
            self.page.get().layers.push_back(<uint8_t>_ALL_VALID_ITEM)

    @property
    def layers(self) -> tuple[int, ...]:
        """Kinds of its layers, inner-most first."""
        return tuple(self.page.get().layers)

    @property
    def nbytes(self) -> int:
        """Memory of the page, and of the index that it has read by itself, in bytes."""
        return _PAGE_BYTES + self.page.get().index_bytes()

    @property
    def native(self) -> NativePage:
        """The page itself, which needs no other index."""
        return self


cdef NativePage _page(Page* made, int64_t num_rows, layers, int data_buffer, int offset_bits, tuple kept):
    cdef NativePage page = NativePage.__new__(NativePage)
    page.page.reset(made)
    made.num_rows = num_rows
    page.data_buffer = data_buffer
    page.second_buffer = page.third_buffer = -1
    page.offset_bits = offset_bits
    for kind in layers:
        made.layers.push_back(<uint8_t>int(kind))
    page.kept = kept
    return page


cdef bint _has_form(ChunkForm* form, tuple levels, bint large, values, rep, def_) except -1:
    """Write down the form of chunks; False where the codecs take what the engine has no room for."""
    form.large = large
    form.values = chunk_codec_of(values)
    form.rep = chunk_codec_of(rep)
    form.def_ = chunk_codec_of(def_)
    form.max_rep, form.max_def, form.max_visible = levels
    form.has_items = form.keeps_items = False
    if form.values.num_buffers < 0 or form.values.num_buffers > 8:
        return False
    for stream in (rep, def_):
        # Levels are decoded into 16 bits each, so codecs of other widths are not supported.
        if stream is not None and (chunk_codec_of(stream).bits != 16 or chunk_codec_of(stream).num_buffers != 1):
            return False
    return True


cdef int _set_items(Items* to, tuple items) except -1:
    """Write down a dictionary; the caller keeps what it points to."""
    cdef const uint8_t[::1] values = items[1]
    cdef const uint8_t[::1] offsets
    to.bits, to.offset_bits, to.num_items = items[0], items[3], items[4]
    to.values, to.values_bytes = &values[0], values.shape[0]
    to.offsets = NULL
    if items[2] is not None:
        offsets = items[2]
        to.offsets = &offsets[0]
    return 0


cdef class ChunkTemplate:
    """What pages of chunks of one description have in common; they read their own tables when rows are first wanted."""

    cdef ChunkForm form
    cdef ChunkIndexForm index
    cdef tuple kinds
    cdef tuple kept
    cdef int offset_bits
    cdef public tuple parts
    """As of `NativePage`."""

    @property
    def value_bits(self) -> int:
        return self.form.items.bits if self.form.has_items and not self.form.keeps_items else self.form.values.bits

    def page(self, int64_t num_rows, int64_t num_values) -> NativePage:
        """Build a page of so many rows and values; without lists these are the same."""
        cdef NativePage made
        self.index.num_values = num_values
        made = _page(new_chunked_page(self.form, self.index), num_rows, self.kinds, 1, self.offset_bits, self.kept)
        if self.parts:
            made.parts = self.parts
        return made

    def like(self, int64_t num_items, values=None, items=None) -> ChunkTemplate:
        """Take what another description says, which differs in the number of items, and in codecs of equal widths.

        `values` and `items` are capsules as of `chunk_template`; None for the same ones.
        """
        cdef ChunkTemplate made = ChunkTemplate.__new__(ChunkTemplate)
        own_values, rep, def_, own_items = self.kept
        for before, after in ((own_values, values), (own_items, items)):
            if after is not None and (chunk_codec_of(before).bits != chunk_codec_of(after).bits
                                      or chunk_codec_of(before).num_buffers != chunk_codec_of(after).num_buffers):
                raise PluginContractError("a codec with other parameters has values of other bits, or other buffers")
        values, items = values or own_values, items or own_items
        made.form, made.index = self.form, self.index
        made.form.values, made.index.items = chunk_codec_of(values), chunk_codec_of(items)
        made.index.num_items = made.form.items.num_items = num_items
        made.kinds, made.offset_bits, made.parts = self.kinds, self.offset_bits, self.parts
        made.kept = (values, rep, def_, items)
        return made

    def pages(self, const int64_t[::1] num_rows not None, int64_t num_values=-1) -> list[NativePage]:
        """Build a page for each of ``(n,) int64`` rows, which have as many values, or `num_values` each."""
        cdef int64_t one
        return [
            self.page(num_rows[one], num_rows[one] if num_values < 0 else num_values)
            for one in range(num_rows.shape[0])
        ]


def chunk_template(
    layers, tuple levels, int offset_bits, values, rep, def_, bint large,
    items=None, int64_t num_items=0, int64_t most_item_bytes=0, bint keeps_items=False,
) -> ChunkTemplate | None:
    """Take what a description says of pages of chunks.

    Parameters
    ----------
    layers, levels
        Layer kinds, inner-most first; largest repetition, definition and visible level.
    offset_bits
        Width of the offsets of the values, 0 where they have one width.
    values, rep, def_
        Capsules of chunk codecs; None for a level stream that does not exist.
    large
        Whether sizes in chunk headers have 32 bits.
    items
        Capsule of the chunk codec of a dictionary, which decodes it as one block; None without one.
    num_items, most_item_bytes
        Of the dictionary, and how many bytes they may take at most.
    keeps_items
        Whether values are the indices into the dictionary.

    Returns
    -------
    ChunkTemplate or None
        None where the codecs take what the engine has no room for.
    """
    cdef ChunkTemplate made = ChunkTemplate.__new__(ChunkTemplate)
    if not _has_form(&made.form, levels, large, values, rep, def_):
        return None
    made.index.num_values, made.index.num_items, made.index.most_item_bytes = 0, num_items, most_item_bytes
    made.index.items = chunk_codec_of(items)
    if items is not None:
        if made.form.values.bits not in (8, 16, 32, 64) or made.index.items.num_buffers > 1:
            return None
        made.form.has_items, made.form.keeps_items = True, keeps_items
        made.form.items.bits, made.form.items.num_items = made.index.items.bits, num_items
        made.form.items.values = made.form.items.offsets = NULL
        made.form.items.values_bytes, made.form.items.offset_bits = 0, 0
    made.kinds = tuple([int(kind) for kind in layers])
    made.offset_bits = offset_bits
    made.kept = (values, rep, def_, items)
    made.parts = ()
    return made


def zipped_page(
    int64_t num_rows, layers, tuple levels, int offset_bits, tuple counts, tuple entry, values, int64_t row_bytes,
    stored=None,
) -> NativePage:
    """Build a page of zipped entries.

    Parameters
    ----------
    num_rows, layers, levels, offset_bits
        As in `chunk_template`; the visible level is -1 without lists.
    counts
        Entries and values of the page; -1 for both where nothing tells them.
    entry
        Bits of repetition and definition levels, bytes per value (-1: lengths are stored), bits of a length (0: none).
    values
        Capsule of a value codec.
    row_bytes
        Bytes of every row; -1 where the page reads from its second buffer where rows begin.
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
    return _page(new_zipped_page(form, row_bytes), num_rows, layers, 0, offset_bits, (values, stored))


def places_page(NativePage inner not None, layers, int highest) -> NativePage | None:
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
    return _page(
        new_places_page(inner.page.get(), highest), inner.page.get().num_rows, layers, inner.data_buffer, 0, (inner,))


def spread_page(
    NativePage inner not None, int64_t num_rows, const int64_t[::1] positions not None, bint lists_nulls
) -> NativePage | None:
    """Build a page whose rows are slots; only those that are not null have values.

    Parameters
    ----------
    inner
        The values, a row each, without levels.
    num_rows
        Slots.
    positions
        ``(n,) int64``, ascending: the null slots, or the valid ones.
    lists_nulls
        Which of these `positions` are.

    Returns
    -------
    NativePage or None
        None where `inner` must read its index first.
    """
    cdef _SparseLayer form
    cdef int64_t last = -1, num_valid = num_rows - positions.shape[0] if lists_nulls else positions.shape[0]
    cdef Py_ssize_t place
    if not inner.page.get().is_indexed():
        return None
    for place in range(positions.shape[0]):
        if not last < positions[place] < num_rows:
            raise InvalidArgumentError("positions of slots do not ascend, or lie outside the page")
        last = positions[place]
    if num_valid != inner.page.get().num_rows:
        raise InvalidArgumentError(f"{inner.page.get().num_rows} values are stored for {num_valid} valid slots")
    form = _SparseLayer()
    form.num_positions, form.lists_nulls = positions.shape[0], lists_nulls
    form.positions = &positions[0] if positions.shape[0] else NULL
    cdef NativePage page = _page(
        new_spread_page(form, inner.page.get()), num_rows, (_ALL_VALID_ITEM,), inner.data_buffer, inner.offset_bits,
        (inner, positions))
    page.second_buffer, page.third_buffer = inner.second_buffer, inner.third_buffer
    return page


def sparse_page(
    NativePage inner not None, int64_t num_rows, tuple layers, int64_t lengths_per_row=1
) -> NativePage | None:
    """Build a page whose structure is kept as positions.

    Parameters
    ----------
    inner
        Values of all slots of the leaf, a row each.
    num_rows
        Slots of the outer-most layer.
    layers
        Inner-most first ``(positions, lists_nulls, list_slots or None, item_starts or None, dimension)``, as those of
        `lance_arrow.spi.SlotLayer`: contiguous ``(n,) int64``.
    lengths_per_row
        How many rows the page counts for each of these slots.

    Returns
    -------
    NativePage or None
        None where `inner` must read its index first.
    """
    cdef vector[_SparseLayer] forms
    cdef _SparseLayer form
    cdef const int64_t[::1] positions
    cdef const int64_t[::1] slots
    cdef const int64_t[::1] starts
    cdef Outcome outcome
    if not inner.page.get().is_indexed():
        return None
    if lengths_per_row < 1 or num_rows < 0 or num_rows > ((<int64_t>1) << 62) // lengths_per_row:
        raise InvalidArgumentError(f"{num_rows} slots of {lengths_per_row} rows each are no page")
    for positions, lists_nulls, slots, starts, dimension in layers:
        form = _SparseLayer()
        form.dimension = dimension
        form.num_positions, form.lists_nulls = positions.shape[0], lists_nulls
        if positions.shape[0]:
            form.positions = &positions[0]
        if slots is not None and starts is not None:
            if starts.shape[0] != slots.shape[0] + 1:
                raise InvalidArgumentError(f"{slots.shape[0]} lists have {starts.shape[0]} borders")
            # Without any list that holds items, the address of their end tells that there are lists.
            form.list_slots = &slots[0] if slots.shape[0] else &starts[0]
            form.item_starts, form.num_lists = &starts[0], slots.shape[0]
        forms.push_back(form)
    with nogil:
        outcome = check_slot_layers(forms, num_rows, inner.page.get().num_rows)
    if outcome.message != NULL:
        raise InvalidArgumentError(f"layers of a page: {outcome.message.decode('ascii')}")
    kinds = sparse_layer_kinds(forms)
    cdef NativePage page = _page(
        new_sparse_page(forms, lengths_per_row, inner.page.get()), num_rows * lengths_per_row, kinds, inner.data_buffer, inner.offset_bits, (inner, layers))
    page.second_buffer, page.third_buffer = inner.second_buffer, inner.third_buffer
    return page
