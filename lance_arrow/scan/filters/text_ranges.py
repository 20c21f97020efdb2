"""`text_ranges`: the ranges of strings that satisfy a condition on one column, so that native code judges them.

name LIKE 'ab%' OR name = 'b' ─► bounds 'ab', 'ac' and 'b', and a string of each gap ─► Arrow ─► ['ab', 'ac') and 'b'

A beginning is two bounds: itself, and the first text behind all that have it. What a bound, a gap and null give is not
worked out here: Arrow evaluates the condition for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.compared import NotRanges, Pattern, compared_with
from lance_arrow.scan.predicates import MISFITS
from lance_arrow.statistics.zone_types import is_text

_MOST_BOUNDS, _MOST_RANGES = 128, 8
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_PATTERN_SIGNS = frozenset("%_\\")

TextRanges: TypeAlias = list[tuple[bytes, bytes | None]]
"""As `engine.ReadForms` takes them: half-open ranges of bytes, ascending; the last may have no end."""


def text_ranges(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> TextRanges | None:
    """Return the ranges of strings, or bytes, that satisfy a condition.

    Parameters
    ----------
    native, schema, name, part
        As for `number_ranges`.

    Returns
    -------
    list or None
        None for more than a few ranges, and for conditions that do more than compare the column with literals or their
        beginnings.
    """
    type_ = schema.field(name).type
    try:
        compared = compared_with(native.expression_tree(part, schema), type_)
        found_bounds: set[bytes] = set()
        for one in compared:
            found_bounds.update(_bounds(one))
            if len(found_bounds) > _MOST_BOUNDS:
                return None
        bounds = sorted(found_bounds)
        probes = list(_probes(bounds))
        items = pa.array([probe.decode() if is_text(type_) else probe for probe in probes], type_)
        flags = flags_of(native, schema, name, part, items, None)
    except (NotRanges, UnicodeDecodeError, *MISFITS):
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


def _bounds(value: pa.Array | Pattern) -> list[bytes]:
    """Return where ranges may begin or end, of what a column is compared with."""
    if not isinstance(value, Pattern):
        if len(value) > _MOST_BOUNDS:
            raise NotRanges
        return [one.encode() if isinstance(one, str) else one for one in value.to_pylist()]
    beginning = value.text
    if value.is_like:
        beginning = beginning.rstrip("%")
        if _PATTERN_SIGNS.intersection(beginning):
            raise NotRanges
        if beginning == value.text:
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


def _probes(bounds: list[bytes]) -> Iterator[bytes]:
    """Return the first string of each gap before, between and after bounds, and the bounds."""
    after = b""
    for bound in bounds:
        if after < bound:
            yield after
        yield bound
        after = bound + b"\0"
    yield after
