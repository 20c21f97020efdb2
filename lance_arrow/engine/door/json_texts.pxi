# Binary JSON as text.

cdef extern from "engine/decode/json_text.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass _JsonTexts "lance_arrow::engine::JsonTexts":
        string text
        vector[int64_t] ends

    Outcome _json_texts "lance_arrow::engine::json_texts"(
        StoredOffsets, const uint8_t*, int64_t, const uint8_t*, _JsonTexts*) except +


cdef class JsonTexts:
    """The texts of binary JSON values.

    Parameters
    ----------
    offsets, offset_bits, data
        Value i is ``data[offsets[i] : offsets[i + 1]]``; unsigned offsets of 32 or 64 bits.
    validity
        Bitmap, least significant bit first; values whose bit is clear have no text. None: all are valid.

    Raises
    ------
    CorruptPageError
        A value is not binary JSON; ``detail`` is its position.
    """

    cdef _JsonTexts _found

    def __init__(
        self, const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
        const uint8_t[::1] validity=None,
    ):
        cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
        cdef const uint8_t* bits = NULL
        cdef Outcome outcome
        if validity is not None:
            bits = &validity[0]
            if validity.shape[0] * 8 < offsets.shape[0] // (offset_bits // 8) - 1:
                raise refusal(b"the validity has fewer bits than there are values", -1, 0)
        with nogil:
            outcome = _json_texts(stored, &data[0], data.shape[0], bits, &self._found)
        check_outcome(outcome)

    @property
    def num_bytes(self) -> int:
        """Bytes of all texts."""
        return self._found.text.size()

    @property
    def num_values(self) -> int:
        """Number of values, nulls included."""
        return self._found.ends.size()

    def copy(self, uint8_t[::1] offsets not None, uint8_t[::1] text not None) -> None:
        """Write the texts with 32-bit offsets: 4 bytes for each value and one more, and `num_bytes` bytes."""
        cdef size_t number, count = self._found.ends.size()
        cdef int32_t* ends = <int32_t*>&offsets[0]
        if <size_t>offsets.shape[0] != 4 * (count + 1) or <size_t>text.shape[0] < self._found.text.size():
            raise refusal(b"the destination of texts has another size", -1, 0)
        if self._found.text.size() > 0x7fffffff:
            raise refusal(b"texts do not fit 32-bit offsets", -1, 0)
        with nogil:
            ends[0] = 0
            for number in range(count):
                ends[number + 1] = <int32_t>self._found.ends[number]
            if self._found.text.size():
                memcpy(&text[0], self._found.text.data(), self._found.text.size())
