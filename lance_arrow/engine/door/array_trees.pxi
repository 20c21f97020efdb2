# Columns out of what the engine laid out: all arrays of a batch in one import through the Arrow C data interface.

cdef extern from "engine/arrays/array_tree.hpp" nogil:
    cdef struct ArrowArray:
        int64_t length
        int64_t n_children
        ArrowArray** children
        void (*release)(ArrowArray*)

cdef extern from "engine/arrays/array_tree.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ArrayForm:
        int kind
        int leaf
        int depth
        int64_t items
        int num_children
        cbool is_text

    cdef cppclass ArrayTree:
        ArrayTree(const vector[ArrayForm]&, void*, void (*)(void*) noexcept nogil) except +
        void set(int64_t, int64_t, int64_t, const void*, const void*, const void*, int64_t)
        void adopt(int64_t, const vector[int64_t]&)
        @staticmethod
        ArrowArray batch_of(unique_ptr[ArrayTree], int64_t)

cdef extern from *:
    """
    // Public since 3.13.
    #if PY_VERSION_HEX >= 0x030D0000
    static inline int la_is_ending() { return !Py_IsInitialized() || Py_IsFinalizing(); }
    #else
    static inline int la_is_ending() { return !Py_IsInitialized() || _Py_IsFinalizing(); }
    #endif
    """
    int la_is_ending() nogil

cdef enum Kind:
    SLOTS = 0
    LIST = 1
    VALUES = 2
    STRINGS = 3

KINDS = {"slots": SLOTS, "list": LIST, "values": VALUES, "strings": STRINGS}


cdef void _drop(void* owner) noexcept nogil:
    # At the interpreter's end memory goes with the process, and other threads must not ask for the interpreter.
    if not la_is_ending():
        with gil:
            Py_DECREF(<object>owner)


cdef inline const uint8_t* _address(buffer) except? NULL:
    if buffer is None:
        return NULL
    return <const uint8_t*><size_t>buffer.address


cdef class ColumnForms:
    """The columns of a batch, and the leaves with their structure.

    Parameters
    ----------
    columns
        Nested tuples ``(kind, leaf, items, is_text, children)``. ``kind`` is a key of `KINDS`, ``leaf`` the position of
        the leaf with the node's structure. ``items`` is the number of the child's items per slot (0 for lists).
        ``is_text``: whether values are checked as UTF-8.
    schema
        Schema of the batch: the storage of its types has the shape of `columns`.
    """

    cdef vector[ArrayForm] forms
    cdef Py_ssize_t num_columns
    cdef object schema

    def __init__(self, columns, schema) -> None:
        self.num_columns = len(columns)
        self.schema = schema
        for column in columns:
            self._add(column, 0)

    def _add(self, node, int depth):
        cdef ArrayForm form
        kind, leaf, items, is_text, children = node
        form.kind, form.leaf, form.depth, form.items = KINDS[kind], leaf, depth, items
        form.num_children, form.is_text = len(children), is_text
        self.forms.push_back(form)
        for child in children:
            self._add(child, depth + 1)

    def batch(self, list done, int64_t num_rows) -> pa.RecordBatch | None:
        """Make a batch of leaves.

        Parameters
        ----------
        done
            What `native.read_leaves` says of each leaf.
        num_rows
            Rows of the batch.

        Returns
        -------
        pyarrow.RecordBatch or None
            None where leaves contradict each other, or text is not UTF-8. The memory is that of `done`.
        """
        cdef unique_ptr[ArrayTree] tree
        cdef vector[int64_t] columns
        cdef ArrowArray batch
        cdef int64_t at = 0, length
        cdef Py_ssize_t column
        Py_INCREF(done)
        tree.reset(new ArrayTree(self.forms, <void*><PyObject*>done, _drop))
        for column in range(self.num_columns):
            columns.push_back(at)
            length = self._lay(done, &at, tree.get())
            if length != num_rows:
                return None
        tree.get().adopt(-1, columns)
        batch = ArrayTree.batch_of(move(tree), num_rows)
        try:
            return pa.RecordBatch._import_from_c(<uintptr_t>&batch, self.schema)
        finally:
            if batch.release != NULL:
                batch.release(&batch)

    cdef int64_t _lay(self, list done, int64_t* at, ArrayTree* tree) except -2:
        """Lay the node at `at` and those below it; returns its slots, or -1 where something is wrong."""
        cdef int64_t number = at[0], slots, null_count, expected
        cdef const ArrayForm* form = &self.forms[number]
        cdef tuple leaf = done[form.leaf], node
        cdef list nodes = leaf[3]
        cdef vector[int64_t] children
        cdef const void* validity
        cdef int position
        at[0] += 1
        if form.depth >= len(nodes):
            return -1
        node = nodes[len(nodes) - 1 - form.depth]
        slots, null_count, validity = node[0], node[2], _address(node[1])
        if form.kind == VALUES or form.kind == STRINGS:
            if <int64_t>leaf[0] != slots or (form.kind == STRINGS and not _is_text(form, leaf, slots)):
                return -1
            if form.kind == VALUES:
                tree.set(number, slots, null_count, validity, _address(leaf[1]), NULL, 2)
            else:
                tree.set(number, slots, null_count, validity, _address(leaf[2]), _address(leaf[1]), 3)
            return slots
        if form.kind == LIST:
            tree.set(number, slots, null_count, validity, _address(node[3]), NULL, 2)
            expected = node[4]
        else:
            tree.set(number, slots, null_count, validity, NULL, NULL, 1)
            expected = slots * form.items
        for position in range(form.num_children):
            children.push_back(at[0])
            if self._lay(done, at, tree) != expected:
                return -1
        tree.adopt(number, children)
        return slots


cdef bint _is_text(const ArrayForm* form, tuple leaf, int64_t slots) except -1:
    """Whether strings are what their type says."""
    cdef StoredOffsets stored
    cdef Outcome outcome
    if not form.is_text:
        return True
    stored.bytes = _address(leaf[2])
    stored.num_bytes = leaf[2].size
    stored.bits = <int>(8 * (stored.num_bytes // (slots + 1)))
    outcome = _check_utf8(stored, _address(leaf[1]), leaf[1].size)
    return outcome.message == NULL
