# Capsules of the format's own encoders, for pages that are written natively: tables of C functions, as
# ``lance_arrow_native.h`` says.

cdef extern from "engine/encode/encoders/held_encoders.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass CompressionForm:
        const LaFrameEncoder* frames
        string compression
        int64_t least_bytes
        int64_t sampled_bytes
        int64_t num_samples
        double most_part

    cdef cppclass CompressedBlockForm(CompressionForm):
        CompressedBlockForm()
        vector[const LaBlocksEncoder*] children

    cdef cppclass CompressedChunkForm(CompressionForm):
        CompressedChunkForm()
        vector[const LaChunkEncoder*] children
        int64_t chunk_bytes

    cdef cppclass ChunkPageForm:
        ChunkPageForm()
        LaChunkRules rules
        cbool large
        vector[int64_t] dictionary_bits
        int64_t dictionary_values
        int64_t dictionary_divisor
        double dictionary_ratio
        double packed_ratio
        cbool compresses_indices
        int64_t zipped_from_bytes
        cbool compresses_strings
        LaChunkRules estimate_rules
        LaChunkRules index_rules
        const LaChunkEncoder* indices
        const LaBlocksEncoder* items

    HeldChunkEncoder* hold_asked_encoder(int64_t, int64_t) except +
    HeldChunkEncoder* hold_best_chunks(const vector[const LaChunkEncoder*]&) except +
    HeldBlocksEncoder* hold_asked_blocks(int64_t) except +
    HeldBlocksEncoder* hold_compressed_blocks(const CompressedBlockForm&) except +
    HeldChunkEncoder* hold_compressed_chunks(const CompressedChunkForm&) except +
    HeldBlocksEncoder* hold_best_blocks(const vector[const LaBlocksEncoder*]&) except +
    HeldPageEncoder* hold_chunk_pages(const ChunkPageForm&) except +
    HeldPageEncoder* hold_constant_pages(cbool) except +
    HeldPageEncoder* hold_zipped_pages(double) except +
    HeldPageEncoder* hold_no_pages() except +

def asked_encoder(int64_t least_bytes, int64_t least_values) -> object:
    """A codec that is asked in Python for blocks of so many bytes and values, and does not fit smaller ones."""
    return chunk_encoder_capsule(hold_asked_encoder(least_bytes, least_values))


def best_chunks_encoder(capsules) -> object:
    """The encoder of chunks with the smallest score; the first of equal ones."""
    cdef vector[const LaChunkEncoder*] encoders
    for one in capsules:
        encoders.push_back(<const LaChunkEncoder*>PyCapsule_GetPointer(one, _CHUNK_ENCODER))
    return keeping(chunk_encoder_capsule(hold_best_chunks(encoders)), tuple(capsules))


def asked_blocks_encoder(int64_t least_bytes) -> object:
    """A codec that is asked in Python for blocks of so many bytes, and does not fit smaller ones."""
    return blocks_encoder_capsule(hold_asked_blocks(least_bytes))


cdef int _set_compression(
    CompressionForm* form, frames, bytes compression, int64_t least_bytes, int64_t sampled_bytes, int64_t num_samples,
    double most_part,
) except -1:
    form.frames = <const LaFrameEncoder*>PyCapsule_GetPointer(frames, _FRAME_ENCODER)
    form.compression, form.least_bytes = compression, least_bytes
    form.sampled_bytes, form.num_samples, form.most_part = sampled_bytes, num_samples, most_part
    return 0


def compressed_blocks_encoder(
    frames, children, bytes compression, *, int64_t least_bytes, int64_t sampled_bytes, int64_t num_samples,
    double worthwhile,
) -> object:
    """Single blocks of the best child, compressed; Python is asked about blocks of which it would compress samples.

    Parameters
    ----------
    frames
        Capsule of the scheme.
    children
        Capsules of encoders of blocks, in the order of their names.
    compression
        Serialized ``BufferCompression``.
    least_bytes
        Fewest bytes of a block.
    sampled_bytes, num_samples
        Bytes, and number, of the samples.
    worthwhile
        Largest part of the bytes that may be left.
    """
    cdef CompressedBlockForm form
    _set_compression(&form, frames, compression, least_bytes, sampled_bytes, num_samples, worthwhile)
    for one in children:
        form.children.push_back(<const LaBlocksEncoder*>PyCapsule_GetPointer(one, _BLOCKS_ENCODER))
    return keeping(blocks_encoder_capsule(hold_compressed_blocks(form)), (frames, tuple(children)))


def compressed_chunks_encoder(
    frames, children, bytes compression, *, int64_t least_bytes, int64_t sampled_bytes, int64_t num_samples,
    double most_part, int64_t chunk_bytes,
) -> object:
    """Chunks of the best child, their first buffers compressed, if samples become much smaller than the best child's.

    Parameters
    ----------
    frames, compression, least_bytes, sampled_bytes, num_samples
        As of `compressed_blocks_encoder`. Samples have whole groups of 1,024 values.
    most_part
        The largest part of the best child's bytes.
    children
        Capsules of encoders of chunks, in the order of their names.
    chunk_bytes
        Most bytes of a chunk before compression: a part of it is decompressed for a row.
    """
    cdef CompressedChunkForm form
    _set_compression(&form, frames, compression, least_bytes, sampled_bytes, num_samples, most_part)
    for one in children:
        form.children.push_back(<const LaChunkEncoder*>PyCapsule_GetPointer(one, _CHUNK_ENCODER))
    form.chunk_bytes = chunk_bytes
    return keeping(chunk_encoder_capsule(hold_compressed_chunks(form)), (frames, tuple(children)))


def try_frame_encoder(capsule, const uint8_t[::1] data not None) -> bytes | None:
    """Compress one buffer by a capsule, for tests of schemes; None where Python must compress it."""
    cdef const LaFrameEncoder* encoder = <const LaFrameEncoder*>PyCapsule_GetPointer(capsule, _FRAME_ENCODER)
    cdef int64_t room = encoder.room(encoder.self, data.shape[0])
    cdef vector[uint8_t] out
    if room < 0:
        return None
    out.resize(room + 1)
    cdef int64_t size = encoder.compress(encoder.self, &data[0], data.shape[0], out.data())
    if not 0 <= size <= room:
        raise refusal(b"a frame has more bytes than its encoder said", size, 0)
    return (<const char*>out.data())[:size]


def best_blocks_encoder(capsules) -> object:
    """The encoder of blocks with the smallest score; the first of equal ones."""
    cdef vector[const LaBlocksEncoder*] encoders
    for one in capsules:
        encoders.push_back(<const LaBlocksEncoder*>PyCapsule_GetPointer(one, _BLOCKS_ENCODER))
    return keeping(blocks_encoder_capsule(hold_best_blocks(encoders)), tuple(capsules))


def chunk_pages_encoder(
    rules, *, bint large, int64_t zipped_from_bytes, dictionary_bits, int64_t dictionary_values,
    int64_t dictionary_divisor, double dictionary_ratio, bint compresses_indices, bint compresses_strings,
    estimate_rules, index_rules, indices=None, items=None, double packed_ratio=0.0,
) -> object:
    """Pages of chunks. Where a dictionary of values of one width may be smaller, Python is asked.

    Parameters
    ----------
    rules
        ``max_bytes``, ``max_values`` and ``target_bytes`` of chunks.
    large
        Whether words and sizes have 32 bits.
    zipped_from_bytes
        Bytes from which byte strings are better zipped.
    dictionary_bits, dictionary_values, dictionary_divisor, dictionary_ratio
        Widths of values (0: byte strings) and fewest values with a dictionary; its most items and bytes, as parts of
        the values and bytes.
    compresses_indices, compresses_strings
        Whether indices, and strings, may be compressed.
    estimate_rules, index_rules
        As `rules`, for estimates and for chunks of indices.
    indices, items
        Capsules that encode chunks of indices of 32 bits, and blocks of items; None: Python is asked for pages with a
        dictionary.
    packed_ratio
        Largest ratio of the bits of an index to those of a packed value, where packed values take less than a quarter of
        the plain ones.
    """
    cdef ChunkPageForm form
    form.rules.max_bytes, form.rules.max_values, form.rules.target_bytes = rules
    form.estimate_rules.max_bytes, form.estimate_rules.max_values, form.estimate_rules.target_bytes = estimate_rules
    form.index_rules.max_bytes, form.index_rules.max_values, form.index_rules.target_bytes = index_rules
    form.large, form.zipped_from_bytes = large, zipped_from_bytes
    form.dictionary_bits = dictionary_bits
    form.dictionary_values, form.dictionary_divisor = dictionary_values, dictionary_divisor
    form.dictionary_ratio, form.packed_ratio, form.compresses_indices = dictionary_ratio, packed_ratio, compresses_indices
    form.compresses_strings = compresses_strings
    form.indices = NULL
    form.items = NULL
    if indices is not None and items is not None:
        form.indices = <const LaChunkEncoder*>PyCapsule_GetPointer(indices, _CHUNK_ENCODER)
        form.items = <const LaBlocksEncoder*>PyCapsule_GetPointer(items, _BLOCKS_ENCODER)
    return keeping(page_encoder_capsule(hold_chunk_pages(form)), (indices, items))


def constant_pages_encoder(bint has_scalars) -> object:
    """Pages of nulls, or (with `has_scalars`) of one value."""
    return page_encoder_capsule(hold_constant_pages(has_scalars))


def zipped_pages_encoder(double cost_of_byte) -> object:
    """Pages of values one by one: scored natively, written in Python."""
    return page_encoder_capsule(hold_zipped_pages(cost_of_byte))


def no_pages_encoder() -> object:
    """A layout that does not fit leaves of this kind."""
    return page_encoder_capsule(hold_no_pages())
