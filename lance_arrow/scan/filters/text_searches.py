"""`text_search`: what a condition on one column looks for in texts, so that native code judges them.

NOT name LIKE '%ab%' ─► 'ab' ─► Arrow, of 'ab' and of '' ─► texts with 'ab' do not satisfy it, others do
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.plain_numbers import as_binary
from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.compared import NotRanges, Pattern, compared_with
from lance_arrow.scan.filters.text_ranges import PATTERN_SIGNS
from lance_arrow.scan.predicates import MISFITS


class TextSearch(NamedTuple):
    """As `engine.ReadForms` takes it: what is looked for, and whether texts with it, and others, satisfy."""

    needle: bytes
    found: bool
    missing: bool


def text_search(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> TextSearch | None:
    """Return what a condition looks for in texts.

    Parameters
    ----------
    native, schema, name, part
        As for `number_ranges`.

    Returns
    -------
    TextSearch or None
        None for conditions that do more than to look for one part of texts, anywhere in them.
    """
    type_ = schema.field(name).type
    try:
        (pattern,) = compared_with(native.expression_tree(part, schema), type_)
        needle = _needle(pattern)
        probes = pa.concat_arrays([as_binary(needle.encode()), as_binary(b"")]).cast(type_)
        found, missing, _ = flags_of(native, schema, name, part, probes, None).tolist()
    except (NotRanges, UnicodeDecodeError, ValueError, *MISFITS):
        return None
    return TextSearch(needle.encode(), bool(found), bool(missing))


def _needle(pattern: pa.Array | Pattern) -> str:
    if not isinstance(pattern, Pattern):
        raise NotRanges
    needle = pattern.text
    if pattern.is_like:
        if len(needle) < 2 or needle[0] != "%" or needle[-1] != "%":
            raise NotRanges
        needle = needle.strip("%")
        if PATTERN_SIGNS.intersection(needle):
            raise NotRanges
    elif not pattern.is_part:
        raise NotRanges
    if not needle:
        raise NotRanges
    return needle
