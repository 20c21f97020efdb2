# Native sides of codecs called one chunk or batch at a time: how the conformance suite looks at them.

cdef tuple _taken(LeafPart* part, int64_t bits, int64_t count, LaValues place, const char* refused):
    if refused != NULL:
        cause = take_cause()
        raise refusal(refused, -1, 1) if cause is None else cause
    part.took(count, place)
    cdef int64_t size = part.num_bytes if bits == 0 else (count * bits + 7) // 8
    values = (<char*>part.values.data())[:size] if size else b""
    return values, [part.ends[value] for value in range(count)] if bits == 0 else None


def select_values(capsule, list buffers not None, int64_t num_values, const int64_t[::1] starts not None,
                  const int64_t[::1] stops not None, int64_t limit_bytes) -> tuple[bytes, list[int] | None]:
    """Call a chunk codec's native side for one chunk: how the conformance suite looks at it.

    Returns
    -------
    values, ends
        Decoded bytes of the selected values; end of each in them where the width varies, else None.

    Raises
    ------
    CorruptPageError
        The codec refuses the bytes.
    """
    cdef const LaChunkCodec* codec = <const LaChunkCodec*>PyCapsule_GetPointer(capsule, _CHUNK)
    cdef vector[const uint8_t*] addresses
    cdef vector[int64_t] sizes
    cdef const uint8_t[::1] view
    cdef LaChunk chunk
    cdef LaRuns runs
    cdef LeafPart part
    cdef int64_t count = 0, run
    if <int64_t>len(buffers) != codec.num_buffers:
        raise refusal(b"the codec needs another number of buffers", -1, 0)
    for buffer in buffers:
        view = buffer
        addresses.push_back(&view[0] if view.shape[0] else <const uint8_t*>addresses.data())
        sizes.push_back(view.shape[0])
    for run in range(starts.shape[0]):
        count += stops[run] - starts[run]
    part.limit = limit_bytes
    chunk.buffers, chunk.sizes, chunk.num_buffers, chunk.num_values = addresses.data(), sizes.data(), sizes.size(), num_values
    runs.starts, runs.stops, runs.num_runs = &starts[0], &stops[0], starts.shape[0]
    cdef LaValues place = part.place(count, codec.bits)
    if place.values == NULL:
        raise refusal(b"the values are above their limit of bytes", -1, 0)
    cdef const char* refused = codec.select(codec.self_, &chunk, &runs, &place)
    return _taken(&part, codec.bits, count, place, refused)


def expand_values(capsule, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
                  const int64_t[::1] sizes not None, int64_t limit_bytes) -> tuple[bytes, list[int] | None]:
    """Call a value codec's native side for zipped values; results and errors as of `select_values`."""
    cdef const LaValueCodec* codec = <const LaValueCodec*>PyCapsule_GetPointer(capsule, _VALUE)
    cdef LeafPart part
    cdef int64_t count = starts.shape[0]
    part.limit = limit_bytes
    cdef LaValues place = part.place(count, codec.bits)
    if place.values == NULL:
        raise refusal(b"the values are above their limit of bytes", -1, 0)
    for value in range(count):
        if starts[value] < 0 or sizes[value] < 0 or sizes[value] > data.shape[0] - starts[value]:
            raise refusal(b"a value lies outside the data", value, 0)
    cdef const char* refused = codec.expand(codec.self_, &data[0], &starts[0], &sizes[0], count, &place)
    return _taken(&part, codec.bits, count, place, refused)
