# Filters judged on zones; compiled by `pruning.zone_programs`, which knows Arrow's types.

cdef extern from "engine/prune/zone_program.hpp" namespace "lance_arrow" nogil:
    cdef enum Step "lance_arrow::Step":
        pass

    cdef cppclass Instruction:
        Step step
        int left, right, flag

    cdef cppclass BoundArray:
        char kind
        int width
        int64_t slot
        const uint8_t* validity
        const char* offsets
        const char* values
        int64_t values_bytes
        int64_t SlotBytes(int64_t)

    cdef cppclass ZoneColumn:
        BoundArray low, high
        const uint8_t* flags
        int64_t num_zones
        const char* Fault()

    cdef cppclass Program:
        Program()
        void AddColumn(char, cbool)
        void AddLiterals(const BoundArray&, int64_t)
        void Add(const Instruction&)
        cbool Seal()
        size_t num_columns()
        void Judge(const vector[const ZoneColumn*]&, int64_t, int8_t*)

# So many zones are judged without giving up the interpreter's lock.
cdef int64_t _FEW_ZONES = 16384


cdef BoundArray _bound_array(array, str kind, int width):
    """Look at the buffers of an Arrow array, which have to outlive what is returned."""
    cdef BoundArray found
    cdef int64_t count = len(array), slot_bytes
    buffers = array.buffers()
    slots = buffers[1]
    found.kind, found.width, found.slot = <char> ord(kind), width, array.offset
    if buffers[0] is not None:
        found.validity = _address(buffers[0])
        if buffers[0].size < (found.slot + count + 7) // 8:
            raise InternalError("bounds have too small a bitmap")
    slot_bytes = found.SlotBytes(found.slot + count)
    if slot_bytes < 0 or (count and slot_bytes > (0 if slots is None else slots.size)):
        raise InternalError("bounds have too small a buffer")
    if kind == "b":
        found.offsets = <const char*> _address(slots)
        slots = buffers[2]
    found.values = <const char*> _address(slots)
    found.values_bytes = 0 if slots is None else slots.size
    return found


cdef class NativeZones:
    """A column of a zone map.

    Parameters
    ----------
    low, high
        Arrow arrays of one type, one bound for each zone; null: none.
    kind, width
        Of the type, as ``engine/prune/bound_values.hpp`` has them.
    flags
        ``(num_zones,) uint8``: 1 where a value may occur, 2 a null, 4 a NaN, added up.
    """

    cdef ZoneColumn column
    cdef const uint8_t[::1] flags
    cdef object bounds

    def __init__(self, low, high, str kind, int width, const uint8_t[::1] flags not None) -> None:
        self.column.num_zones = flags.shape[0]
        if len(low) != flags.shape[0] or len(high) != flags.shape[0]:
            raise InternalError("bounds and flags are of different zones")
        self.flags, self.bounds = flags, (low, high)
        self.column.low = _bound_array(low, kind, width)
        self.column.high = _bound_array(high, kind, width)
        self.column.flags = &flags[0]

    @property
    def fault(self) -> str | None:
        """What a zone map has that none can have, where it tells all that there is to tell; None for nothing."""
        cdef const char* found = self.column.Fault()
        return None if found == NULL else found.decode()


cdef class NativeProgram:
    """A filter on zones.

    Parameters
    ----------
    instructions
        ``(step, left, right, flag)`` as ``engine/prune/zone_program.hpp`` has them.
    columns
        ``(kind, nulls_are_values)`` of each.
    literals
        ``(array, kind, width)`` of each: one literal, or those of a lookup.

    Raises
    ------
    InternalError
        An instruction lacks an argument, or has one of another type.
    """

    cdef shared_ptr[Program] program

    def __init__(self, instructions, columns, literals) -> None:
        cdef Instruction one
        cdef Program* program
        self.program = make_shared[Program]()
        program = self.program.get()
        for kind, nulls_are_values in columns:
            program.AddColumn(<char> ord(kind), nulls_are_values)
        for array, kind, width in literals:
            program.AddLiterals(_bound_array(array, kind, width), len(array))
        for step, left, right, flag in instructions:
            one.step, one.left, one.right, one.flag = <Step> <int> step, left, right, flag
            program.Add(one)
        if not program.Seal():
            raise InternalError("a filter on zones was compiled to a program that cannot run")

    @property
    def num_columns(self) -> int:
        """Columns of zone maps that it asks for."""
        return self.program.get().num_columns()

    def judge(self, list zones, int64_t num_zones) -> NDArray[np.int8]:
        """Judge each zone.

        Parameters
        ----------
        zones
            A `NativeZones` for each column, None for one that may hold anything.
        num_zones
            Zones of each.

        Returns
        -------
        ndarray
            ``(num_zones,) int8``: 0 where no row can satisfy the filter, 2 where every row does, else 1.
        """
        cdef vector[const ZoneColumn*] columns
        cdef NativeZones column
        for one in zones:
            column = one
            if column is not None and column.column.num_zones != num_zones:
                raise InternalError("columns are of different zones")
            if column is None:
                columns.push_back(NULL)
            else:
                columns.push_back(&column.column)
        if columns.size() != self.program.get().num_columns():
            raise InternalError("the columns of the zones are not those of the filter")
        verdicts = numpy.empty(num_zones, numpy.int8)
        cdef int8_t[::1] out = verdicts
        if num_zones <= _FEW_ZONES:
            self.program.get().Judge(columns, num_zones, &out[0])
        else:
            with nogil:
                self.program.get().Judge(columns, num_zones, &out[0])
        return verdicts
