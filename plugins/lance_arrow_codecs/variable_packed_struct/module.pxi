# Rows of fields of any length.

cdef extern from "lance_arrow_codecs/variable_packed_struct/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldValueCodec* hold_packed_rows(
        const vector[const LaValueCodec*]&, const vector[int64_t]&, const vector[int64_t]&) except +


def packed_rows_codec(tuple codecs not None, tuple stored_bytes not None, tuple row_bytes not None) -> object:
    """Zipped rows of packed structs: fields behind each other, those of any length behind their length.

    Parameters
    ----------
    codecs
        Capsules of the value codecs of the fields.
    stored_bytes, row_bytes
        Bytes of each field, or minus those (4 or 8) of its length: as stored, and in the rows that are made.
    """
    cdef vector[const LaValueCodec*] held_codecs
    for codec, stored, made in zip(codecs, stored_bytes, row_bytes, strict=True):
        held_codecs.push_back(value_codec_of(codec))
        if (stored < 1 and stored not in (-4, -8)) or (made < 1 and made not in (-4, -8)) or (
                (held_codecs.back().bits == 0) != (made < 0)) or (made > 0 and held_codecs.back().bits != 8 * made):
            raise InvalidArgumentError(f"a packed field of {stored} stored bytes cannot become one of {made}")
    cdef HeldValueCodec* held = hold_packed_rows(held_codecs, stored_bytes, row_bytes)
    return value_capsule(held, codecs)
