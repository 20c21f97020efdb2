# Reads of rows: pages are found, read, opened and laid out in one native section for all columns.
#
# For damaged rows there is a `Refusal`, which knows their page.

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "engine/common/lock_turns.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass LockTurns:
        void leave() noexcept
        void wait() noexcept
        void entered() noexcept

    LockTurns lock_turns

cdef enum Kind:
    SLOTS = 0
    LIST = 1
    VALUES = 2
    STRINGS = 3

# Rows of pages for which so many items are judged at least, however few rows are read.
cdef int64_t MOST_JUDGED = 1024

FORMS = {
    "plain": <int>Form.kPlain, "codes": <int>Form.kCodes, "views": <int>Form.kViews,
    "text_views": <int>Form.kTextViews, "stored": <int>Form.kStored,
}

KINDS = {"slots": SLOTS, "list": LIST, "values": VALUES, "strings": STRINGS}


cdef inline LaRuns _runs(const int64_t[::1] starts, const int64_t[::1] stops) noexcept:
    cdef LaRuns rows
    rows.starts, rows.stops, rows.num_runs = &starts[0], &stops[0], starts.shape[0]
    return rows


cdef Request _request(
    LaRuns rows, int fd, const uint8_t[::1] memory, int64_t size, checks, Segments segments, ManyFiles files=None,
):
    cdef Request request
    request.rows = rows
    request.selection = NULL
    request.reader.fd, request.reader.size = fd, size
    request.reader.memory = NULL
    if memory is not None:
        request.reader.memory = &memory[0]
    # `segments`, `files` and `checks` are held by the caller's arguments as long as the request is used.
    request.reader.segments = NULL
    if segments is not None:
        request.reader.segments = &segments.held
    request.reader.files = NULL
    if files is not None:
        request.reader.files = &files.held
    request.reader.checks = NULL
    if checks is not None:
        request.reader.checks = <Checks*>PyCapsule_GetPointer(checks.pointer, "lance_arrow.BlockChecks")
    return request


cdef tuple _counts(const Request* request):
    return request.count.requests, request.count.ranges, request.count.bytes_wanted, request.count.bytes_read


cdef class RowsInTheMaking:
    """Rows of leaves that are being taken; made by `ReadForms`."""

    cdef ReadForms forms
    cdef PagesWithRows pages
    cdef LentBuffers lent
    cdef unique_ptr[Taking] taking
    cdef int64_t num_rows
    cdef object table_schema
    cdef bint makes_table
    cdef RowsImport* imported

    def __dealloc__(self):
        if self.imported != NULL:
            _arrow.end_import(self.imported)

    def run(
        self, size_t part, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int fd,
        const uint8_t[::1] memory, int64_t size, checks=None, Segments segments=None, ManyFiles files=None,
    ) -> tuple[Refusal | None, int, int, int, int]:
        """Read and open one part of the rows; parts may run in several threads.

        Parameters
        ----------
        part
            Its number.
        starts, stops
            ``(n,) int64``: its rows, ascending, disjoint, none empty.
        fd, memory, size
            An open file, or (fd -1) its bytes, and its size.
        checks
            `BlockChecks` of the file: unchecked blocks are compared with their checksums. None: no checks.
        segments
            Parts of a far file, read instead of `memory`, in which nothing is `wanted` any more.
        files
            Local files that are read instead of all others.

        Returns
        -------
        refusal
            Why a leaf could not be read, or None; after a refusal there is no result.
        requests, ranges, bytes_wanted, bytes_read
            What was read.
        """
        cdef Request request = _request(_runs(starts, stops), fd, memory, size, checks, segments, files)
        cdef Outcome outcome
        with nogil:
            outcome = self.taking.get().run(part, &request)
        return refusal_of(outcome), *_counts(&request)

    def finish(self) -> pa.RecordBatch | list[tuple[int, Any, Any, list[Any]] | None] | Refusal:
        """Lay out the rows of all parts; returns what `ReadForms.take` returns first."""
        cdef Outcome outcome
        cdef ArrowArray batch
        with nogil:
            outcome = self.taking.get().finish()
            if outcome.message == NULL and self.lent is None:
                self._make_batch(&batch, &outcome)
        return self._result(outcome, &batch)

    cdef int _make_batch(self, ArrowArray* batch, Outcome* outcome) except -1 nogil:
        if not self.taking.get().batch(self.forms.arrays, self.num_rows, batch):
            outcome[0] = misuse("columns contradict each other, or are not what their type says", -1)
        elif self.imported != NULL and not _arrow.import_(self.imported, batch, self.makes_table):
            outcome[0] = misuse("Arrow refuses the batch", -1)
        return 0

    cdef object _result(self, Outcome outcome, ArrowArray* batch):
        if outcome.message != NULL:
            return refusal_of(outcome, None if self.lent is None else self.lent.error)
        if self.lent is not None:
            return [
                self._laid_out(leaf) if self.pages.is_read[leaf] else None for leaf in range(self.forms.shapes.size())
            ]
        if self.imported != NULL:
            return _owned(_arrow.wrap(self.imported))
        try:
            made = pa.RecordBatch._import_from_c(<uintptr_t>batch, self.forms.schema)
        finally:
            if batch.release != NULL:
                batch.release(batch)
        return pa.Table.from_batches([made], self.table_schema) if self.makes_table else made

    cdef tuple _laid_out(self, size_t leaf):
        """What was laid out of a leaf, in buffers of pyarrow."""
        cdef const LeafShape* shape = &self.forms.shapes[leaf]
        cdef const LeafOut* out = &self.taking.get().done(leaf)
        cdef LentBuffers lent = self.lent
        cdef Region region
        cdef size_t node
        nodes = []
        for node in range(out.nodes.size()):
            region.bytes, region.size = out.nodes[node].validity, (out.nodes[node].slots + 7) // 8
            validity = lent.buffer(region)
            region.bytes = <uint8_t*>out.nodes[node].offsets
            region.size = (out.nodes[node].slots + 1) * (shape.offset_bits[node] // 8)
            nodes.append((
                out.nodes[node].slots, validity, out.nodes[node].null_count, lent.buffer(region),
                out.num_children(shape[0], node),
            ))
        values, offsets = lent.buffer(out.values), lent.buffer(out.offsets)
        if out.fields.size():
            values = tuple([lent.buffer(out.fields[number]) for number in range(out.fields.size())])
        if out.positions.bytes != NULL:
            values = values, lent.buffer(out.positions)
        if out.form == Form.kCodes:
            offsets = out.num_items, lent.buffer(out.item_offsets), lent.buffer(out.items)
        elif out.form == Form.kJudged:
            offsets = True
        elif out.form == Form.kKept:
            offsets = [self._dictionary(out.dictionaries[number]) for number in range(out.dictionaries.size())]
        elif out.form == Form.kViews or out.form == Form.kTextViews:
            offsets = tuple([
                lent.buffer(out.items).slice(start) for start in range(0, out.items.size, out.buffer_bytes)
            ])
        return out.num_values, values, offsets, nodes

    cdef tuple _dictionary(self, const DictionaryOut& one):
        cdef LentBuffers lent = self.lent
        return one.num_values, one.num_items, lent.buffer(one.offsets), lent.buffer(one.items)

    cdef object _judge(self, size_t leaf, object judge, Request* request, bint counts):
        """Let the items of all pages of a leaf be judged; returns why their indices cannot be read."""
        cdef const vector[PageRef]* refs = &self.pages.pages[leaf]
        cdef Outcome outcome
        cdef const Items* items
        cdef const uint8_t[::1] flags
        cdef unique_ptr[JudgedItems] verdict
        cdef size_t number
        with nogil:
            outcome = load_indices(refs[0], request.reader, &request.count)
        if outcome.message != NULL:
            return refusal_of(outcome.in_leaf(leaf))
        verdict.reset(new JudgedItems(judge.null, self.num_rows, counts))
        cdef bint has_ranges = True
        if self.forms.shapes[leaf].numbers.get() != NULL:
            verdict.get().judge_numbers(self.forms.shapes[leaf].numbers)
        elif self.forms.shapes[leaf].texts.get() != NULL:
            verdict.get().judge_texts(self.forms.shapes[leaf].texts)
        else:
            has_ranges = False
        for number in range(refs.size()):
            items = refs[0][number].page.items()
            if items == NULL and has_ranges:
                continue
            found = None
            # Judging many items for few rows would take longer than reading the rows.
            if items != NULL and 0 < items.num_items <= max(MOST_JUDGED, self.num_rows):
                if items.offsets != NULL:
                    offsets = items.offsets[:(items.num_items + 1) * (items.offset_bits // 8)]
                    found = judge(offsets, items.offset_bits, items.values[:items.values_bytes])
                elif items.bits % 8 == 0 and items.num_items <= items.values_bytes // (items.bits // 8):
                    found = judge(b"", -items.bits, items.values[:items.num_items * (items.bits // 8)])
            if found is None:
                verdict.reset()
                break
            flags = found
            if flags.shape[0] != items.num_items:
                raise InternalError("items were judged that are none")
            verdict.get().judge(items, &flags[0])
        self.taking.get().leaf(leaf).judge(move(verdict))
        return None


cdef inline object _owned(void* reference):
    """Take over a new reference."""
    made = <object>reference
    Py_DECREF(made)
    return made


cdef class ReadForms:
    """Leaves of columns, and how a batch is made of them.

    Parameters
    ----------
    leaves
        Of each leaf ``(offset_bits, value_bits, value_offset_bits, field_bytes, blobs, form, list_parts, is_text,
        dimensions, lengths_per_row)``.

        ``offset_bits``: per node of the path, inner-most first, the width of a list's offsets or 0. ``value_bits``:
        bits of a value; 0 for variable width, with ``value_offset_bits``; -1 for no values. ``field_bytes``: bytes of
        each field of a packed struct, whose sum is the value; empty for others. ``blobs``: None, or ``(data_stop,
        most_bytes, most_at_once, offset_bits)`` if the values are places of blobs to be read. These are the end of
        values in the file, the most bytes of blobs, and the most bytes of one read. Last, the width of their offsets.

        ``form``: a key of `FORMS`. ``"codes"``: values of variable width come as codes into one dictionary. ``"views"``,
        ``"text_views"``: they come as views, checked as UTF-8 or not. ``"stored"``: as codes where all pages have a
        dictionary of few items. All of them have one part. For leaves of dictionaries, whose values are indices,
        ``(item_bits, item_offset_bits, most_items)`` stands there. These are bits of an item, 0 for variable width; the
        width of its offsets; and how many items indices can count. Or a condition may stand there: such pages
        give flags of rows then. It is called with ``(offsets, offset_bits, values)`` of a page's items. Values of one
        width are only counted: their offsets are empty, and `offset_bits` is minus the bits of a value. It returns a
        byte for each, 1 where the item satisfies it; or None if items cannot be judged. Its `null` tells whether null
        satisfies it. Its `numbers` are None, or ``(kind, lows, highs, nan)`` for numbers of `value_bits`: pages without items are
        judged by them. ``kind`` is 0, 1 or 2 for numbers with a sign, without one, or floats. Then come, as ``(n,) uint64``, the bits
        of the first and of the last number of each range that satisfies the condition, and whether NaN does. Its `texts` are None, or a list of
        ``(low, high)``. These are half-open ranges of bytes; the last `high` may be None. Or they are ``(needle, found, missing)``: bytes
        that are looked for, and whether strings with them, and others, satisfy it. With `keeps_codes`, few items give codes. ``list_parts``: of fixed-size lists, the bits
        of each part of a value, were there a bitmap of each layer. ``is_text``: whether plain values of variable width
        are checked as UTF-8. ``dimensions``: as `offset_bits`, of fixed-size lists of structs the structs of each, or 0;
        empty without such lists. ``lengths_per_row``: how many rows pages count for one row.
    columns
        Nested tuples ``(kind, leaf, items, children)``. ``kind`` is a key of `KINDS`, ``leaf`` the position of
        the leaf with the node's structure. ``items`` is the number of the child's items per slot (0 for lists).
        None where batches are put together by others.
    schema
        Schema of the batch: the storage of its types has the shape of `columns`.
    """

    cdef vector[LeafShape] shapes
    cdef vector[ArrayForm] arrays
    cdef readonly bint makes_batches
    cdef object schema
    cdef list judges

    def __init__(self, leaves, columns=None, schema=None) -> None:
        cdef LeafShape shape
        cdef BlobShape blobs
        cdef KeptShape kept
        self.judges = []
        for leaf in leaves:
            shape = LeafShape()
            (offset_bits, shape.value_bits, shape.value_offset_bits, field_bytes, places, form, shape.list_parts,
             shape.is_text, shape.dimensions, shape.lengths_per_row) = leaf
            if isinstance(form, tuple):
                shape.form = Form.kKept
                kept.item_bits, kept.item_offset_bits, kept.most_items = form
                shape.kept = kept
            elif isinstance(form, str):
                shape.form = <Form><int>FORMS[form]
            else:
                shape.form = Form.kJudged
                _add_conditions(form, &shape)
                self.judges.append((self.shapes.size(), form))
            if shape.value_bits == 0 and shape.value_offset_bits not in (32, 64):
                raise InvalidArgumentError("values of any length have offsets of 32 or 64 bits")
            shape.offset_bits = offset_bits
            shape.field_bits = [8 * num_bytes for num_bytes in field_bytes]
            if places is not None:
                blobs.data_stop, blobs.most_bytes, blobs.most_at_once, blobs.offset_bits = places
                shape.blobs = blobs
            self.shapes.push_back(shape)
        self.makes_batches, self.schema = columns is not None, schema
        for column in columns or ():
            self._add(column, 0)

    def _add(self, node, int depth):
        cdef ArrayForm form
        kind, leaf, items, children = node
        form.kind, form.leaf, form.depth, form.items = KINDS[kind], leaf, depth, items
        form.num_children = len(children)
        if not 0 <= form.leaf < <int64_t>self.shapes.size():
            raise InvalidArgumentError(f"there is no leaf {leaf}")
        self.arrays.push_back(form)
        for child in children:
            self._add(child, depth + 1)

    def difference(self, size_t leaf, NativePage page not None) -> str:
        """Say in what a page that is not read differs from what the schema says of a leaf."""
        cdef LeafShape* shape = &self.shapes[leaf]
        cdef Page* own = page.page.get()
        if own.has_shared_levels and own.dimensions != shape.dimensions:
            return f"fixed-size lists of a page have the dimensions {own.dimensions}, not {shape.dimensions}"
        found = f"of {own.value_bits} bits" if own.value_bits else f"of any length, by {page.offset_bits} bits"
        wanted = f"of {shape.value_bits} bits" if shape.value_bits else f"of any length, by {shape.value_offset_bits} bits"
        return f"a page has values {found}, expected {wanted} from the schema"

    def reads(self, size_t leaf, NativePage page) -> bool:
        """Return whether values of a page, or None, are what the schema says of a leaf."""
        return page is not None and leaf < self.shapes.size() and _fits(&self.shapes[leaf], page)

    cdef RowsInTheMaking _begin(
        self, PagesWithRows pages, int64_t num_rows, int64_t limit_bytes, int64_t largest_offset, pool, allocate,
        table_schema=None,
    ):
        cdef RowsInTheMaking rows = RowsInTheMaking.__new__(RowsInTheMaking)
        cdef Allocator allocator
        cdef TakeLimits limits
        cdef size_t leaf
        if pages.pages.size() != self.shapes.size():
            raise InvalidArgumentError(f"there are pages of {pages.pages.size()} leaves, expected {self.shapes.size()}")
        limits.bytes, limits.offset = limit_bytes, largest_offset
        rows.forms, rows.pages, rows.num_rows = self, pages, num_rows
        rows.table_schema, rows.makes_table = table_schema, table_schema is not None
        if not self.makes_batches or not pages.are_all_read or (pool is not None and _allocator_of is None):
            rows.lent = lent_buffers(allocate)
            allocator = _lending(rows.lent)
        elif pool is None:
            allocator = plain_allocator() if _arrow == NULL else _arrow.current_allocator()
        else:
            capsule = _allocator_of(pool)
            allocator = (<Allocator*>PyCapsule_GetPointer(capsule, "lance_arrow.Allocator"))[0]
        if rows.lent is None and _arrow != NULL:
            rows.imported = _arrow.begin_import(<void*>(self.schema if table_schema is None else table_schema))
        rows.taking.reset(new Taking(self.shapes, allocator, limits))
        for leaf in range(self.shapes.size()):
            if pages.is_read[leaf]:
                rows.taking.get().set_pages(leaf, pages.pages[leaf], pages.lists[leaf])
        return rows

    def begin(
        self, PagesWithRows pages not None, tuple part_rows, int64_t limit_bytes, int64_t largest_offset, pool, allocate
    ) -> RowsInTheMaking | Refusal:
        """Begin to take rows in several parts.

        Parameters
        ----------
        pages, limit_bytes, largest_offset, pool, allocate
            As for `take`.
        part_rows
            Rows of each part.

        Returns
        -------
        RowsInTheMaking or Refusal
            A refusal where there is no memory.
        """
        cdef RowsInTheMaking rows = self._begin(pages, sum(part_rows), limit_bytes, largest_offset, pool, allocate)
        cdef vector[int64_t] counts = part_rows
        cdef Outcome outcome
        with nogil:
            outcome = rows.taking.get().begin(counts)
        if outcome.message != NULL:
            return rows._result(outcome, NULL)
        return rows

    def take(
        self, PagesWithRows pages not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
        int64_t num_rows, int fd, const uint8_t[::1] memory, int64_t size, checks, Segments segments,
        int64_t limit_bytes, int64_t largest_offset, pool, allocate, ManyFiles files=None,
    ) -> tuple[pa.RecordBatch | list[tuple[int, Any, Any, list[Any]] | None] | Refusal, int, int, int, int]:
        """Read, open and lay out leaves one after the other; they share their read buffers.

        Parameters
        ----------
        pages
            The pages with these rows.
        starts, stops, fd, memory, size, checks, segments, files
            As for `RowsInTheMaking.run`, and the number of the rows.
        limit_bytes
            Most bytes of values, of one read or of one buffer.
        largest_offset
            Of offsets of 32 bits.
        pool
            Arrow memory pool of the result; the default one when None.
        allocate
            Called with a number of bytes, where Python puts the result together; returns a writable Arrow buffer.

        Returns
        -------
        done
            The batch. Without `columns`, or where the engine does not read a leaf: per leaf None if so, or
            ``(num_values, values, offsets or None, nodes)`` with ``(slots, validity or None, null_count, offsets or
            None, num_items)`` per node, inner-most first. Values are one buffer, or a tuple of one per field. Lists may
            have one per part (`NativePage.parts`), None for parts of no bits. Leaves without values have None. For
            blobs with too many bytes for one read, they are a tuple of memory for the blobs and of their positions. For
            codes, the offsets are the dictionary: ``(num_items, offsets, values)``; for views, the buffers that they
            point to. For dictionaries, they are a list of ``(num_values, num_items, offsets or None, items)`` for each
            page. Flags of judged values are bits, and their offsets are True. A refusal if a leaf could not be read, or if
            leaves contradict each other or their types.
        requests, ranges, bytes_wanted, bytes_read
            What was read.
        """
        cdef RowsInTheMaking rows = self._begin(pages, num_rows, limit_bytes, largest_offset, pool, allocate)
        cdef Request request = _request(_runs(starts, stops), fd, memory, size, checks, segments, files)
        return self._take(rows, &request)

    def may_judge(self, PagesWithRows pages not None) -> bool:
        """Tell whether pages of the one leaf have few items each, or numbers, so that a condition can be judged by these."""
        if self.shapes.size() != 1 or not pages.are_all_read:
            return False
        numbers, texts = self.shapes[0].numbers.get() != NULL, self.shapes[0].texts.get() != NULL
        for ref in pages.pages[0]:
            if not (ref.page.has_few_items() or numbers and ref.page.has_numbers() or texts and ref.page.has_texts()):
                return False
        return True

    def count(
        self, PagesWithRows pages not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
        int64_t num_rows, int fd, const uint8_t[::1] memory, int64_t size, checks, int64_t limit_bytes, ManyFiles files=None,
    ) -> tuple[int | Refusal | None, int, int, int, int]:
        """Count rows whose items satisfy the condition of the one leaf; nothing is laid out.

        Parameters and numbers of the result are those of `take`. The first part is the count, or a refusal. It is None
        where pages do not have items, or these cannot be judged: `take` gives values then.
        """
        if self.shapes.size() != 1 or len(self.judges) != 1 or not pages.are_all_read:
            return None, 0, 0, 0, 0
        cdef RowsInTheMaking rows = self._begin(pages, num_rows, limit_bytes, 0, None, None)
        cdef Request request = _request(_runs(starts, stops), fd, memory, size, checks, None, files)
        cdef Outcome outcome
        cdef SelectionBitmap selection
        refusal = None
        if rows.taking.get().leaf(0).is_judged():
            refusal = rows._judge(0, self.judges[0][1], &request, True)
        if refusal is not None or not rows.taking.get().leaf(0).is_judged():
            return refusal, *_counts(&request)
        lock_turns.leave()
        with nogil:
            selection.select(request.rows.starts, request.rows.stops, request.rows.num_runs)
            request.selection = &selection
            outcome = rows.taking.get().take_some(num_rows, &request)
            lock_turns.wait()
        lock_turns.entered()
        if outcome.message != NULL:
            return refusal_of(outcome), *_counts(&request)
        return rows.taking.get().done(0).num_flagged, *_counts(&request)

    cdef tuple _take(self, RowsInTheMaking rows, Request* request, FileState state=None):
        """Take rows of pages that were found, where the file has a state; returns what `take` returns."""
        cdef Outcome outcome
        cdef const char* path = NULL
        cdef SelectionBitmap selection
        cdef ArrowArray batch
        cdef Taking* taking = rows.taking.get()
        cdef size_t leaf
        for leaf, judge in self.judges:
            if rows.pages.is_read[leaf] and taking.leaf(leaf).is_judged():
                refusal = rows._judge(leaf, judge, request, False)
                if refusal is not None:
                    return refusal, *_counts(request)
        if state is not None:
            path = state.path
        lock_turns.leave()
        with nogil:
            selection.select(request.rows.starts, request.rows.stops, request.rows.num_runs)
            request.selection = &selection
            if path != NULL and not is_state_of(path, state.state):
                outcome = misuse("the file has changed", -1)
            else:
                outcome = taking.take_some(rows.num_rows, request)
            while outcome.message == NULL and not taking.is_done():
                with gil:
                    PyErr_CheckSignals()
                outcome = taking.take_some(rows.num_rows, request)
            if outcome.message == NULL and rows.lent is None:
                rows._make_batch(&batch, &outcome)
            lock_turns.wait()
        lock_turns.entered()
        return rows._result(outcome, &batch), *_counts(request)
