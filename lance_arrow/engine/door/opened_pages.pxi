# Pages with wanted rows, and those that were opened before: rows find these without Python.

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef bint _has_ref(PageRef* ref, tuple item) except -1:
    """Write down a page and where it lies; False where there is none."""
    cdef NativePage page = item[0]
    if page is None:
        return False
    ref.page = page.page.get()
    ref.first_row, ref.data_start, ref.data_bytes = item[1], -1, 0
    if page.data_buffer >= 0:
        ref.data_start, ref.data_bytes = item[2][page.data_buffer], item[3][page.data_buffer]
    ref.second_start = ref.second_bytes = 0
    if page.second_buffer >= 0:
        ref.second_start, ref.second_bytes = item[2][page.second_buffer], item[3][page.second_buffer]
    ref.third_start = ref.third_bytes = 0
    if page.third_buffer >= 0:
        ref.third_start, ref.third_bytes = item[2][page.third_buffer], item[3][page.third_buffer]
    ref.buffers.count = 0
    if not page.page.get().is_indexed():
        _note_buffers(&ref.buffers, item[2], item[3])
    return True


cdef int _note_buffers(PageBuffers* buffers, starts, sizes) except -1:
    """Write down where the buffers of a page lie; of more than it may have, that it has more."""
    cdef size_t number, count = len(starts)
    for number in range(min(count, MOST_BUFFERS)):
        buffers.starts[number], buffers.sizes[number] = starts[number], sizes[number]
    buffers.count = count
    return 0


cdef class PagesWithRows:
    """For each leaf the pages that hold wanted rows, in order, or that the engine does not read the leaf.

    Parameters
    ----------
    forms
        The leaves.
    wanted
        Of each leaf its pages, each ``(NativePage or None, first_row, buffer_offsets, buffer_sizes)``.
    lists
        Of each leaf the columns of lists above it, outer-most first, each with its pages. These have a fifth part: which
        item of the next column is their first. None where all pages tell of the lists above.
    """

    cdef vector[vector[PageRef]] pages
    cdef vector[vector[vector[PageRef]]] lists
    cdef vector[uint8_t] is_read
    cdef vector[int64_t] lengths_per_row
    cdef vector[unique_ptr[Page]] widened
    cdef readonly Py_ssize_t num_pages
    cdef readonly bint are_all_read
    cdef object kept

    def __init__(self, ReadForms forms, wanted, lists=None) -> None:
        self.are_all_read, self.kept = True, (wanted, lists)
        self.pages.resize(forms.shapes.size())
        self.lists.resize(forms.shapes.size())
        cdef size_t leaf = 0
        cdef PageRef ref
        cdef bint is_read
        for pages in wanted:
            is_read = True
            self.lengths_per_row.push_back(forms.shapes[leaf].lengths_per_row)
            self.num_pages += len(pages)
            for item in pages:
                if not (_has_ref(&ref, item) and _fits(&forms.shapes[leaf], item[0])):
                    is_read = False
                    break
                self.pages[leaf].push_back(ref)
            is_read = is_read and unite_values(forms.shapes[leaf].list_parts, &self.pages[leaf], &self.widened)
            if lists is not None:
                is_read = self._has_lists(leaf, lists[leaf]) and is_read
            self.is_read.push_back(is_read)
            self.are_all_read = self.are_all_read and is_read
            leaf += 1

    cdef bint _has_lists(self, size_t leaf, levels) except -1:
        """Write down the columns of lists above a leaf; False where one is not read."""
        cdef PageRef ref
        cdef vector[PageRef] refs
        for level in levels:
            refs.clear()
            self.num_pages += len(level)
            for item in level:
                if not _has_ref(&ref, item) or ref.page.value_bits != LIST_ENDS:
                    return False
                ref.first_item = item[4]
                refs.push_back(ref)
            self.lists[leaf].push_back(refs)
        return True


cdef bint _fits(LeafShape* shape, NativePage page) noexcept:
    """Whether the values of a page are what the schema says; only pages know whether items of lists may be null."""
    cdef const vector[int64_t]* parts = &page.page.get().parts
    cdef size_t part, num_parts = shape.list_parts.size()
    if page.offset_bits != shape.value_offset_bits:
        return False
    if page.page.get().has_shared_levels and page.page.get().dimensions != shape.dimensions:
        return False
    if parts.empty():
        return page.page.get().value_bits == shape.value_bits
    if parts.size() != num_parts or parts[0][num_parts - 1] != shape.list_parts[num_parts - 1]:
        return False
    # Layers may have no bitmap.
    for part in range(num_parts - 1):
        if parts[0][part] != 0 and parts[0][part] != shape.list_parts[part]:
            return False
    return True


cdef class OpenPages:
    """Pages of some columns of one file that were opened, so that rows find them without Python.

    Parameters
    ----------
    forms
        The leaves of the columns.
    row_starts
        Of each leaf, ``(num_pages + 1,) int64``: the first row of each page, and the number of rows.
    """

    cdef vector[OpenedPages] tables
    cdef ReadForms forms
    cdef list kept
    cdef object __weakref__
    cdef bint was_used

    def __init__(self, ReadForms forms not None, row_starts) -> None:
        self.forms, self.kept, self.was_used = forms, [], False
        cdef vector[int64_t] starts
        for one in row_starts:
            starts = one
            self.tables.push_back(OpenedPages(starts))

    @property
    def nbytes(self) -> int:
        """Memory of the tables, in bytes."""
        cdef int64_t total = 0
        for table in self.tables:
            total += table.nbytes()
        return total

    def take_used(self) -> bool:
        """Tell whether rows were looked for since the last call."""
        was_used, self.was_used = self.was_used, False
        return was_used

    def open_all(self, wanted, bint are_kept) -> None:
        """Note pages of each leaf that need no more of their index.

        Parameters
        ----------
        wanted
            As for `PagesWithRows`.
        are_kept
            Whether all may be kept; else those whose memory a cache has counted.
        """
        cdef PageRef ref
        cdef NativePage page
        cdef size_t leaf = 0
        for pages in wanted:
            for item in pages:
                page = item[0]
                if page is None or not (are_kept or page.is_counted) or not page.page.get().is_indexed():
                    continue
                if _has_ref(&ref, item) and _fits(&self.forms.shapes[leaf], page) and self.tables[leaf].open(ref):
                    self.kept.append(page)
            leaf += 1

    def find(self, const int64_t[::1] starts not None, const int64_t[::1] stops not None) -> PagesWithRows | None:
        """Find pages.

        Parameters
        ----------
        starts, stops
            ``(n,) int64``, at least one: rows, ascending.

        Returns
        -------
        PagesWithRows or None
            None where a page was not opened, or where the pages of a leaf have unlike values.
        """
        return self._find(_runs(starts, stops))

    cdef PagesWithRows _find(self, LaRuns rows):
        cdef PagesWithRows found = PagesWithRows.__new__(PagesWithRows)
        cdef size_t leaf, num_leaves = self.tables.size()
        self.was_used = True
        found.pages.resize(num_leaves)
        found.lists.resize(num_leaves)
        found.is_read.assign(num_leaves, 1)
        found.lengths_per_row.assign(num_leaves, 1)
        found.are_all_read, found.kept = True, self
        for leaf in range(num_leaves):
            if not self.tables[leaf].select(rows, &found.pages[leaf]):
                return None
            if not unite_values(self.forms.shapes[leaf].list_parts, &found.pages[leaf], &found.widened):
                return None
            found.num_pages += found.pages[leaf].size()
        return found

    def take(
        self, rows not None, int64_t first, int64_t num_rows, int64_t most_rows, int fd, const uint8_t[::1] memory,
        int64_t size, checks, int64_t limit_bytes, int64_t largest_offset, schema not None, FileState state=None,
    ) -> tuple[pa.Table | Refusal, int, int, int, int] | None:
        """Find, read and lay out few rows in one call.

        Parameters
        ----------
        rows
            Their numbers: a list of integers, or ``(n,) int64``.
        first
            Number of the file's first row among them.
        num_rows
            Rows of the file.
        most_rows
            Most rows that are taken here.
        fd, memory, size, checks, limit_bytes, largest_offset
            As for `ReadForms.take`.
        schema
            Of the table.
        state
            If given, nothing is read where it is no longer the state of the file.

        Returns
        -------
        tuple or None
            As `ReadForms.take` returns it, with a table. None, and nothing is read, in other cases. The numbers are
            no integers, not all of the file, too many, or do not ascend. Or one of their pages is not open. Or the
            engine does not make the batch.
        """
        cdef vector[int64_t] starts, stops
        cdef LaRuns runs
        if not self.forms.makes_batches or not _rows_of(rows, first, num_rows, most_rows, &starts, &stops):
            return None
        runs.starts, runs.stops, runs.num_runs = starts.data(), stops.data(), <int64_t>starts.size()
        cdef PagesWithRows pages = self._find(runs)
        if pages is None:
            return None
        cdef RowsInTheMaking making = self.forms._begin(
            pages, len(rows), limit_bytes, largest_offset, None, None, schema)
        cdef Request request = _request(runs, fd, memory, size, checks, None)
        return self.forms._take(making, &request, state)


cdef bint _add_row(int64_t row, int64_t num_rows, vector[int64_t]* starts, vector[int64_t]* stops) noexcept:
    """Add a row behind those that are there; False where it is not behind them, or not in the file."""
    if row < 0 or row >= num_rows:
        return False
    if not stops.empty():
        if row < stops.back():
            return False
        if row == stops.back():
            stops[0][stops.size() - 1] += 1
            return True
    starts.push_back(row)
    stops.push_back(row + 1)
    return True


cdef bint _rows_of(
    rows, int64_t first, int64_t num_rows, int64_t most_rows, vector[int64_t]* starts, vector[int64_t]* stops
) except -1:
    """Turn numbers into ascending rows of a file; False where they are not."""
    cdef const int64_t[:] numbers
    cdef int64_t number
    cdef int overflow = 0
    cdef Py_ssize_t place, count
    if type(rows) is list:
        count = len(<list>rows)
        if not 0 < count <= most_rows:
            return False
        for row in <list>rows:
            if type(row) is not int:
                return False
            number = PyLong_AsLongLongAndOverflow(row, &overflow)
            if overflow or number < first or not _add_row(number - first, num_rows, starts, stops):
                return False
        return True
    if type(rows) is not numpy.ndarray or rows.ndim != 1 or rows.dtype != numpy.int64:
        return False
    numbers = rows
    if not 0 < numbers.shape[0] <= most_rows:
        return False
    for place in range(numbers.shape[0]):
        number = numbers[place]
        if number < first or not _add_row(number - first, num_rows, starts, stops):
            return False
    return True
