# Capsules of the format's own codecs for reads of few rows: tables of C functions, as ``lance_arrow_native.h`` says.

# Bytes of `LaChunkMarks` in the first headers that had it.
cdef int64_t FEWEST_MARKS = 32

cdef extern from "engine/bind/codec_holders.hpp" namespace "lance_arrow::engine" nogil:
    ctypedef const char* (*Expand)(
        const void*, const uint8_t*, const int64_t*, const int64_t*, int64_t, LaValues*) noexcept nogil

    cdef cppclass DecodedChunks:
        vector[uint8_t] values
        vector[int64_t] offsets

    ctypedef const char* (*DecodeChunks)(
        const void*, const LaChunk* chunks, int64_t num_chunks, DecodedChunks* out) noexcept nogil
    HeldValueCodec* hold_called(int64_t bits, const LaValueCodec* own, void* decode, Expand expand) except +
    HeldChunkCodec* hold_called_chunks(
        int64_t bits, int64_t num_buffers, const LaChunkCodec* own, void* decode, DecodeChunks call,
        const LaChunkMarks* marks) except +
    HeldChunkCodec* hold_compressed(
        const LaChunkCodec*, const LaFrameCodec*, const LaFramePrefixes*, int64_t most_bytes) except +
    HeldValueCodec* hold_compressed_values(const LaFrameCodec*, int64_t most_bytes) except +
    HeldValueCodec* hold_zipped_booleans(const LaValueCodec* bytes) except +


cdef extern from "engine/bind/called_codecs.hpp" namespace "lance_arrow::engine" nogil:
    cbool are_offsets(const DecodedChunks&, int64_t num_values) noexcept
    cbool asks_python(const char*) noexcept


def zstd_decoder() -> object | None:
    """The function of Arrow's library that decodes a Zstandard frame,, in a capsule.

    None beside a pyarrow that the package was not built for, and where pyarrow has no Zstandard.
    """
    if _arrow == NULL or _arrow.decompress_zstd == NULL:
        return None
    return PyCapsule_New(<void*>_arrow.decompress_zstd, "lance_arrow.zstd_decoder/1", NULL)


def compressed_codec(child, frames, int64_t most_bytes, prefixes=None) -> object | None:
    """Chunks whose first buffer is a frame of at most so many bytes; None unless the first two are capsules.

    With `prefixes`, a capsule too, frames are decompressed up to the last value that is wanted.
    """
    cdef HeldChunkCodec* held
    cdef const LaFramePrefixes* own = NULL
    if child is None or frames is None:
        return None
    if prefixes is not None:
        own = <const LaFramePrefixes*>PyCapsule_GetPointer(prefixes, _PREFIXES)
    held = hold_compressed(
        <const LaChunkCodec*>PyCapsule_GetPointer(child, _CHUNK),
        frame_codec_of(frames), own, most_bytes)
    parts = (child, frames, prefixes)
    return chunk_capsule(held, parts)


def compressed_values_codec(frames not None, int64_t most_bytes) -> object:
    """Zipped values of any length, each the content of a frame of at most so many bytes; `frames` is a capsule."""
    cdef HeldValueCodec* held = hold_compressed_values(
        frame_codec_of(frames), most_bytes)
    return value_capsule(held, frames)


def zipped_codec(int64_t bits) -> object:
    """Zipped values of `bits` each, or (0) of any length."""
    return value_capsule(hold_plain_values(bits))


def zipped_booleans_codec(stored not None) -> object | None:
    """Zipped booleans whose bytes the value codec of a capsule has, all but 0 true; None unless these are bytes."""
    cdef HeldValueCodec* held = hold_zipped_booleans(<const LaValueCodec*>PyCapsule_GetPointer(stored, _VALUE))
    if held == NULL:
        return None
    return value_capsule(held, stored)


cdef object _called(object decode, const uint8_t* data, const int64_t* starts, const int64_t* sizes, int64_t num_values,
                    LaValues* out):
    """Hand values to Python and take over what it decoded; returns whether everything fitted."""
    cdef int64_t first = starts[0], stop = 0, value, base = out.end
    cdef const uint8_t[::1] plain
    cdef const int64_t[::1] offsets
    cdef uint8_t* to
    for value in range(num_values):
        first = min(first, starts[value])
        stop = max(stop, starts[value] + sizes[value])
    values, ends = decode(
        <const uint8_t[:stop - first]>(data + first) if stop > first else b"",
        <const int64_t[:num_values]>starts, <const int64_t[:num_values]>sizes, first)
    if callable(values):
        offsets = ends
        to = out.reserve(out.host, base, offsets[num_values])
        if to == NULL:
            return False
        # Also where nothing is to be written: what refuses the bytes is the call.
        values(<uint8_t[:offsets[num_values]]>to if offsets[num_values] else bytearray())
        for value in range(num_values):
            out.ends[value] = base + offsets[value + 1]
        out.end = base + offsets[num_values]
        return True
    plain = values
    if ends is None:
        if plain.shape[0]:
            memcpy(out.values, &plain[0], plain.shape[0])
        return True
    offsets = ends
    to = out.reserve(out.host, base, plain.shape[0])
    if to == NULL:
        return False
    if plain.shape[0]:
        memcpy(to, &plain[0], plain.shape[0])
    for value in range(num_values):
        out.ends[value] = base + offsets[value + 1]
    out.end = base + offsets[num_values]
    return True


def is_plain_codec(value_codec) -> bool:
    """Return whether a value codec stores values plainly, with any width."""
    return value_codec is not None and bool((<LaValueCodec*>PyCapsule_GetPointer(value_codec, _VALUE)).is_plain)


_state = threading.local()


cdef const char* _expand(const void* decode, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                         int64_t num_values, LaValues* out) noexcept with gil:
    if num_values == 0:
        return NULL
    try:
        if not _called(<object>decode, data, starts, sizes, num_values, out):
            return LA_ABOVE_LIMIT
    except BaseException as error:  # nothing can pass through the C function around this one
        _state.error = error
        return b"a codec written in Python rejected the values"
    return NULL


cdef object take_cause():
    """Take what a Python codec raised in this thread since the last call; None where nothing."""
    error = getattr(_state, "error", None)
    if error is not None:
        _state.error = None
    return error


cdef const char* _call_chunks(
    const void* decode, const LaChunk* chunks, int64_t num_chunks, DecodedChunks* out) noexcept with gil:
    cdef int64_t bits, chunk, buffer, num_buffers = chunks[0].num_buffers, num_values = 0
    cdef const uint8_t* first = NULL
    cdef const uint8_t* stop = NULL
    cdef const uint8_t* start
    cdef const uint8_t[::1] plain
    cdef const int64_t[::1] offsets
    cdef int64_t[:, ::1] starts, sizes
    cdef int64_t[::1] value_starts
    try:
        # All chunks lie in one piece of memory.
        for chunk in range(num_chunks):
            for buffer in range(num_buffers):
                start = chunks[chunk].buffers[buffer]
                if chunks[chunk].sizes[buffer] > 0:
                    first = start if first == NULL else min(first, start)
                    stop = max(stop, start + chunks[chunk].sizes[buffer])
        bits, call = <object>decode
        starts, sizes = numpy.zeros((2, num_buffers, num_chunks), numpy.int64)
        value_starts = numpy.zeros(num_chunks + 1, numpy.int64)
        for chunk in range(num_chunks):
            for buffer in range(num_buffers):
                sizes[buffer, chunk] = chunks[chunk].sizes[buffer]
                if sizes[buffer, chunk] > 0:
                    starts[buffer, chunk] = chunks[chunk].buffers[buffer] - first
            num_values += chunks[chunk].num_values
            value_starts[chunk + 1] = num_values
        data = <const uint8_t[:stop - first]>first if stop > first else b""
        plain, ends = call(data, numpy.asarray(starts), numpy.asarray(sizes), numpy.asarray(value_starts))
        if (ends is None) != (bits > 0) or plain.shape[0] < (num_values * bits + 7) // 8:
            raise PluginContractError(f"a codec made {plain.shape[0]} bytes of {num_values} values of {bits} bits")
        out.values.resize(plain.shape[0])
        if plain.shape[0]:
            memcpy(out.values.data(), &plain[0], plain.shape[0])
        out.offsets.clear()
        if ends is not None:
            offsets = ends
            out.offsets.assign(&offsets[0], &offsets[0] + offsets.shape[0])
            if not are_offsets(out[0], num_values):
                raise PluginContractError(f"a codec made offsets of {num_values} values that leave their bytes")
    except BaseException as error:  # nothing can pass through the C function around this one
        _state.error = error
        return b"a codec written in Python rejected the values"
    return NULL


def called_codec(int64_t bits, decode, own=None) -> object:
    """Values of `bits` each, or (0) of any length, that a Python function decodes.

    ``decode(data, starts, sizes, first)`` gets the bytes from `first` on, and returns the decoded bytes and, for values
    of any length, ``(num_values + 1,) int64`` offsets into them, else None. In place of bytes of any length it may return
    a function that writes them: it is called with writable memory for exactly ``offsets[-1]`` bytes. With `own`, the
    capsule of the codec's C side, it is called for what that leaves to it, and to name a limit.
    """
    cdef const LaValueCodec* c_side = NULL
    if own is not None:
        c_side = <const LaValueCodec*>PyCapsule_GetPointer(own, _VALUE)
        if c_side.bits != bits:
            raise PluginContractError(f"the C side of a codec has values of {c_side.bits} bits, its shape of {bits}")
        if c_side.is_plain:
            return own
    cdef HeldValueCodec* held = hold_called(bits, c_side, <void*>decode, <Expand>_expand)
    parts = (own, decode)
    return value_capsule(held, parts)


def called_chunks_codec(int64_t bits, int64_t num_buffers, decode, own=None, marks=None) -> object:
    """Chunks of values of `bits` each, or (0) of any length, that a Python function decodes.

    ``decode(data, starts, sizes, value_starts)`` gets several chunks, as `ChunkBatch` has them. It returns the decoded
    bytes of all values and, for values of any length, offsets as for `called_codec`. `own` is as there, too. `marks` is
    the capsule that compares values which are not decoded.
    """
    cdef const LaChunkCodec* c_side = NULL
    cdef const LaChunkMarks* told = NULL
    if own is not None:
        c_side = <const LaChunkCodec*>PyCapsule_GetPointer(own, _CHUNK)
        if c_side.bits != bits or c_side.num_buffers != num_buffers:
            raise PluginContractError(
                f"the C side of a codec has values of {c_side.bits} bits in {c_side.num_buffers} buffers, "
                f"its shape of {bits} in {num_buffers}")
        if c_side.plain_bytes > 0:
            return own
    if marks is not None:
        told = chunk_marks_of(marks)
        if told.struct_bytes < FEWEST_MARKS:
            raise PluginContractError(f"the marks of a codec have {told.struct_bytes} bytes, expected {FEWEST_MARKS} or more")
        if bits not in (0, 8, 16, 32, 64):
            raise PluginContractError(f"a codec of values of {bits} bits marks them")
    call = bits, decode
    cdef HeldChunkCodec* held = hold_called_chunks(
        bits, num_buffers, c_side, <void*>call, <DecodeChunks>_call_chunks, told)
    parts = (own, call, marks)
    return chunk_capsule(held, parts)
