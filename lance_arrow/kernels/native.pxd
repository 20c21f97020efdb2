# What `native.pyx` uses of the engine's headers.
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from lance_arrow.kernels.outcome cimport Outcome

cdef extern from "include/lance_arrow_native.h" nogil:
    cdef struct LaRuns:
        const int64_t* starts
        const int64_t* stops
        int64_t num_runs

    cdef struct LaChunkCodec:
        int64_t bits
        int64_t num_buffers

    cdef struct LaValueCodec:
        int64_t bits

    cdef struct LaStoredValues:
        pass

cdef extern from "engine/tables/block_checks.hpp" namespace "lance_arrow::kernels" nogil:
    cdef cppclass BlockChecks:
        pass

cdef extern from "engine/arrays/leaf_arrays.hpp" namespace "lance_arrow::kernels::native" nogil:
    cdef cppclass Page:
        int64_t num_rows
        int64_t value_bits
        vector[uint8_t] layers
        cbool picks_marked(int64_t)

    cdef struct Items:
        int64_t bits
        const uint8_t* values
        int64_t values_bytes
        const uint8_t* offsets
        int offset_bits
        int64_t num_items

    cdef cppclass ChunkForm:
        cbool large
        const LaChunkCodec* values
        const LaChunkCodec* rep
        const LaChunkCodec* def_ "def"
        int max_rep, max_def, max_visible
        cbool has_items
        Items items

    cdef struct ChunkPlaces:
        const int64_t* chunk_starts
        const int64_t* value_starts
        const int64_t* rows_started
        const int64_t* rows_finished
        const int64_t* rows_left
        int64_t num_chunks

    cdef cppclass ChunkedPage(Page):
        ChunkedPage(const ChunkForm&, const ChunkPlaces&) except +

    cdef cppclass FlatPage(Page):
        FlatPage(int64_t, cbool) except +

    cdef cppclass BinaryPage(Page):
        BinaryPage(int64_t, uint64_t) except +

    cdef cppclass ZipForm "lance_arrow::kernels::ZipForm":
        int bits_rep, bits_def
        int64_t bytes_per_value
        int bits_per_offset, max_visible

    cdef cppclass StreamForm:
        ZipForm zip
        int max_rep, max_def
        int64_t num_entries, num_values
        const LaValueCodec* values
        const LaStoredValues* stored

    cdef cppclass ZippedPage(Page):
        ZippedPage(const StreamForm&, const int64_t*, int64_t) except +

    cdef cppclass PlacesPage(Page):
        PlacesPage(const Page*, int) except +

    const int64_t PLACE_BITS "lance_arrow::kernels::native::PlacesPage::kPlaceBits"

    cdef struct Reader:
        int fd
        const uint8_t* memory
        int64_t size
        BlockChecks* checks

    cdef cppclass ReadCount:
        int64_t requests, ranges, bytes_wanted, bytes_read

    cdef struct PageRef:
        const Page* page
        int64_t first_row
        int64_t data_start
        int64_t data_bytes
        int64_t second_start
        int64_t second_bytes

    cdef cppclass Lendable "lance_arrow::kernels::native::Buffer":
        uint8_t* data()
        void lend(uint8_t*, int64_t, cbool)
        cbool is_lent()

    cdef cppclass LeafPart:
        LeafPart() except +
        int64_t limit
        int64_t num_values
        int64_t num_bytes
        Lendable values

    cdef cppclass Marks "lance_arrow::kernels::Marks":
        void mark(const int64_t*, const int64_t*, int64_t) except +

    cdef cppclass LeafReader:
        LeafReader(const vector[PageRef]&, const Reader&, const Marks*) except +
        Outcome run(const LaRuns&, LeafPart*) except +
        const ReadCount& count()

    int64_t expected_bytes(const vector[PageRef]&, const LaRuns&) except +

    cdef cppclass Leaf:
        vector[unique_ptr[LeafPart]] parts
        vector[int] offset_bits
        int64_t value_bits
        vector[int64_t] field_bytes
        cbool lent
        void borrow_part() except +
        void give_back_part()

    cdef struct NodeOut:
        uint8_t* validity
        void* offsets
        int64_t slots
        int64_t null_count

    Outcome measure_leaf(const Leaf&, int64_t*, cbool*) except +
    Outcome fill_structure(const Leaf&, NodeOut*) except +
    void copy_values(const Leaf&, uint8_t*, uint8_t*, int) except +
    void split_fields(const Leaf&, uint8_t* const*)

cdef extern from "engine/arrays/blobs.hpp" namespace "lance_arrow::kernels::native" nogil:
    cdef cppclass Fetcher:
        Fetcher(const Reader&) except +
        const ReadCount& count()

    cdef struct BlobPlaces:
        const uint8_t* positions
        const uint8_t* sizes
        int64_t stride
        const uint8_t* kinds
        const uint8_t* validity
        int64_t count

    BlobPlaces places_of_rows(const uint8_t*, int64_t)
    void copy_positions(const BlobPlaces&, uint8_t*)
    Outcome lay_out_blobs(const BlobPlaces&, int64_t, int64_t, int, uint8_t*, int64_t*)
    Outcome read_laid_out(const BlobPlaces&, int, const uint8_t*, int64_t, int64_t, Fetcher*, uint8_t*) except +

cdef enum:
    MAX_NODES = 64
