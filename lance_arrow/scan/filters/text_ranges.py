"""`text_ranges`: the ranges of strings that satisfy a condition on one column, so that native code judges them.

name LIKE 'ab%' OR name = 'b' ─► bounds 'ab', 'ac' and 'b', and a string of each gap ─► Arrow ─► ['ab', 'ac') and 'b'

Between two neighbouring bounds every string gives the same: the condition compares the column with literals and with
their beginnings, and does nothing else. What a bound, a gap and null give is not worked out here: Arrow evaluates the
condition for them, as for `number_ranges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.pruning.zone_predicates import Tree
from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.number_ranges import COMPARISONS, CONNECTIVES
from lance_arrow.scan.predicates import MISFITS
from lance_arrow.statistics.zone_types import is_text

_MOST_RANGES = 8
_MOST_BOUNDS = 128
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_PATTERN_SIGNS = frozenset("%_\\")

TextRanges: TypeAlias = list[tuple[bytes, bytes | None]]
"""As `engine.ReadForms` takes them: half-open ranges of bytes, ascending; the last may have no end."""


def text_ranges(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> TextRanges | None:
    """Return the ranges of strings, or bytes, that satisfy a condition.

    Parameters
    ----------
    native
        The bridge.
    schema
        Schema that the condition is bound to.
    name, part
        The one column that it asks for, and the condition.

    Returns
    -------
    list or None
        None for more than a few ranges, and for conditions that do more than compare the column with literals or their
        beginnings.
    """
    type_ = schema.field(name).type
    try:
        bounds = sorted(set(_bounds(native.expression_tree(part, schema), type_)))
        if len(bounds) > _MOST_BOUNDS:
            return None
        probes = list(_probes(bounds))
        items = pa.array([probe.decode() if is_text(type_) else probe for probe in probes], type_)
        flags = flags_of(native, schema, name, part, items, None)
    except (_NotRanges, UnicodeDecodeError, *MISFITS):
        return None
    found: TextRanges = []
    for place, probe in enumerate(probes):
        if not flags[place]:
            continue
        stop = probes[place + 1] if place + 1 < len(probes) else None
        if found and found[-1][1] == probe:
            found[-1] = found[-1][0], stop
        else:
            found.append((probe, stop))
    return found if len(found) <= _MOST_RANGES else None


class _NotRanges(Exception):
    """A condition does something else than to compare a column with literals, or their beginnings."""


def _bounds(node: Tree, type_: pa.DataType) -> Iterator[bytes]:
    """Find where ranges may begin or end; raises `_NotRanges`."""
    if node[0] == "literal" and isinstance(node[1], pa.Scalar) and pa.types.is_boolean(node[1].type):
        return
    if node[0] != "call":
        raise _NotRanges
    function, arguments, options = node[1], node[2], node[3]
    if function in COMPARISONS:
        fields = [one for one in arguments if one[0] == "field"]
        others = [one for one in arguments if one[0] == "literal"]
        if len(fields) != 1 or len(others) != 1 or fields[0][2] != type_:
            raise _NotRanges
        yield from _texts([others[0][1]], type_)
    elif function == "is_in":
        if arguments[0][0] != "field" or arguments[0][2] != type_ or not isinstance(options, tuple):
            raise _NotRanges
        wanted = options[0]
        if not isinstance(wanted, pa.Array | pa.ChunkedArray) or len(wanted) > _MOST_BOUNDS:
            raise _NotRanges
        yield from _texts(wanted, type_)
    elif function in ("starts_with", "match_like"):
        if arguments[0][0] != "field" or arguments[0][2] != type_ or not isinstance(options, tuple) or options[1]:
            raise _NotRanges
        yield from _of_pattern(options[0], is_pattern=function == "match_like", is_text=is_text(type_))
    elif function in CONNECTIVES:
        for one in arguments:
            if one[0] != "field":
                yield from _bounds(one, type_)
    else:
        raise _NotRanges


def _texts(values: Iterable[pa.Scalar], type_: pa.DataType) -> Iterator[bytes]:
    """Return literals without nulls."""
    for value in values:
        if not isinstance(value, pa.Scalar) or value.type != type_:
            raise _NotRanges
        if value.is_valid:
            found = value.as_py()
            yield found.encode() if isinstance(found, str) else found


def _of_pattern(pattern: Any, *, is_pattern: bool, is_text: bool) -> Iterator[bytes]:
    """Return the bounds of what begins as a pattern says."""
    if isinstance(pattern, bytes):
        pattern = pattern.decode()
    if not isinstance(pattern, str) or not is_text:
        raise _NotRanges
    if is_pattern:
        ends_openly = pattern.endswith("%")
        pattern = pattern.rstrip("%")
        if _PATTERN_SIGNS.intersection(pattern):
            raise _NotRanges
        if not ends_openly:
            yield pattern.encode()
            return
    yield pattern.encode()
    after = _following(pattern)
    if after is not None:
        yield after.encode()


def _following(beginning: str) -> str | None:
    """Return the first text behind all that have a beginning; None where there is none."""
    while beginning:
        last = ord(beginning[-1])
        beginning = beginning[:-1]
        if last < _LAST_CHARACTER:
            return beginning + chr(last + 1 if last + 1 not in _SURROGATES else _SURROGATES.stop)
    return None


def _probes(bounds: list[bytes]) -> Iterator[bytes]:
    """Return the first string of each gap before, between and after bounds, and the bounds."""
    after = b""
    for bound in bounds:
        if after < bound:
            yield after
        yield bound
        after = bound + b"\0"
    yield after
