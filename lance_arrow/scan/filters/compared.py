"""`compared_with`: what a condition compares its one column with, if it does nothing else.

Between two neighbouring literals every value gives the same then: so a condition is ranges of values. What a
literal, a gap and null give is not worked out: Arrow evaluates the condition for them, see `number_ranges` and
`text_ranges`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.pruning.zone_predicates import Tree

_COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
_OF_TEXTS = ("starts_with", "match_like", "match_substring")
_CONNECTIVES = frozenset(
    ("and_kleene", "or_kleene", "and", "or", "invert", "true_unless_null", "is_null", "is_valid", "is_nan")
)


class NotRanges(Exception):
    """A condition does something else than to compare a column with literals, or with too many."""


class Pattern(NamedTuple):
    """What a text begins with or (`is_part`) has anywhere, or (`is_like`) a pattern of SQL."""

    text: str
    is_like: bool
    is_part: bool = False


def compared_with(node: Tree, type_: pa.DataType) -> Iterator[pa.Array | Pattern]:
    """Yield what a condition compares a column of some type with: arrays without nulls, and patterns of texts.

    Raises
    ------
    NotRanges
        It does something else, too.
    """
    # Not by recursion: a condition may be thousands of equalities, each within the next.
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node[0] == "literal" and isinstance(node[1], pa.Scalar) and pa.types.is_boolean(node[1].type):
            continue
        if node[0] != "call":
            raise NotRanges
        function, arguments, options = node[1], node[2], node[3]
        if function in _COMPARISONS:
            fields = [one for one in arguments if one[0] == "field"]
            others = [one for one in arguments if one[0] == "literal"]
            if len(fields) != 1 or len(others) != 1 or fields[0][2] != type_:
                raise NotRanges
            yield _literal(others[0][1], type_)
        elif function in ("is_in", *_OF_TEXTS):
            if arguments[0][0] != "field" or arguments[0][2] != type_ or not isinstance(options, tuple):
                raise NotRanges
            yield _members(options[0], type_) if function == "is_in" else _pattern(options, function)
        elif function in _CONNECTIVES:
            waiting += [one for one in arguments if one[0] != "field"]
        else:
            raise NotRanges


def ends_of_runs(flags: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where runs of True begin, and where they end, ``(n,)`` each: at their first and at their last place."""
    starts, ends = flags.copy(), flags.copy()
    starts[1:] &= ~flags[:-1]
    ends[:-1] &= ~flags[1:]
    return starts, ends


def _literal(value: object, type_: pa.DataType) -> pa.Array:
    if not isinstance(value, pa.Scalar) or value.type != type_:
        raise NotRanges
    return pa.repeat(value, 1) if value.is_valid else pa.nulls(0, type_)


def _members(wanted: object, type_: pa.DataType) -> pa.Array:
    if not isinstance(wanted, pa.Array | pa.ChunkedArray) or wanted.type != type_:
        raise NotRanges
    whole = wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted
    return whole.drop_null()


def _pattern(options: tuple[object, ...], function: str) -> Pattern:
    text, ignores_case = options
    if isinstance(text, bytes):
        text = text.decode()
    if not isinstance(text, str) or ignores_case:
        raise NotRanges
    return Pattern(text, is_like=function == "match_like", is_part=function == "match_substring")
