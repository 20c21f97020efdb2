# Runs.

cdef extern from "lance_arrow_codecs/rle/runs.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _expand_runs "lance_arrow::codecs::expand_runs"(
        Chunks, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _expand_run_blocks "lance_arrow::codecs::expand_run_blocks"(Chunks, int64_t, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/rle/encoding.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _count_run_entries "lance_arrow::codecs::count_run_entries"(Parts, int64_t, int64_t*)
    Outcome _encode_runs "lance_arrow::codecs::encode_runs"(
        Parts, int64_t, uint8_t*, uint8_t*, int64_t, int64_t*, int64_t*)
    Outcome _encode_run_blocks "lance_arrow::codecs::encode_run_blocks"(
        Parts, int64_t, int64_t*, uint8_t*, int64_t, int64_t*)

cdef extern from "lance_arrow_codecs/rle/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_run_lengths(int64_t bits, cbool is_block) except +
    HeldChunkMarks* hold_run_marks(int64_t bits) except +

cdef extern from "lance_arrow_codecs/rle/encoded_runs.hpp" namespace "lance_arrow::codecs" nogil:
    cdef cppclass RunCounter:
        RunCounter() except +
        int64_t bytes_per_run
        vector[const LaFrameCodec*] frames
        int64_t most_frame_bytes
    
    HeldChunkCodec* hold_encoded_runs(
        const LaChunkCodec*, const LaChunkCodec*, const RunCounter&, const RunCounter&, cbool) except +

cdef extern from "lance_arrow_codecs/rle/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkEncoder* hold_run_encoder(const string&, const ScoreOptions&) except +
    HeldBlocksEncoder* hold_run_blocks(const string&, const ScoreOptions&) except +


def expand_runs(
    const uint8_t[::1] data not None, const int64_t[::1] values_starts not None,
    const int64_t[::1] values_sizes not None, const int64_t[::1] lengths_starts not None,
    const int64_t[::1] lengths_sizes not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
) -> None:
    """Expand mini-block chunks of two buffers: run values of 1, 2, 4 or 8 bytes, and as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, mini-block form; spec 5.7.

    Raises
    ------
    CorruptPageError
        The buffers differ in number of runs, a length is 0, or the lengths do not sum to the chunk's values. (The last
        run may reach past them: release 4.0.0 of the reference writes such chunks.)
    """
    cdef Chunks chunks = chunk_table(data, values_starts, values_sizes, value_starts)
    cdef Outcome outcome
    if lengths_starts.shape[0] != chunks.num_chunks or lengths_sizes.shape[0] != chunks.num_chunks:
        raise refusal(b"starts, sizes and value_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _expand_runs(chunks, &lengths_starts[0], &lengths_sizes[0], bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def expand_run_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
) -> None:
    """Expand blocks: the bytes of run values as u64, the run values, then as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, block form; spec 5.7.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _expand_run_blocks(chunks, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def count_run_entries(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_counts not None,
) -> None:
    """Count the runs of each part, a longer one than 255 as several, into ``(num_parts,) int64``."""
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _count_run_entries(parts, bytes_per_value, &out_counts[0])
    check_outcome(outcome)


def encode_runs(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out_values not None, uint8_t[::1] out_lengths not None, int64_t[::1] out_counts not None,
) -> int:
    """Write run values and run lengths of all parts, each one after another; return the number of runs.

    Parameters
    ----------
    out_values, out_lengths
        Room for the runs: at most as many as values change, parts, and a 255th of the values, taken together.
    out_counts
        ``(num_parts,) int64``: runs of each part.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t room = out_lengths.shape[0], total = 0
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    if bytes_per_value > 0:
        room = min(room, out_values.shape[0] // bytes_per_value)
    with nogil:
        outcome = _encode_runs(
            parts, bytes_per_value, &out_values[0], &out_lengths[0], room, &out_counts[0], &total)
    check_outcome(outcome)
    return total


def encode_run_blocks(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_sizes not None, uint8_t[::1] out not None,
) -> int:
    """Write each part as a block: u64 bytes of the run values, run values, run lengths; return the sum of their bytes.

    Parameters
    ----------
    out_sizes
        ``(num_parts,) int64``: bytes of each block; one without values is a header.
    out
        Room for the blocks, which lie one after another.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t total = 0
    cdef Outcome outcome
    if out_sizes.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _encode_run_blocks(parts, bytes_per_value, &out_sizes[0], &out[0], out.shape[0], &total)
    check_outcome(outcome)
    return total


def run_lengths_codec(int64_t bits, bint is_block) -> object:
    """Plain run values and 8-bit lengths, in two buffers or one block."""
    return chunk_capsule(hold_run_lengths(bits, is_block))


def run_marks(int64_t bits) -> object:
    """Numbers of plain runs in two buffers, compared once for each run."""
    return marks_capsule(hold_run_marks(bits))


cdef RunCounter _run_counter(counter) except *:
    cdef RunCounter made
    if counter is not None:
        made.bytes_per_run, frames, made.most_frame_bytes = counter
        for frame in frames:
            made.frames.push_back(frame_codec_of(frame))
    return made


def encoded_runs_codec(values, lengths, of_values, of_lengths, bint is_block) -> object | None:
    """Runs whose values and lengths are blocks with codecs of their own.

    Parameters
    ----------
    values, lengths
        Capsules of chunk codecs.
    of_values, of_lengths
        ``(bytes_per_run, frames, most_frame_bytes)``: bytes of a run, and capsules of the frames around them, the
        outermost first. None if the number of bytes does not define the number of runs.
    is_block
        Whether both parts lie in one buffer, behind the number of bytes of the first.

    Returns
    -------
    object or None
        None for widths that have no native form.
    """
    cdef HeldChunkCodec* held = hold_encoded_runs(
        chunk_codec_of(values),
        chunk_codec_of(lengths),
        _run_counter(of_values), _run_counter(of_lengths), is_block)
    return chunk_capsule(held, (values, lengths, of_values, of_lengths))


def run_lengths_encoder(bytes description, *, double factor, bint stores_plainly, double most_runs=-1.0) -> object:
    """Chunks of runs; not for blocks with at least `most_runs` runs per value (below 0: any)."""
    return chunk_encoder_capsule(hold_run_encoder(description, score_options(factor, stores_plainly, most_runs)))


def run_lengths_blocks_encoder(
    bytes description, *, double factor, bint stores_plainly, double most_runs=-1.0
) -> object:
    """Blocks of runs."""
    return blocks_encoder_capsule(hold_run_blocks(description, score_options(factor, stores_plainly, most_runs)))
