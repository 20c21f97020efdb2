# Repetition and definition levels. Source: spec section 2; RepDefLayer.

cdef extern from "engine/plan/level_masks.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct LevelStreams:
        const uint16_t* rep
        const uint16_t* def_ "def"
        int64_t num_entries

    Outcome _check_levels "lance_arrow::engine::check_levels"(LevelStreams, int, int)
    Outcome _validity "lance_arrow::engine::validity_from_levels"(
        const uint16_t*, int64_t, int, uint8_t*, int64_t, int64_t, int64_t*)

cdef extern from "engine/plan/select_rows.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ChunkRows:
        const int64_t* level_starts
        const int64_t* value_starts
        const int64_t* first_rows
        const int64_t* num_rows
        int64_t num_chunks

    cdef struct RowRuns:
        const int64_t* starts
        const int64_t* stops
        int64_t num_runs

    cdef struct RunPlaces:
        int64_t* level_starts
        int64_t* level_stops
        int64_t* value_starts
        int64_t* value_stops

    Outcome _count "lance_arrow::engine::count_rows_and_values"(LevelStreams, int, int, int64_t*, int64_t*)
    Outcome _select "lance_arrow::engine::select_rows"(LevelStreams, int, int, ChunkRows, RowRuns, RunPlaces)
    Outcome _check_open_rows "lance_arrow::engine::check_open_rows"(
        const uint16_t*, int64_t, int, const int64_t*, const int64_t*, const int64_t*, int64_t)

cdef extern from "engine/arrays/unravel.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct LayerPlan:
        int num_layers

    cdef struct LayerOut:
        uint8_t* validity
        int64_t validity_bytes
        void* offsets
        int64_t num_offsets
        int offset_bits

    cdef enum:
        _MAX_LAYERS "lance_arrow::engine::kMaxLayers"

    Outcome _plan "lance_arrow::engine::plan_layers"(const uint8_t*, int64_t, const int64_t*, int64_t, LayerPlan*)
    Outcome _measure "lance_arrow::engine::measure_layers"(LevelStreams, LayerPlan, int64_t*)
    Outcome _unravel "lance_arrow::engine::unravel"(LevelStreams, LayerPlan, const LayerOut*, int64_t*, int64_t*)


cdef int _streams(const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, LevelStreams* out) except -1:
    out.rep = NULL
    out.def_ = NULL
    out.num_entries = num_entries
    if num_entries < 0:
        raise refusal(b"negative number of level entries", -1, 0)
    if rep is not None:
        out.rep = &rep[0]
        if rep.shape[0] != num_entries:
            raise refusal(b"repetition levels and entries differ in number", -1, 0)
    if def_ is not None:
        out.def_ = &def_[0]
        if def_.shape[0] != num_entries:
            raise refusal(b"definition levels and entries differ in number", -1, 0)
    return 0


cdef int64_t _num_entries(const uint16_t[::1] rep, const uint16_t[::1] def_) except -1:
    if rep is not None:
        return rep.shape[0]
    if def_ is not None:
        return def_.shape[0]
    raise refusal(b"there are no levels", -1, 0)


def check_levels(const uint16_t[::1] rep, const uint16_t[::1] def_, int max_rep, int max_def) -> None:
    """Refuse levels above their bounds.

    Raises
    ------
    CorruptPageError
        ``detail`` is the first entry above its bound.
    InternalError
        Both streams are None, or their lengths differ.
    """
    cdef LevelStreams streams
    cdef Outcome outcome
    _streams(rep, def_, _num_entries(rep, def_), &streams)
    with nogil:
        outcome = _check_levels(streams, max_rep, max_def)
    check_outcome(outcome)


def count_rows_and_values(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int max_rep, int max_visible,
) -> tuple[int, int]:
    """Count entries that start a row (``rep == max_rep``), and entries that own a value (``def_ <= max_visible``).

    Without lists (`max_rep` 0, `rep` None) every entry is both.

    Raises
    ------
    CorruptPageError
        A repetition level is above `max_rep`.
    InternalError
        Streams and `max_rep` contradict each other.
    """
    cdef LevelStreams streams
    cdef Outcome outcome
    cdef int64_t rows = 0, values = 0
    _streams(rep, def_, _num_entries(rep, def_), &streams)
    if (rep is None) != (max_rep == 0):
        raise refusal(b"repetition levels exist exactly where there are lists", -1, 0)
    with nogil:
        outcome = _count(streams, max_rep, max_visible, &rows, &values)
    check_outcome(outcome)
    return rows, values


def select_rows(
    const uint16_t[::1] rep not None, const uint16_t[::1] def_, int max_rep, int max_visible,
    const int64_t[::1] chunk_level_starts not None, const int64_t[::1] chunk_value_starts not None,
    const int64_t[::1] chunk_first_rows not None, const int64_t[::1] chunk_num_rows not None,
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None,
    int64_t[::1] out_level_starts not None, int64_t[::1] out_level_stops not None,
    int64_t[::1] out_value_starts not None, int64_t[::1] out_value_stops not None,
) -> None:
    """Find the level entries and the values of selected rows, and put the repetition index to the test.

    Parameters
    ----------
    rep, def_
        Levels of the chunks at hand, one chunk after the other.
    max_rep, max_visible
        Number of lists (at least 1); largest definition level of an entry that owns a value.
    chunk_level_starts, chunk_value_starts
        ``(num_chunks + 1,) int64``: where each chunk's entries begin in the levels, and its values among all values.
    chunk_first_rows, chunk_num_rows
        ``(num_chunks,) int64``: the first row that *starts* in the chunk, and how many do. Chunks are in page order;
        entries before a chunk's first row start continue the row before, and there may be gaps between chunks.
    run_starts, run_stops
        ``(num_runs,) int64`` rows, sorted, disjoint, not empty; all chunks that hold a wanted row are at hand.
    out_level_starts, out_level_stops, out_value_starts, out_value_stops
        ``(num_runs,) int64``: entries and values of each run.

    Raises
    ------
    CorruptPageError
        A chunk has another number of row starts or visible entries than its tables say; ``detail`` is the chunk.
    InternalError
        A run is not covered, or arrays contradict each other.
    """
    cdef LevelStreams streams
    cdef ChunkRows chunks
    cdef RowRuns runs
    cdef RunPlaces places
    cdef Outcome outcome
    cdef int64_t num_chunks = chunk_first_rows.shape[0], num_runs = run_starts.shape[0]
    _streams(rep, def_, rep.shape[0], &streams)
    if (chunk_num_rows.shape[0] != num_chunks or chunk_level_starts.shape[0] != num_chunks + 1
            or chunk_value_starts.shape[0] != num_chunks + 1):
        raise refusal(b"arrays over chunks have contradicting lengths", -1, 0)
    if (run_stops.shape[0] != num_runs or out_level_starts.shape[0] != num_runs or out_level_stops.shape[0] != num_runs
            or out_value_starts.shape[0] != num_runs or out_value_stops.shape[0] != num_runs):
        raise refusal(b"arrays over runs have different lengths", -1, 0)
    chunks.level_starts, chunks.value_starts = &chunk_level_starts[0], &chunk_value_starts[0]
    chunks.first_rows, chunks.num_rows, chunks.num_chunks = &chunk_first_rows[0], &chunk_num_rows[0], num_chunks
    runs.starts, runs.stops, runs.num_runs = &run_starts[0], &run_stops[0], num_runs
    places.level_starts, places.level_stops = &out_level_starts[0], &out_level_stops[0]
    places.value_starts, places.value_stops = &out_value_starts[0], &out_value_stops[0]
    with nogil:
        outcome = _select(streams, max_rep, max_visible, chunks, runs, places)
    check_outcome(outcome)


def check_open_rows(
    const uint16_t[::1] rep not None, int max_rep, const int64_t[::1] chunk_level_starts not None,
    const int64_t[::1] left_before not None, const int64_t[::1] left_after not None,
) -> None:
    """Verify the repetition index at the borders of chunks: rows that begin in one chunk and end in another.

    Parameters
    ----------
    rep, max_rep
        Repetition levels of the chunks at hand, one chunk after the other; number of lists (at least 1).
    chunk_level_starts
        ``(num_chunks + 1,) int64``: where each chunk's entries begin.
    left_before, left_after
        ``(num_chunks,) int64``: entries of an unfinished row at the end of the previous chunk of the page, and of the
        chunk, by the repetition index. 0 if a row ends with the chunk.

    Raises
    ------
    CorruptPageError
        A chunk begins or ends otherwise; ``detail`` is the chunk.
    """
    cdef Outcome outcome
    cdef int64_t num_chunks = left_before.shape[0]
    if left_after.shape[0] != num_chunks or chunk_level_starts.shape[0] != num_chunks + 1:
        raise refusal(b"arrays over chunks have contradicting lengths", -1, 0)
    with nogil:
        outcome = _check_open_rows(&rep[0], rep.shape[0], max_rep, &chunk_level_starts[0], &left_before[0],
                                   &left_after[0], num_chunks)
    check_outcome(outcome)


def validity_from_levels(
    const uint16_t[::1] def_ not None, int null_level, uint8_t[::1] out_bits not None, int64_t out_bit_offset
) -> int:
    """Turn levels into validity where there are no lists: valid iff ``def_ < null_level``; return the nulls.

    Slots of a null struct (higher levels) become null too. Bits outside ``out_bit_offset + len(def_)`` stay.

    Raises
    ------
    InternalError
        `null_level` is not a level above 0, or the bitmap is too small.
    """
    cdef Outcome outcome
    cdef int64_t null_count = 0
    with nogil:
        outcome = _validity(&def_[0], def_.shape[0], null_level, &out_bits[0], out_bits.shape[0], out_bit_offset,
                            &null_count)
    check_outcome(outcome)
    return null_count


cdef int _planned(const uint8_t[::1] layers, const int64_t[::1] dimensions, LayerPlan* plan) except -1:
    cdef const int64_t* sizes = NULL
    cdef int64_t num_sizes = 0
    if dimensions is not None:
        sizes, num_sizes = &dimensions[0], dimensions.shape[0]
    cdef Outcome outcome = _plan(&layers[0], layers.shape[0], sizes, num_sizes, plan)
    check_outcome(outcome)
    return 0


def measure_layers(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, const uint8_t[::1] layers not None,
    const int64_t[::1] dimensions, int64_t[::1] out_slots not None,
) -> None:
    """Count the slots that `unravel` will append to each layer; arguments and errors as there.

    Parameters
    ----------
    out_slots
        ``(num_layers,) int64``. A list's items are the slots of the layer inside it.
    """
    cdef LevelStreams streams
    cdef LayerPlan plan
    cdef Outcome outcome
    _streams(rep, def_, num_entries, &streams)
    _planned(layers, dimensions, &plan)
    if out_slots.shape[0] != layers.shape[0]:
        raise refusal(b"out_slots and layers differ in number", -1, 0)
    with nogil:
        outcome = _measure(streams, plan, &out_slots[0])
    check_outcome(outcome)


def unravel(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, const uint8_t[::1] layers not None,
    const int64_t[::1] dimensions, out_validity, out_offsets, int64_t[::1] slots not None,
    int64_t[::1] null_counts not None,
) -> None:
    """Append the validity of every layer and the offsets of every list, from one page's levels.

    Parameters
    ----------
    rep, def_
        ``(num_entries,) uint16``, or None for a stream that the page does not store: all levels 0.
    num_entries
        Level entries.
    layers
        ``(num_layers,) uint8``: RepDefLayer numbers, inner-most first, at most 64. The page's own: other pages of the
        same destination may number their levels differently.
    dimensions
        ``(num_layers,) int64``: dimension of fixed-size lists of structs, 0 for other layers; or None. Such a layer has
        a slot for every `dimension` slots of the layer inside it.
    out_validity
        Per layer a bitmap, written from bit ``slots[layer]`` on, or None where the destination keeps none. A slot of a
        null struct is null where its own layer can be.
    out_offsets
        Per layer int32 or int64 offsets, or None (items, or not wanted). ``offsets[slots[layer]]`` and following are
        written, also the end of the last list; they count the slots of the layer inside from 0.
    slots
        ``(num_layers,) int64``, in and out: slots that are there already, then with those of this page.
    null_counts
        ``(num_layers,) int64``, in and out: nulls are added.

    Raises
    ------
    CorruptPageError
        A level is above its bound, the first entry does not start a row, or an entry continues a list that is not open.
        Also if a null or empty list does not start at its entry. ``detail`` is the entry.
    InternalError
        Arrays contradict each other or are too small, 32-bit offsets overflow, or nulls meet no bitmap.
    """
    cdef LevelStreams streams
    cdef LayerPlan plan
    cdef LayerOut out[_MAX_LAYERS]
    cdef Outcome outcome
    cdef Py_ssize_t num_layers = layers.shape[0], layer
    _streams(rep, def_, num_entries, &streams)
    _planned(layers, dimensions, &plan)
    if (len(out_validity) != num_layers or len(out_offsets) != num_layers or slots.shape[0] != num_layers
            or null_counts.shape[0] != num_layers):
        raise refusal(b"arrays over layers have different lengths", -1, 0)
    for layer in range(num_layers):
        _open_layer(&out[layer], out_validity[layer], out_offsets[layer])
    with nogil:
        outcome = _unravel(streams, plan, &out[0], &slots[0], &null_counts[0])
    check_outcome(outcome)


cdef int _open_layer(LayerOut* out, object validity, object offsets) except -1:
    """Take the addresses of a layer's arrays, which the caller's sequences keep alive."""
    cdef uint8_t[::1] bits
    cdef int32_t[::1] narrow
    cdef int64_t[::1] wide
    out.validity = NULL
    out.validity_bytes = 0
    out.offsets = NULL
    out.num_offsets = 0
    out.offset_bits = 0
    if validity is not None:
        bits = validity
        out.validity, out.validity_bytes = &bits[0], bits.shape[0]
    if offsets is None:
        return 0
    if offsets.itemsize == 8:
        wide = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&wide[0], wide.shape[0], 64
    else:
        narrow = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&narrow[0], narrow.shape[0], 32
    return 0
