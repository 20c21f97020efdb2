# A page as `native.pyx` takes it from whoever built it.
from libcpp.memory cimport unique_ptr

from lance_arrow.kernels.native cimport Page


cdef class NativePage:
    cdef unique_ptr[Page] page
    cdef tuple kept
    cdef readonly int data_buffer
    cdef readonly int second_buffer
    cdef readonly int offset_bits
    cdef readonly bint is_for_scans
