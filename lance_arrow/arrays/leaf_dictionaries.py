"""Dictionary columns for writing a page: one dictionary for all chunks, and indices without null items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_blocks import VisibleValues, build_block
from lance_arrow.arrays.leaf_path import storage_array
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.spi import BlockSlice


def indices_and_items(leaf: LeafNode, arrays: Sequence[pa.Array]) -> tuple[list[pa.Array], BlockSlice]:
    """Split dictionary arrays into indices and shared items.

    Parameters
    ----------
    leaf
        A leaf that keeps its dictionary.
    arrays
        Chunks of the leaf. A single dictionary is kept, with unused and equal items; several are unified.

    Returns
    -------
    indices
        Arrays of the index type; rows with a null item are null.
    items
        Block of the items; null items are empty or zero.

    Raises
    ------
    InvalidArgumentError
        An array is not a dictionary, or its types differ from the leaf's.
    UnsupportedError
        The items of all chunks together are too many for the index type.
    """
    type_ = leaf.storage
    for array in arrays:
        if not isinstance(array.type, pa.DictionaryType) or array.type.index_type != type_.index_type:
            raise InvalidArgumentError(f"an array of type {array.type}, expected {type_}")
    shared = _with_one_dictionary(list(arrays), type_)
    items = shared[0].dictionary if shared else pa.array([], type_.value_type)
    indices = [_plain_indices(array, items) for array in shared]
    items = storage_array(items)
    whole = VisibleValues.whole(len(items), _null_levels(items))
    block = build_block(leaf, leaf.leaf.items, [items] if len(items) else [], whole)
    if block is None:
        raise UnsupportedError(f"dictionaries of {type_.value_type} cannot be written")
    return indices, block


def _null_levels(items: pa.Array) -> np.ndarray | None:
    if not items.null_count:
        return None
    return items.is_null().to_numpy(zero_copy_only=False).astype(np.uint16)


def _plain_indices(array: pa.DictionaryArray, items: pa.Array) -> pa.Array:
    if not items.null_count:
        return array.indices
    is_valid = items.is_valid().take(array.indices)
    return pc.if_else(pc.fill_null(is_valid, False), array.indices, pa.scalar(None, array.indices.type))


def _with_one_dictionary(arrays: list[pa.Array], type_: pa.DictionaryType) -> list[pa.Array]:
    if all(array.dictionary.equals(arrays[0].dictionary) for array in arrays[1:]):
        return arrays
    arrays = [_without_null_items(array) if array.dictionary.null_count else array for array in arrays]
    try:
        return list(pa.chunked_array(arrays).unify_dictionaries().chunks)
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"the dictionaries of all chunks have more items together than {type_.index_type} indices can count"
        ) from error


def _without_null_items(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """Encode again, because Arrow cannot unify dictionaries with nulls."""
    encoded = array.dictionary_decode().dictionary_encode()
    indices = encoded.indices.cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=array.type.ordered)
