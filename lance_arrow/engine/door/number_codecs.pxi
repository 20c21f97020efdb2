# Capsules of codecs of integers that follow a rule, and of runs and strings whose parts have codecs of their own.

cdef extern from "engine/bind/number_codecs.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass RunCounter:
        RunCounter() except +
        int64_t bytes_per_run
        vector[const LaFrameCodec*] frames
        int64_t most_frame_bytes

    HeldChunkCodec* hold_constant(int64_t, const string&) except +
    HeldChunkCodec* hold_nothing(int64_t) except +
    HeldValueCodec* hold_zipped_constant(const string&) except +
    HeldChunkCodec* hold_range(int64_t, uint64_t, uint64_t) except +
    HeldChunkCodec* hold_delta(int64_t, uint64_t, const LaChunkCodec*) except +
    HeldChunkCodec* hold_encoded_runs(
        const LaChunkCodec*, const LaChunkCodec*, const RunCounter&, const RunCounter&, cbool) except +


cdef extern from "engine/bind/variable_parts.hpp" namespace "lance_arrow::engine" nogil:
    cdef enum class PartsForm:
        kApart
        kJoined
        kBlock

    HeldChunkCodec* hold_variable_parts(
        int64_t, const LaChunkCodec*, const LaFrameCodec*, int64_t, PartsForm) except +


cdef object _chunk_of(HeldChunkCodec* held, parts):
    """A capsule that keeps what the codec points into."""
    if held == NULL:
        return None
    return chunk_capsule(held, parts)


def constant_codec(int64_t bits, bytes value) -> object:
    """One value, repeated without a buffer; a single bit is one byte. With None, blocks hold no value."""
    return chunk_capsule(hold_nothing(bits) if value is None else hold_constant(bits, value))


def zipped_constant_codec(bytes value not None) -> object:
    """One value, repeated: zipped values have no bytes."""
    return value_capsule(hold_zipped_constant(value))


def range_codec(int64_t bits, uint64_t start, uint64_t step) -> object:
    """Integers of 32 or 64 bits at equal distances, without a buffer."""
    return chunk_capsule(hold_range(bits, start, step))


def delta_codec(int64_t bits, uint64_t base, deltas) -> object | None:
    """A first integer of 32 or 64 bits, and differences by the capsule `deltas`; None without one."""
    return None if deltas is None else _chunk_of(hold_delta(bits, base, chunk_codec_of(deltas)), deltas)


cdef RunCounter _run_counter(counter) except *:
    cdef RunCounter made
    if counter is not None:
        made.bytes_per_run, frames, made.most_frame_bytes = counter
        for frame in frames:
            made.frames.push_back(<const LaFrameCodec*>PyCapsule_GetPointer(frame, _FRAMES))
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
        <const LaChunkCodec*>PyCapsule_GetPointer(values, _CHUNK),
        <const LaChunkCodec*>PyCapsule_GetPointer(lengths, _CHUNK),
        _run_counter(of_values), _run_counter(of_lengths), is_block)
    return _chunk_of(held, (values, lengths, of_values, of_lengths))


def variable_parts_codec(
    int64_t offset_bits, offsets, frames, int64_t most_frame_bytes, bint is_block, bint is_joined
) -> object | None:
    """Byte strings whose offsets, or bytes, have a codec of their own.

    Parameters
    ----------
    offset_bits
        Width of the offsets.
    offsets
        Capsule of their chunk codec; each chunk has one more than values.
    frames, most_frame_bytes
        Capsule of the scheme of the bytes, and the most bytes of a frame; None where bytes lie as they are.
    is_block, is_joined
        Whether offsets and bytes are a block with a header, or one buffer whose offsets count from its start.

    Returns
    -------
    object or None
        None for offsets that have no native form.
    """
    cdef const LaFrameCodec* own = NULL
    cdef PartsForm form = PartsForm.kBlock if is_block else PartsForm.kJoined if is_joined else PartsForm.kApart
    if frames is not None:
        own = <const LaFrameCodec*>PyCapsule_GetPointer(frames, _FRAMES)
    return _chunk_of(
        hold_variable_parts(
            offset_bits, <const LaChunkCodec*>PyCapsule_GetPointer(offsets, _CHUNK), own, most_frame_bytes, form),
        (offsets, frames))
