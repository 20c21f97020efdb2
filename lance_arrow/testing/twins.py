"""Compare a native kernel with its numpy twin: equal results, equal errors, no access outside the given arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from lance_arrow.errors import LanceError

_GUARD_BYTES = 64
_GUARD = 0xA5
_INTERESTING = (-(2**63), -(2**31), -1, 0, 1, 2, 7, 8, 1023, 1024, 1025, 2**31 - 1, 2**31, 2**62, 2**63 - 1)


def _guarded(array: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return a copy of `array` between guard bytes: the whole memory, and the copy inside it."""
    memory = np.full(array.nbytes + 2 * _GUARD_BYTES, _GUARD, np.uint8)
    copy = memory[_GUARD_BYTES : _GUARD_BYTES + array.nbytes].view(array.dtype)
    copy[:] = array
    return memory, copy


def _outcome(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, list[NDArray[Any]]]:
    """Call with copies; return the result or the facts of the error, and the arrays after the call."""
    given: list[Any] = []
    memories = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            memory, copy = _guarded(argument)
            memories.append(memory)
            given.append(copy)
        else:
            given.append(argument)
    result: Any
    try:
        result = ("returned", function(*given))
    except LanceError as error:
        result = ("raised", type(error), error.message, error.detail)
    for memory in memories:
        guards = np.concatenate([memory[:_GUARD_BYTES], memory[len(memory) - _GUARD_BYTES :]])
        assert (guards == _GUARD).all(), f"{function} wrote outside of an array argument"
    return result, [argument for argument in given if isinstance(argument, np.ndarray)]


def assert_twins_agree(native: Callable[..., Any], twin: Callable[..., Any], *arguments: Any) -> Any:
    """Call both functions with equal arguments and check that results or errors are equal.

    Parameters
    ----------
    native, twin
        The kernel and its twin.
    arguments
        Positional arguments. Every array is copied for each call and compared after it; contents are unspecified after
        an error.

    Returns
    -------
    object
        ``("returned", result)`` or ``("raised", type, message, detail)``.
    """
    native_result, native_arrays = _outcome(native, arguments)
    twin_result, twin_arrays = _outcome(twin, arguments)
    assert native_result == twin_result
    if native_result[0] == "returned":
        for of_native, of_twin in zip(native_arrays, twin_arrays, strict=True):
            np.testing.assert_array_equal(of_native, of_twin)
    return native_result


@st.composite
def damaged(draw: st.DrawFn, arrays: Sequence[NDArray[Any]], max_damages: int = 2) -> list[NDArray[Any]]:
    """Return copies of `arrays` with up to `max_damages` overwritten elements; often none."""
    copies = [array.copy() for array in arrays]
    for _ in range(draw(st.integers(0, max_damages))):
        array = copies[draw(st.integers(0, len(copies) - 1))]
        if array.size == 0:
            continue
        limits = np.iinfo(array.dtype)
        values = st.sampled_from([value for value in _INTERESTING if limits.min <= value <= limits.max])
        small = st.integers(max(limits.min, -300), min(limits.max, 5000))
        array[draw(st.integers(0, array.size - 1))] = draw(values | small)
    return copies
