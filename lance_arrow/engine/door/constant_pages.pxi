# Pages of one scalar, or of none.

cdef extern from "engine/pages/constant_page.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t NO_VALUES "lance_arrow::engine::kNoValues"

    cdef cppclass ConstantForm:
        ConstantForm()
        int64_t value_bits
        int offset_bits
        cbool has_scalar
        string scalar
        const LaChunkCodec* rep
        const LaChunkCodec* def_ "def"
        int64_t num_rep, num_def
        int max_rep, max_def, max_visible
        cbool is_null_without_levels
        int64_t most_level_bytes

    Page* new_constant_page(const ConstantForm&, size_t) except +


def constant_page(
    int64_t num_rows, int num_buffers, layers, tuple levels, int64_t value_bits, int offset_bits, scalar, rep, def_,
    tuple counts, int64_t most_level_bytes,
) -> NativePage | None:
    """Build a page whose valid values are all equal; it reads its buffers when rows are first wanted.

    Parameters
    ----------
    num_rows, layers, levels, offset_bits
        As in `chunk_template`.
    num_buffers
        0; 1, a scalar; 2, repetition and definition levels; 3, both.
    value_bits
        Bits of a value, 0 for variable width, -1 where leaves have no values.
    scalar
        Bytes of the value, if they are described; None if they lie in a buffer, or no value is valid.
    rep, def_
        Capsules of chunk codecs; None for levels that lie as 16-bit words.
    counts
        Repetition and definition levels, as described; 0 where that is not said.
    most_level_bytes
        Of both kinds of levels.

    Returns
    -------
    NativePage or None
        None where the codecs take what the engine has no room for.
    """
    cdef ConstantForm form
    for codec in (rep, def_):
        if codec is not None and (chunk_codec_of(codec).bits != 16 or chunk_codec_of(codec).num_buffers != 1):
            return None
    form.value_bits, form.offset_bits, form.has_scalar = value_bits, offset_bits, scalar is not None
    if scalar is not None:
        form.scalar = scalar
    form.rep, form.def_ = chunk_codec_of(rep), chunk_codec_of(def_)
    form.num_rep, form.num_def = counts
    form.max_rep, form.max_def, form.max_visible = levels
    # A struct without fields is written as if it were all null, and read as all valid.
    form.is_null_without_levels = value_bits != NO_VALUES and int(layers[0]) == _NULLABLE_ITEM
    form.most_level_bytes = most_level_bytes
    return _page(new_constant_page(form, num_buffers), num_rows, layers, -1, offset_bits, (rep, def_))
