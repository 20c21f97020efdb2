"""Distinct values in order of first appearance: what an automatic dictionary is made of."""

import numpy as np
from numpy.typing import NDArray

def index_fixed(
    data: NDArray[np.uint8],
    bytes_per_value: int,
    nulls: NDArray[np.uint16] | None,
    out_indices: NDArray[np.uint32],
    out_firsts: NDArray[np.int64],
) -> int | None:
    """Number the distinct values of a fixed-width block.

    Parameters
    ----------
    data, bytes_per_value
        The values.
    nulls
        ``(num_values,) uint16``, above 0 where a value is null: its index is 0 and it is no item. None: none is.
    out_indices
        ``(num_values,) uint32``: the item that each value is.
    out_firsts
        ``(max_items,) int64``: where each item first appears; ascending.

    Returns
    -------
    int or None
        Items. None where there are more than `out_firsts` holds, or, after some thousands of values that hardly
        repeat, surely would be; outputs are unspecified then.

    Raises
    ------
    InternalError
        Arguments contradict each other.
    """

def index_variable(
    offsets: NDArray[np.uint8],
    offset_bits: int,
    data: NDArray[np.uint8],
    nulls: NDArray[np.uint16] | None,
    out_indices: NDArray[np.uint32],
    out_firsts: NDArray[np.int64],
) -> int | None:
    """Number the distinct values of a variable-width block; the first offset is the base. See `index_fixed`."""
