# The native file pruner: which files a filter leaves nothing of; made and filled by `file_pruner`, asked by the bridge.

cdef extern from "engine/prune/file_pruner.hpp" namespace "lance_arrow" nogil:
    cdef cppclass KnownSchema:
        uint32_t num_columns
        vector[int] columns

    cdef cppclass KnownEncoding:
        uint64_t rows_per_zone, column_buffer

    cdef cppclass StreamCount "lance_arrow::KnownStream::Count":
        int64_t place
        int width

    cdef cppclass StreamBound "lance_arrow::KnownStream::Bound":
        int64_t validity, offsets, values, values_bytes

    cdef cppclass KnownStream:
        string head
        uint64_t size
        int64_t num_zones
        char kind
        int width
        StreamBound low, high
        StreamCount rows, items, nulls, nans

    cdef cppclass CFilePruner "lance_arrow::FilePruner":
        CFilePruner(shared_ptr[Program], cbool)
        cbool Excludes(const string&, int64_t)
        int64_t Counts(const string&)
        cbool IsIdle()
        int64_t num_asked()
        int64_t num_excluded()
        cbool RegisterSchema(string_view, uint16_t, KnownSchema)
        cbool RegisterEncoding(string_view, KnownEncoding)
        cbool RegisterStream(int, KnownStream)


cdef void _set_bound(StreamBound* bound, places):
    bound.validity, bound.offsets, bound.values, bound.values_bytes = places


cdef void _set_count(StreamCount* count, place):
    count.place, count.width = place


cdef class NativeFilePruner:
    """See `lance_arrow.pruning.file_pruner`, whose words these are."""

    cdef shared_ptr[CFilePruner] pruner
    cdef readonly object pointer

    def __init__(self, NativeProgram program not None, cbool has_checks) -> None:
        self.pruner = make_shared[CFilePruner](program.program, has_checks)
        self.pointer = PyCapsule_New(&self.pruner, "lance_arrow.FilePruner", NULL)

    def left(self, paths, sizes=None) -> list:
        """Return the numbers of the local files that may have a row that satisfies the filter.

        Of known sizes, a file that has another one is left.
        """
        cdef vector[string] native = [path.encode() for path in paths]
        cdef vector[int64_t] known = [-1] * len(paths) if sizes is None else sizes
        cdef vector[size_t] found
        cdef size_t number
        if known.size() != native.size():
            raise InvalidArgumentError("there are not as many sizes as files")
        with nogil:
            for number in range(native.size()):
                if not self.pruner.get().Excludes(native[number], known[number]):
                    found.push_back(number)
        return found

    def counts(self, paths) -> list:
        """Return how many rows each of some local files has; -1 for files that are not like those that are known."""
        cdef vector[string] native = [path.encode() for path in paths]
        cdef vector[int64_t] found
        cdef size_t number
        found.resize(native.size())
        with nogil:
            for number in range(native.size()):
                found[number] = self.pruner.get().Counts(native[number])
        return found

    @property
    def is_idle(self) -> bool:
        """Whether it has found too little to go on."""
        return self.pruner.get().IsIdle()

    @property
    def num_asked(self) -> int:
        """Files that were looked at."""
        return self.pruner.get().num_asked()

    @property
    def num_excluded(self) -> int:
        """Files that were left out."""
        return self.pruner.get().num_excluded()

    def register_schema(self, const unsigned char[::1] descriptor not None, uint16_t minor_version, uint32_t num_columns,
                     columns) -> bool:
        """Learn which physical columns (-1: none) a schema has for those of the filter; from a file descriptor."""
        cdef KnownSchema known
        known.num_columns = num_columns
        known.columns = columns
        return self.pruner.get().RegisterSchema(
            string_view(<const char*> &descriptor[0], descriptor.shape[0]), minor_version, known)

    def register_encoding(self, const unsigned char[::1] metadata not None, uint64_t rows_per_zone,
                       uint64_t column_buffer) -> bool:
        """Learn what the encoding of a column, whose metadata this is, says of its zone map (0 rows: none)."""
        cdef KnownEncoding known
        known.rows_per_zone, known.column_buffer = rows_per_zone, column_buffer
        return self.pruner.get().RegisterEncoding(
            string_view(<const char*> &metadata[0], metadata.shape[0]), known)

    def register_stream(
        self, int column, bytes head, uint64_t size, int64_t num_zones, kind, int width, bounds, counts,
    ) -> bool:
        """Learn where the zone maps of a column of the filter have what, as ``KnownStream`` in ``file_pruner.hpp``."""
        cdef KnownStream known
        known.head, known.size, known.num_zones = head, size, num_zones
        known.kind, known.width = <char> ord(kind), width
        _set_bound(&known.low, bounds[0])
        _set_bound(&known.high, bounds[1])
        _set_count(&known.rows, counts[0])
        _set_count(&known.items, counts[1])
        _set_count(&known.nulls, counts[2])
        _set_count(&known.nans, counts[3])
        return self.pruner.get().RegisterStream(column, known)
