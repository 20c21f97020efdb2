# Capsules of the format's own encoders, for pages that are written natively: tables of C functions, as
# ``lance_arrow_native.h`` says.

cdef extern from "include/lance_arrow_native.h" nogil:
    cdef struct LaChunkRules:
        int64_t max_bytes
        int64_t max_values
        int64_t target_bytes

    cdef struct LaChunkEncoder:
        pass

    cdef struct LaBlocksEncoder:
        pass

    cdef struct LaPageEncoder:
        pass

cdef extern from "engine/encode/held_encoders.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass HeldChunkEncoder:
        pass

    cdef cppclass HeldBlocksEncoder:
        pass

    cdef cppclass HeldPageEncoder:
        pass

    cdef cppclass ScoreOptions:
        ScoreOptions()
        double factor
        cbool stores_plainly
        double most_runs

    cdef cppclass ChunkPageForm:
        ChunkPageForm()
        LaChunkRules rules
        cbool large
        vector[int64_t] dictionary_bits
        int64_t dictionary_values
        int64_t dictionary_divisor
        double dictionary_ratio
        cbool compresses_indices

    HeldChunkEncoder* hold_flat_encoder(const string&) except +
    HeldChunkEncoder* hold_inline_packer(const string&, const ScoreOptions&) except +
    HeldChunkEncoder* hold_run_encoder(const string&, const ScoreOptions&) except +
    HeldChunkEncoder* hold_asked_encoder(int64_t, int64_t) except +
    HeldChunkEncoder* hold_streams_asked(int64_t, double) except +
    HeldBlocksEncoder* hold_flat_blocks(const string&) except +
    HeldBlocksEncoder* hold_inline_blocks(const string&, const ScoreOptions&) except +
    HeldBlocksEncoder* hold_run_blocks(const string&, const ScoreOptions&) except +
    HeldBlocksEncoder* hold_packed_blocks(const vector[string]&, const ScoreOptions&, cbool) except +
    HeldPageEncoder* hold_chunk_pages(const ChunkPageForm&) except +
    HeldPageEncoder* hold_constant_pages(cbool) except +
    HeldPageEncoder* hold_zipped_pages(double) except +
    HeldPageEncoder* hold_no_pages() except +

cdef const char* _CHUNK_ENCODER = "lance_arrow.chunk_encoder/1"
cdef const char* _BLOCKS_ENCODER = "lance_arrow.blocks_encoder/1"
cdef const char* _PAGE_ENCODER = "lance_arrow.page_encoder/1"


cdef void _drop_chunk_encoder(object capsule) noexcept:
    cdef HeldChunkEncoder* held = <HeldChunkEncoder*>PyCapsule_GetPointer(capsule, _CHUNK_ENCODER)
    del held


cdef void _drop_blocks_encoder(object capsule) noexcept:
    cdef HeldBlocksEncoder* held = <HeldBlocksEncoder*>PyCapsule_GetPointer(capsule, _BLOCKS_ENCODER)
    del held


cdef void _drop_page_encoder(object capsule) noexcept:
    cdef HeldPageEncoder* held = <HeldPageEncoder*>PyCapsule_GetPointer(capsule, _PAGE_ENCODER)
    del held


cdef object _chunk_encoder(HeldChunkEncoder* held):
    return PyCapsule_New(held, _CHUNK_ENCODER, _drop_chunk_encoder)


cdef object _blocks_encoder(HeldBlocksEncoder* held):
    return PyCapsule_New(held, _BLOCKS_ENCODER, _drop_blocks_encoder)


cdef object _page_encoder(HeldPageEncoder* held):
    return PyCapsule_New(held, _PAGE_ENCODER, _drop_page_encoder)


cdef ScoreOptions _score_options(double factor, bint stores_plainly, double most_runs=-1.0):
    cdef ScoreOptions options
    options.factor, options.stores_plainly, options.most_runs = factor, stores_plainly, most_runs
    return options


def flat_encoder(bytes description) -> object:
    """Chunks of values back to back; `description` is the serialized ``CompressiveEncoding``, here and below."""
    return _chunk_encoder(hold_flat_encoder(description))


def inline_bitpacking_encoder(bytes description, *, double factor, bint stores_plainly) -> object:
    """Chunks of 1024 values, each with its bit width; `factor` multiplies the score of bytes, here and below."""
    return _chunk_encoder(hold_inline_packer(description, _score_options(factor, stores_plainly)))


def run_lengths_encoder(bytes description, *, double factor, bint stores_plainly, double most_runs=-1.0) -> object:
    """Chunks of runs; not for blocks with at least `most_runs` runs per value (below 0: any)."""
    return _chunk_encoder(hold_run_encoder(description, _score_options(factor, stores_plainly, most_runs)))


def asked_encoder(int64_t least_bytes, int64_t least_values) -> object:
    """A codec that is asked in Python for blocks of so many bytes and values, and does not fit smaller ones."""
    return _chunk_encoder(hold_asked_encoder(least_bytes, least_values))


def streams_asked_encoder(int64_t least_bytes, double most_part) -> object:
    """A codec that is asked in Python where compressed byte streams may be small, by samples (`lz4_stream_bytes`).

    Parameters
    ----------
    least_bytes
        Smaller blocks do not fit, nor do fewer than 1,024 values, nor widths other than 32 and 64 bits.
    most_part
        Largest part that the streams may take of the values, plain or packed.
    """
    return _chunk_encoder(hold_streams_asked(least_bytes, most_part))


def flat_blocks_encoder(bytes description) -> object:
    """Blocks of values back to back."""
    return _blocks_encoder(hold_flat_blocks(description))


def inline_bitpacking_blocks_encoder(bytes description, *, double factor, bint stores_plainly) -> object:
    """Blocks of at most 1024 values, each with its bit width."""
    return _blocks_encoder(hold_inline_blocks(description, _score_options(factor, stores_plainly)))


def run_lengths_blocks_encoder(
    bytes description, *, double factor, bint stores_plainly, double most_runs=-1.0
) -> object:
    """Blocks of runs."""
    return _blocks_encoder(hold_run_blocks(description, _score_options(factor, stores_plainly, most_runs)))


def out_of_line_bitpacking_blocks_encoder(
    descriptions, *, double factor, bint stores_plainly, bint packs_zeros
) -> object:
    """Blocks of one bit width, with a description for each width from 0 on; zeros are packed only if `packs_zeros`."""
    cdef vector[string] serialized
    for one in descriptions:
        serialized.push_back(one)
    return _blocks_encoder(hold_packed_blocks(serialized, _score_options(factor, stores_plainly), packs_zeros))


def chunk_pages_encoder(
    rules, *, bint large, dictionary_bits, int64_t dictionary_values, int64_t dictionary_divisor,
    double dictionary_ratio, bint compresses_indices,
) -> object:
    """Pages of chunks. Where a dictionary may be smaller, Python is asked.

    Parameters
    ----------
    rules
        ``max_bytes``, ``max_values`` and ``target_bytes`` of chunks.
    large
        Whether words and sizes have 32 bits.
    dictionary_bits, dictionary_values, dictionary_divisor, dictionary_ratio
        Widths of values and fewest values with a dictionary; its most items and bytes, as parts of the values and bytes.
    compresses_indices
        Whether indices may be compressed.
    """
    cdef ChunkPageForm form
    form.rules.max_bytes, form.rules.max_values, form.rules.target_bytes = rules
    form.large = large
    form.dictionary_bits = dictionary_bits
    form.dictionary_values, form.dictionary_divisor = dictionary_values, dictionary_divisor
    form.dictionary_ratio, form.compresses_indices = dictionary_ratio, compresses_indices
    return _page_encoder(hold_chunk_pages(form))


def constant_pages_encoder(bint has_scalars) -> object:
    """Pages of nulls, or (with `has_scalars`) of one value."""
    return _page_encoder(hold_constant_pages(has_scalars))


def zipped_pages_encoder(double cost_of_byte) -> object:
    """Pages of values one by one: scored natively, written in Python."""
    return _page_encoder(hold_zipped_pages(cost_of_byte))


def no_pages_encoder() -> object:
    """A layout that does not fit leaves of this kind."""
    return _page_encoder(hold_no_pages())
