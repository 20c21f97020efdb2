# Parts of a far file that were fetched, and what else must be.

cdef extern from "engine/plan/segments.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Wanted:
        cbool guesses
        vector[int64_t] starts, stops

    cdef cppclass _Segments "lance_arrow::engine::Segments":
        void add(int64_t, const uint8_t*, int64_t) except +
        cbool copy(int64_t, int64_t, uint8_t*)

cdef extern from "engine/plan/leaf_reader.hpp" namespace "lance_arrow::engine" nogil:
    Outcome want_rows(
        const vector[PageRef]&, const Reader&, const SelectionBitmap*, const LaRuns&, int64_t, cbool, int64_t, Wanted*
    ) except +


cdef extern from "engine/plan/list_levels.hpp" namespace "lance_arrow::engine" nogil:
    Outcome want_below_lists(
        const vector[vector[PageRef]]&, const vector[PageRef]&, const Reader&, const LaRuns&, int64_t, Wanted*) except +


cdef class Segments:
    """Fetched parts of a far file; reads of the engine take their bytes from where they lie. For one thread at a time.

    Parameters
    ----------
    size
        Bytes of the file.
    """

    cdef _Segments held
    cdef list owners
    cdef readonly int64_t size

    def __init__(self, int64_t size) -> None:
        self.owners = []
        self.size = size

    def add(self, const int64_t[::1] starts not None, list parts) -> None:
        """Add ``(n,) uint8`` parts, compared with their checksums, that begin at ``(m,) int64`` places of the file.

        Raises
        ------
        InternalError
            There are not as many parts as places, or one lies outside the file.
        """
        cdef const uint8_t[::1] part
        cdef Py_ssize_t number
        if starts.shape[0] != len(parts):
            raise refusal(b"parts and places have contradicting lengths", -1, 0)
        for number in range(starts.shape[0]):
            part = parts[number]
            if starts[number] < 0 or starts[number] > self.size - part.shape[0]:
                raise refusal(b"a part lies outside the file", number, 0)
            if part.shape[0]:
                self.owners.append(parts[number])
                self.held.add(starts[number], &part[0], part.shape[0])

    def copied(
        self, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
    ) -> tuple[Any, Any]:
        """Copy ``(n,) int64`` ranges that were fetched; returns ``(m,) uint8`` bytes and ``(n,) int64`` places in them.

        Raises
        ------
        InternalError
            A range was not fetched.
        """
        cdef int64_t num_bytes = 0
        cdef Py_ssize_t number
        cdef uint8_t[::1] out
        cdef int64_t[::1] at
        places = numpy.empty(starts.shape[0], numpy.int64)
        at = places
        for number in range(starts.shape[0]):
            at[number] = num_bytes
            num_bytes += max(0, stops[number] - starts[number])
        data = numpy.empty(num_bytes, numpy.uint8)
        out = data
        for number in range(starts.shape[0]):
            if stops[number] > starts[number] and not self.held.copy(
                    starts[number], stops[number] - starts[number], &out[at[number]]):
                raise refusal(b"bytes were not fetched", number, 0)
        return data, places

    def wanted(
        self, PagesWithRows pages not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None, int64_t limit_bytes,
        bint indices_only=False, bint guesses=False,
    ) -> tuple[Any, Any] | Refusal:
        """List the bytes that `ReadForms.take` will read and that were not fetched, as far as they are known.

        Pages that do not know where their rows are want their index first. Add what is wanted, and ask again until
        nothing is.

        Parameters
        ----------
        pages, starts, stops, limit_bytes
            As for `ReadForms.take`; leaves that the engine cannot read want nothing.
        indices_only
            Whether only the indices of pages are wanted, and loaded where they were fetched.
        guesses
            Whether the probable bytes of few rows are listed together with the index of their page.

        Returns
        -------
        tuple or Refusal
            ``(n,) int64`` starts and stops, in any order, perhaps overlapping; none when all is there. A refusal where
            reading the rows would be refused.
        """
        cdef Request request
        cdef SelectionBitmap selection
        cdef Wanted wanted
        cdef Outcome outcome
        cdef size_t leaf = 0
        cdef int64_t[::1] out
        outcome.message = NULL
        wanted.guesses = guesses
        request = _request(_runs(starts, stops), -1, None, self.size, None, self)
        with nogil:
            selection.select(request.rows.starts, request.rows.stops, request.rows.num_runs)
            for leaf in range(pages.pages.size()):
                if not pages.is_read[leaf]:
                    continue
                if not pages.lists[leaf].empty():
                    if not indices_only:
                        outcome = want_below_lists(
                            pages.lists[leaf], pages.pages[leaf], request.reader, request.rows, limit_bytes, &wanted)
                    if outcome.message != NULL:
                        break
                    continue
                outcome = want_rows(
                    pages.pages[leaf], request.reader, &selection, request.rows, pages.lengths_per_row[leaf],
                    indices_only, limit_bytes, &wanted)
                if outcome.message != NULL:
                    break
        if outcome.message != NULL:
            return refusal_of(outcome.in_leaf(leaf))
        sides = numpy.empty((2, wanted.starts.size()), numpy.int64)
        out = sides.reshape(-1)
        if wanted.starts.size():
            memcpy(&out[0], wanted.starts.data(), wanted.starts.size() * sizeof(int64_t))
            memcpy(&out[wanted.starts.size()], wanted.stops.data(), wanted.stops.size() * sizeof(int64_t))
        return sides[0], sides[1]
