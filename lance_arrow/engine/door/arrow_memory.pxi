# Arrays of the Arrow C data interface, and where the memory of results comes from.

cdef extern from "engine/common/arrow_array.hpp" nogil:
    cdef struct ArrowArray:
        int64_t length
        int64_t n_children
        ArrowArray** children
        void (*release)(ArrowArray*)

cdef extern from "engine/arrays/result_memory.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Allocator:
        uint8_t* (*allocate)(void*, int64_t) noexcept
        void (*release)(void*, uint8_t*, int64_t) noexcept
        void* context
        cbool shares_blocks

    Allocator plain_allocator()

cdef extern from "engine/arrays/arrow_functions.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct RowsImport:
        pass

    ctypedef cbool (*DecodeFrame)(const uint8_t*, int64_t, uint8_t*, int64_t) noexcept nogil

    cdef struct ArrowFunctions:
        Allocator (*current_allocator)() noexcept nogil
        RowsImport* (*begin_import)(void*) noexcept
        cbool (*import_ "import")(RowsImport*, ArrowArray*, cbool) noexcept nogil
        void* (*wrap)(const RowsImport*) except NULL
        void (*end_import)(RowsImport*) noexcept nogil
        DecodeFrame decompress_zstd

# What Arrow's own libraries do here; NULL beside a pyarrow that the package was not built for.
cdef const ArrowFunctions* _arrow = NULL
_capsule = arrow_functions(pa.__version__)
if _capsule is not None:
    _arrow = <const ArrowFunctions*>PyCapsule_GetPointer(_capsule, "lance_arrow.ArrowFunctions")

# Makes the allocator of a pool; that of the bridge, once it is loaded.
cdef object _allocator_of = None


def use_pools(allocator_of) -> None:
    """Take the memory of results from pools that callers name.

    Parameters
    ----------
    allocator_of
        Called with a pool; returns a capsule ``lance_arrow.Allocator``, which is used as long as the pool exists.
    """
    global _allocator_of
    _allocator_of = allocator_of


cdef inline const uint8_t* _address(buffer) except? NULL:
    if buffer is None:
        return NULL
    return <const uint8_t*><size_t>buffer.address


cdef class LentBuffers:
    """Buffers of pyarrow as memory of a result, for results that Python puts together."""

    cdef object allocate
    cdef dict by_address
    cdef object error

    cdef object buffer(self, Region region):
        """Return the buffer of a region; None where there is none."""
        if region.bytes == NULL:
            return None
        buffer = self.by_address[<size_t>region.bytes]
        return buffer if buffer.size == region.size else buffer.slice(0, region.size)


cdef LentBuffers lent_buffers(allocate):
    cdef LentBuffers made = LentBuffers.__new__(LentBuffers)
    made.allocate, made.by_address, made.error = allocate, {}, None
    return made


cdef uint8_t* _lend(void* context, int64_t size) noexcept with gil:
    cdef LentBuffers lent = <LentBuffers>context
    try:
        buffer = lent.allocate(size)
        address = buffer.address
    except BaseException as error:
        lent.error = error
        return NULL
    lent.by_address[address] = buffer
    return <uint8_t*><size_t>address


cdef void _end_loan(void* context, uint8_t* address, int64_t size) noexcept nogil:
    # Buffers are freed with the object that holds them, or by whoever has got them.
    pass


cdef Allocator _lending(LentBuffers lent):
    cdef Allocator made
    made.allocate, made.release, made.context, made.shares_blocks = _lend, _end_loan, <void*>lent, False
    return made
