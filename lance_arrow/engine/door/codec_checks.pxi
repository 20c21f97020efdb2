# Native sides of codecs called one chunk or batch at a time: how the conformance suite looks at them.

cdef tuple _taken(LeafPart* part, int64_t bits, int64_t count, LaValues place, const char* refused):
    if refused != NULL:
        cause = take_cause()
        raise refusal(refused, -1, 1) if cause is None else cause
    part.took(count, place)
    cdef int64_t size = part.num_bytes if bits == 0 else (count * bits + 7) // 8
    values = (<char*>part.values.data())[:size] if size else b""
    return values, [part.ends[value] for value in range(count)] if bits == 0 else None


cdef cppclass GivenChunk:
    vector[const uint8_t*] addresses
    vector[int64_t] sizes
    LaChunk chunk
    LaRuns runs
    int64_t count


cdef void _give_chunk(GivenChunk* to, list buffers, int64_t num_values, const int64_t[::1] starts,
                      const int64_t[::1] stops) except *:
    """Point to one chunk and to runs of its values, which are `count`; the caller keeps the arrays."""
    cdef const uint8_t[::1] view
    cdef int64_t run
    for buffer in buffers:
        view = buffer
        to.addresses.push_back(&view[0] if view.shape[0] else <const uint8_t*>to.addresses.data())
        to.sizes.push_back(view.shape[0])
    to.count = 0
    for run in range(starts.shape[0]):
        to.count += stops[run] - starts[run]
    to.chunk.buffers, to.chunk.sizes = to.addresses.data(), to.sizes.data()
    to.chunk.num_buffers, to.chunk.num_values = to.sizes.size(), num_values
    to.runs.starts, to.runs.stops, to.runs.num_runs = &starts[0], &stops[0], starts.shape[0]


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
    cdef GivenChunk given
    cdef LeafPart part
    if <int64_t>len(buffers) != codec.num_buffers:
        raise refusal(b"the codec needs another number of buffers", -1, 0)
    _give_chunk(&given, buffers, num_values, starts, stops)
    cdef int64_t count = given.count
    part.limit = limit_bytes
    cdef LaValues place = part.place(count, codec.bits)
    if place.values == NULL:
        raise refusal(b"the values are above their limit of bytes", -1, 0)
    cdef const char* refused = codec.select(codec.self_, &given.chunk, &given.runs, &place)
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


def mark_numbers(capsule not None, list buffers not None, int64_t num_values, const int64_t[::1] starts not None,
                 const int64_t[::1] stops not None, int kind, int64_t bits, const uint64_t[::1] lows not None,
                 const uint64_t[::1] highs not None, bint nan_mark) -> tuple[bytes | None, tuple[int, int] | None]:
    """Ask what compares numbers of a chunk, whose `bits` are those of the codec.

    Parameters
    ----------
    buffers, num_values, starts, stops
        As of `select_values`; the number of buffers is the codec's.
    kind
        0: two's complement, 1: without a sign, 2: IEEE 754.
    lows, highs, nan_mark
        Bits of the first and last number of each range, and whether NaN satisfies the condition.

    Returns
    -------
    marks, bounds
        A byte for each selected number; bits of the least and greatest number of the chunk. None for what the codec
        does not tell.

    Raises
    ------
    CorruptPageError
        The codec refuses the bytes.
    """
    cdef const LaChunkMarks* told = chunk_marks_of(capsule)
    cdef vector[uint8_t] marks
    cdef GivenChunk given
    cdef LaNumberRanges ranges
    cdef uint64_t least = 0, greatest = 0
    cdef const char* refused
    if lows.shape[0] != highs.shape[0]:
        raise refusal(b"ranges have first and last numbers of different number", -1, 0)
    _give_chunk(&given, buffers, num_values, starts, stops)
    marks.resize(given.count + 1)
    ranges.kind, ranges.bits, ranges.num_ranges, ranges.nan_mark = kind, bits, lows.shape[0], nan_mark
    ranges.lows = ranges.highs = NULL
    if lows.shape[0]:
        ranges.lows, ranges.highs = &lows[0], &highs[0]
    found = bounds = None
    if told.select_where != NULL:
        refused = told.select_where(told.self_, &given.chunk, &given.runs, &ranges, marks.data())
        if refused == NULL:
            found = (<char*>marks.data())[:given.count]
        elif not asks_python(refused):
            raise refusal(refused, -1, 1)
    if told.summarise != NULL and kind != 2:
        refused = told.summarise(told.self_, &given.chunk, kind, &least, &greatest)
        if refused == NULL:
            bounds = least, greatest
        elif not asks_python(refused):
            raise refusal(refused, -1, 1)
    return found, bounds


def mark_texts(capsule, buffers, int64_t num_values, const int64_t[::1] starts not None,
               const int64_t[::1] stops not None, ranges) -> bytes | None:
    """Ask what compares values of any length in a chunk.

    Parameters
    ----------
    buffers, num_values, starts, stops
        As of `select_values`; the number of buffers is the codec's.
    ranges
        ``(low, high)`` of half-open ranges of bytes, ascending; the last `high` may be None.

    Returns
    -------
    bytes or None
        A byte for each selected value. None where the codec does not tell.

    Raises
    ------
    CorruptPageError
        The codec refuses the bytes.
    """
    cdef const LaChunkMarks* told = chunk_marks_of(capsule)
    cdef vector[uint8_t] marks
    cdef GivenChunk given
    cdef shared_ptr[TextCondition] condition = _text_condition(ranges)
    cdef LaTextRanges wanted = condition.get().ranges()
    cdef const char* refused
    if not marks_texts(told[0]):
        return None
    _give_chunk(&given, buffers, num_values, starts, stops)
    marks.resize(given.count + 1)
    refused = told.select_texts(told.self_, &given.chunk, &given.runs, &wanted, marks.data())
    if refused == NULL:
        return (<char*>marks.data())[:given.count]
    if asks_python(refused):
        return None
    raise refusal(refused, -1, 1)
