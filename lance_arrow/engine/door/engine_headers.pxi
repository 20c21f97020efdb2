# Pages, readers and leaves of the engine.

cdef extern from "engine/plan/dictionary_items.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct Items:
        int64_t bits
        const uint8_t* values
        int64_t values_bytes
        const uint8_t* offsets
        int offset_bits
        int64_t num_items

cdef extern from "engine/plan/pages.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Page:
        int64_t num_rows
        int64_t value_bits
        vector[int64_t] parts
        vector[uint8_t] layers
        cbool has_shared_levels, in_two_steps
        vector[int64_t] dimensions
        cbool is_indexed()
        int64_t index_bytes()
        cbool picks_selected(int64_t)
        cbool has_few_items()
        cbool has_numbers()
        cbool has_texts()
        const Items* items()

    cdef struct PageBuffers:
        int64_t* starts
        int64_t* sizes
        size_t count

    const size_t MOST_BUFFERS "lance_arrow::engine::PageBuffers::kMost"

    cdef cppclass Lendable "lance_arrow::engine::Buffer":
        uint8_t* data()

    enum class NumberKind:
        kSigned
        kUnsigned
        kFloat

    cdef cppclass NumberCondition:
        NumberCondition()
        NumberKind kind
        int64_t bits
        vector[uint64_t] lows
        vector[uint64_t] highs
        cbool nan_flag
        cbool prepare() except +

    cdef cppclass TextCondition:
        TextCondition()
        void add(string, const string*) except +
        void look_for(string, cbool, cbool) except +
        cbool prepare() except +
        LaTextRanges ranges()

    cdef cppclass JudgedItems:
        JudgedItems(cbool, int64_t, cbool) except +
        void judge_numbers(shared_ptr[NumberCondition]) except +
        void judge_texts(shared_ptr[TextCondition]) except +
        void judge(const Items*, const uint8_t*) except +

    cdef cppclass LeafPart:
        LeafPart() except +
        int64_t limit
        int64_t num_values
        int64_t num_bytes
        Lendable values
        vector[int64_t] ends
        LaValues place(int64_t, int64_t) except +
        void took(int64_t, const LaValues&)

cdef extern from "engine/pages/array_pages.hpp" namespace "lance_arrow::engine" nogil:
    Page* new_flat_page(int64_t, cbool) except +
    Page* new_nullable_items_page(int64_t, int64_t, cbool) except +

    cdef cppclass ListRowsForm:
        ListRowsForm()
        vector[int64_t] bits
        vector[int] buffers
        cbool has_validity

    Page* new_list_rows_page(const ListRowsForm&) except +

cdef extern from "engine/pages/binary_pages.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct BinaryForm:
        int64_t end_bytes
        uint64_t null_adjustment
        const LaValueCodec* codes

    cdef struct FrameForm:
        size_t buffer
        const LaFrameCodec* frames
        int64_t most_bytes

    Page* new_binary_page(const BinaryForm&) except +
    Page* new_framed_binary_page(const BinaryForm&, const FrameForm&) except +

cdef extern from "engine/pages/indexed_page.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct IndexedForm:
        const Page* indices
        const Page* items
        int64_t num_items
        int* item_buffers
        cbool keeps_items
        int64_t most_item_bytes

    Page* new_indexed_page(const IndexedForm&) except +

cdef extern from "engine/pages/held_page.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct HeldForm:
        const uint8_t* indices
        int64_t index_bytes
        Items items
        cbool keeps_items

    Page* new_held_page(const HeldForm&) except +

cdef extern from "engine/pages/buffered_page.hpp" namespace "lance_arrow::engine" nogil:
    Page* new_buffered_page(const Page*, const uint8_t*, int64_t) except +

cdef extern from "engine/pages/flattened_page.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass FlattenedForm:
        int64_t items_per_list
        int own_levels
        vector[int64_t] bitmap_bits, null_levels
        int64_t item_bits

    Page* new_flattened_page(const FlattenedForm&, const Page*) except +

cdef extern from "engine/pages/list_page.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t LIST_ENDS "lance_arrow::engine::kListEnds"
    Page* new_list_page(uint64_t, int64_t) except +

cdef extern from "engine/pages/chunked_page.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass ChunkForm:
        cbool large
        const LaChunkCodec* values
        const LaChunkCodec* rep
        const LaChunkCodec* def_ "def"
        int max_rep, max_def, max_visible
        cbool has_items, keeps_items
        Items items

    cdef struct ChunkIndexForm:
        int64_t num_values
        const LaChunkCodec* items
        int64_t num_items
        int64_t most_item_bytes

    Page* new_chunked_page(const ChunkForm&, const ChunkIndexForm&) except +

cdef extern from "engine/pages/zipped_page.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass StreamForm:
        ZipForm zip
        int max_rep, max_def
        int64_t num_entries, num_values
        const LaValueCodec* values
        const LaStoredValues* stored

    Page* new_zipped_page(const StreamForm&, int64_t) except +

cdef extern from "engine/pages/places_page.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t PLACE_BITS "lance_arrow::engine::kPlaceBits"
    Page* new_places_page(const Page*, int) except +

cdef extern from "engine/arrays/slots.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass _SparseLayer "lance_arrow::engine::SlotLayer":
        _SparseLayer()
        const int64_t* positions
        int64_t num_positions
        cbool lists_nulls
        const int64_t* list_slots
        const int64_t* item_starts
        int64_t num_lists
        int64_t dimension

cdef extern from "engine/pages/sparse_page.hpp" namespace "lance_arrow::engine" nogil:
    Outcome check_slot_layers(const vector[_SparseLayer]&, int64_t, int64_t) except +
    Page* new_sparse_page(const vector[_SparseLayer]&, int64_t, const Page*) except +
    vector[uint8_t] sparse_layer_kinds(const vector[_SparseLayer]&) except +

cdef extern from "engine/pages/spread_page.hpp" namespace "lance_arrow::engine" nogil:
    Page* new_spread_page(const _SparseLayer&, const Page*) except +

cdef extern from "engine/plan/reader.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct Reader:
        int fd
        const uint8_t* memory
        int64_t size
        Checks* checks
        const _Segments* segments
        const _ManyFiles* files

    cdef cppclass ReadCount:
        ReadCount()
        int64_t requests, ranges, bytes_wanted, bytes_read

cdef extern from "engine/plan/selection_bitmap.hpp" nogil:
    cdef cppclass SelectionBitmap "lance_arrow::engine::SelectionBitmap":
        void select(const int64_t*, const int64_t*, int64_t) except +

cdef extern from "engine/plan/leaf_reader.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct PageRef:
        const Page* page
        int64_t first_row
        int64_t data_start
        int64_t data_bytes
        int64_t second_start
        int64_t second_bytes
        int64_t third_start
        int64_t third_bytes
        int64_t first_item
        PageBuffers buffers

    Outcome load_indices(const vector[PageRef]&, const Reader&, ReadCount*) except +
    Outcome read_leaf(
        const vector[PageRef]&, const Reader&, const SelectionBitmap*, const LaRuns&, LeafPart*, ReadCount*) except +

cdef extern from "engine/arrays/blobs.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct BlobPlaces:
        const uint8_t* positions
        const uint8_t* sizes
        int64_t stride
        const uint8_t* kinds
        const uint8_t* validity
        int64_t count

    Outcome _lay_out_blobs "lance_arrow::engine::lay_out_blobs"(const BlobPlaces&, int64_t, int64_t, int, uint8_t*, int64_t*)
    Outcome read_laid_out(const BlobPlaces&, int, const uint8_t*, int64_t, int64_t, const Reader&, uint8_t*, ReadCount*) except +

cdef extern from "engine/arrays/leaf_taking.hpp" namespace "lance_arrow::engine" nogil:
    enum class Form:
        kPlain
        kCodes
        kViews
        kTextViews
        kStored
        kJudged
        kKept

    cdef cppclass KeptShape:
        int64_t item_bits
        int item_offset_bits
        int64_t most_items

    cdef cppclass BlobShape:
        int64_t data_stop
        int64_t most_bytes
        int64_t most_at_once
        int offset_bits

    cdef cppclass LeafShape:
        LeafShape()
        vector[int] offset_bits
        vector[int64_t] dimensions
        int64_t lengths_per_row
        int64_t value_bits
        int value_offset_bits
        cbool is_text
        vector[int64_t] field_bits
        vector[int64_t] list_parts
        Form form
        optional[BlobShape] blobs
        optional[KeptShape] kept
        shared_ptr[NumberCondition] numbers
        shared_ptr[TextCondition] texts
        cbool keeps_codes

    cdef struct Region:
        uint8_t* bytes
        int64_t size

    cdef cppclass NodeOut:
        uint8_t* validity
        void* offsets
        int64_t slots
        int64_t null_count

    cdef cppclass DictionaryOut:
        int64_t num_values, num_items
        Region items, offsets

    cdef cppclass LeafOut:
        int64_t num_values
        Form form
        Region values, offsets, positions, items, item_offsets
        vector[Region] fields
        int64_t num_items
        int64_t buffer_bytes
        vector[NodeOut] nodes
        vector[DictionaryOut] dictionaries
        int64_t num_flagged
        int64_t num_children(const LeafShape&, size_t)

    cdef cppclass LeafTaking:
        cbool is_judged()
        void judge(unique_ptr[JudgedItems])

    cdef cppclass Request:
        Request()
        LaRuns rows
        const SelectionBitmap* selection
        Reader reader
        ReadCount count

    cdef cppclass TakeLimits:
        int64_t bytes
        int64_t offset

cdef extern from "engine/arrays/array_tree.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ArrayForm:
        int kind
        int leaf
        int depth
        int64_t items
        int num_children

cdef extern from "engine/arrays/taking.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Taking:
        Taking(const vector[LeafShape]&, const Allocator&, const TakeLimits&) except +
        void set_pages(size_t, const vector[PageRef]&, const vector[vector[PageRef]]&) except +
        LeafTaking& leaf(size_t)
        Outcome take_some(int64_t, Request*) except +
        cbool is_done()
        Outcome begin(const vector[int64_t]&) except +
        Outcome run(size_t, Request*) except +
        Outcome finish() except +
        const LeafOut& done(size_t)
        cbool batch(const vector[ArrayForm]&, int64_t, ArrowArray*) except +

cdef extern from "engine/pages/widened_page.hpp" namespace "lance_arrow::engine" nogil:
    cbool unite_values(const vector[int64_t]&, vector[PageRef]*, vector[unique_ptr[Page]]*) except +

cdef extern from "engine/plan/opened_pages.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass OpenedPages:
        OpenedPages()
        OpenedPages(vector[int64_t]) except +
        cbool open(const PageRef&)
        cbool select(const LaRuns&, vector[PageRef]*) except +
        int64_t nbytes()
