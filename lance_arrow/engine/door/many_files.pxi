# Many local files that native code reads as one.

cdef extern from "engine/plan/many_files.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass _ManyFiles "lance_arrow::engine::ManyFiles":
        _ManyFiles()
        _ManyFiles(const uint8_t*)
        void add(string, int64_t, int64_t, int64_t, optional[CFileState]) except +


cdef class ManyFiles:
    """Local files as one place of bytes, which the engine opens and reads by itself.

    Parameters
    ----------
    paths
        Paths, encoded by `os.fsencode`, without zero bytes.
    starts, sizes
        ``(n,) int64``: where each file lies, ascending, and its bytes.
    ends
        ``(m,) uint8``: bytes of the files, each at its place; those before the ends are not looked at.
    kept_from
        ``(n,) int64``: where the end of each file begins.
    states
        For each file its `FileState`; None where files never change, and only their sizes are compared.

    Raises
    ------
    ValueError
        Unequal lengths, files that overlap or lie outside of `ends`, or a path with a zero byte.
    """

    cdef _ManyFiles held
    cdef object ends

    def __init__(
        self, list paths not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
        const uint8_t[::1] ends not None, const int64_t[::1] kept_from not None, states=None,
    ) -> None:
        cdef Py_ssize_t number, n = starts.shape[0]
        cdef int64_t end = 0
        cdef bytes path
        cdef optional[CFileState] state
        if not len(paths) == sizes.shape[0] == kept_from.shape[0] == n or (states is not None and len(states) != n):
            raise ValueError("paths, starts, sizes and states must have equal lengths")
        self.ends = ends
        self.held = _ManyFiles(&ends[0] if ends.shape[0] else NULL)
        for number in range(n):
            path = paths[number]
            if b"\0" in path:
                raise ValueError("a path contains a zero byte")
            if sizes[number] < 0 or starts[number] < end or starts[number] > ends.shape[0] - sizes[number]:
                raise ValueError("files overlap, or lie outside of their ends")
            if not starts[number] <= kept_from[number] <= starts[number] + sizes[number]:
                raise ValueError("an end lies outside of its file")
            end = starts[number] + sizes[number]
            if states is not None:
                state = (<FileState?> states[number]).state
            self.held.add(path, starts[number], sizes[number], kept_from[number], state)
