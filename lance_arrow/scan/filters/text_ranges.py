"""`text_ranges`: the ranges of strings that satisfy a condition on one column, so that native code judges them.

name LIKE 'ab%' OR name = 'b' ─► bounds 'ab', 'ac' and 'b', and a string of each gap ─► Arrow ─► ['ab', 'ac') and 'b'

A beginning is two bounds: itself, and the first text behind all that have it. What a bound, a gap and null give is not
worked out here: Arrow evaluates the condition for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from types import ModuleType
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.plain_numbers import as_array, as_binary
from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.compared import NotRanges, Pattern, compared_with, ends_of_runs
from lance_arrow.scan.predicates import MISFITS

_BYTES = pa.large_binary()
_MOST_BOUNDS = 1 << 14
"""Of more, looking up each string in Arrow's hash table takes less time."""
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
PATTERN_SIGNS = frozenset("%_\\")
"""Characters with a meaning of their own in patterns of SQL."""

TextRanges: TypeAlias = list[tuple[bytes, bytes | None]]
"""As `engine.ReadForms` takes them: half-open ranges of bytes, ascending; the last may have no end, which is None."""


def text_ranges(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> TextRanges | None:
    """Return the ranges of strings, or bytes, that satisfy a condition.

    Parameters
    ----------
    native, schema, name, part
        As for `number_ranges`.

    Returns
    -------
    list or None
        None for too many literals, and for conditions that do more than compare the column with literals or their
        beginnings.
    """
    type_ = schema.field(name).type
    try:
        probes = _probes(_bounds(compared_with(native.expression_tree(part, schema), type_)))
        flags = flags_of(native, schema, name, part, probes.cast(type_), None)[: len(probes)] != 0
    except (NotRanges, UnicodeDecodeError, *MISFITS):
        return None
    starts_here, ends_here = ends_of_runs(flags)
    lows = probes.take(as_array(np.flatnonzero(starts_here))).to_pylist()
    # A range ends where the next gap, or bound, begins.
    highs = probes[1:].take(as_array(np.flatnonzero(ends_here[:-1]))).to_pylist()
    return list(zip_longest(lows, highs))


def _bounds(compared: Iterable[pa.Array | Pattern]) -> pa.Array:
    """Return different strings where ranges may begin or end, ascending."""
    found = [pa.nulls(0, _BYTES)]
    num_bounds = 0
    for one in compared:
        own = [as_binary(end) for end in _ends_of(one)] if isinstance(one, Pattern) else [one.cast(_BYTES)]
        found += own
        num_bounds += sum([len(bounds) for bounds in own])
        if num_bounds > _MOST_BOUNDS:
            raise NotRanges
    return _distinct(found)


def _distinct(arrays: Sequence[pa.Array]) -> pa.Array:
    found = pa.concat_arrays(arrays).unique()
    return found.take(pc.sort_indices(found))


def _ends_of(pattern: Pattern) -> list[bytes]:
    """Return where the range of what fits a pattern begins, and ends."""
    beginning = pattern.text
    if pattern.is_part:
        raise NotRanges
    if pattern.is_like:
        beginning = beginning.rstrip("%")
        if PATTERN_SIGNS.intersection(beginning):
            raise NotRanges
        if beginning == pattern.text:
            return [beginning.encode()]
    after = _following(beginning)
    return [beginning.encode()] if after is None else [beginning.encode(), after.encode()]


def _following(beginning: str) -> str | None:
    """Return the first text behind all that have a beginning; None where there is none."""
    while beginning:
        last = ord(beginning[-1])
        beginning = beginning[:-1]
        if last < _LAST_CHARACTER:
            return beginning + chr(last + 1 if last + 1 not in _SURROGATES else _SURROGATES.stop)
    return None


def _probes(bounds: pa.Array) -> pa.Array:
    """Return the bounds, and the first string of each gap before, between and behind them, ascending."""
    behind = pc.binary_join_element_wise(bounds, as_binary(b"\0")[0], as_binary(b"")[0])
    return _distinct([as_binary(b""), bounds, behind])
