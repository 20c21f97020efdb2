# What a read refuses, for Python.

cdef inline object refusal_of(const Outcome& outcome, cause=None):
    """Tell what a read refused, with what a codec in Python raised meanwhile in this thread; None where it did not."""
    if outcome.message == NULL:
        return None
    return Refusal(
        outcome.message.decode("ascii"), outcome.index, outcome.blame, outcome.leaf, outcome.list_, outcome.page_row,
        take_cause() or cause)
