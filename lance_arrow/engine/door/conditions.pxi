# Conditions on one column, as Python tells them: ranges of numbers, or of bytes.

cdef extern from "lance_arrow/text_ranges.hpp" namespace "lance_arrow" nogil:
    cbool marks_texts(const LaChunkMarks&)


cdef shared_ptr[NumberCondition] _number_condition(ranges, int64_t bits) except *:
    cdef shared_ptr[NumberCondition] condition = make_shared[NumberCondition]()
    kind, first, last, condition.get().nan_flag = ranges
    cdef const uint64_t[::1] lows = first, highs = last
    if lows.shape[0]:
        condition.get().lows.assign(&lows[0], &lows[0] + lows.shape[0])
    if highs.shape[0]:
        condition.get().highs.assign(&highs[0], &highs[0] + highs.shape[0])
    condition.get().kind, condition.get().bits = <NumberKind><int>kind, bits
    if not condition.get().prepare():
        raise InvalidArgumentError("ranges of numbers must ascend, and have a width that is judged")
    return condition


cdef shared_ptr[TextCondition] _text_condition(ranges) except *:
    cdef shared_ptr[TextCondition] condition = make_shared[TextCondition]()
    cdef string end
    if isinstance(ranges, tuple):
        needle, found, missing = ranges
        condition.get().look_for(needle, found, missing)
    else:
        for low, high in ranges:
            if high is None:
                condition.get().add(low, NULL)
            else:
                end = high
                condition.get().add(low, &end)
    if not condition.get().prepare():
        raise InvalidArgumentError("ranges of bytes must ascend, and what is looked for must not be empty")
    return condition


cdef int _add_conditions(judge, LeafShape* shape) except -1:
    """Tell a leaf by what its values are judged; see `ReadForms`."""
    if judge.numbers is not None:
        shape.numbers = _number_condition(judge.numbers, shape.value_bits)
    if judge.texts is not None:
        shape.texts = _text_condition(judge.texts)
    shape.keeps_codes = judge.keeps_codes
    return 0
