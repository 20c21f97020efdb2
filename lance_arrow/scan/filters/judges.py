"""`Judge`: judges the items of pages' dictionaries, numbers and texts, by a condition on one column."""

from __future__ import annotations

from copy import copy
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.scan.filters.bound_filters import flags_of, is_number
from lance_arrow.scan.filters.number_ranges import NumberRanges, number_ranges
from lance_arrow.scan.filters.text_ranges import TextRanges, text_ranges
from lance_arrow.scan.filters.text_searches import TextSearch, text_search
from lance_arrow.scan.predicates import MISFITS
from lance_arrow.statistics.zone_types import is_text

_MOST_KNOWN_BYTES = 1 << 20
"""Plans are kept, with what was judged: see `kept_plans`."""


class Judge:
    """Judges items of pages' dictionaries, once for equal ones; of numbers and texts it tells the ranges.

    Parameters
    ----------
    native, schema
        As of `ItemFilters`.
    name, part
        The column, and the condition.
    null
        Whether null satisfies it.
    numbers, texts
        As `number_ranges`, and `text_ranges` or `text_search`, return them.
    """

    def __init__(
        self,
        native: ModuleType,
        schema: pa.Schema,
        name: str,
        part: pc.Expression,
        *,
        null: bool,
        numbers: NumberRanges | None,
        texts: TextRanges | TextSearch | None,
    ) -> None:
        self._native, self._schema, self._name, self._part = native, schema, name, part
        self.type = schema.field(name).type
        self.null, self.numbers = null, numbers
        self.texts: TextRanges | tuple[bytes, bool, bool] | None = texts
        self.keeps_codes = False
        self._known: dict[tuple[bytes, bytes], bytes | None] = {}
        self._known_bytes = 0

    @classmethod
    def of(cls, native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> Judge | None:
        none = pa.nulls(0, schema.field(name).type)
        try:
            (null,) = flags_of(native, schema, name, part, none, None)
        except MISFITS:
            return None
        numbers, texts = None, None
        if is_number(none.type):
            numbers = number_ranges(native, schema, name, part)
        else:
            found = text_ranges(native, schema, name, part)
            texts = text_search(native, schema, name, part) if found is None else found
        return cls(native, schema, name, part, null=bool(null), numbers=numbers, texts=texts)

    def keeping_codes(self) -> Judge:
        """Return the same judge for rows whose values are wanted: dictionaries come as such."""
        found = copy(self)
        found.keeps_codes = True
        return found

    def __call__(self, offsets: bytes, offset_bits: int, values: bytes) -> bytes | None:
        """Return the flags of items, which come as `engine.ReadForms` has them.

        None where some is no text, or the condition fails for one: rows may lack it.
        """
        key = offsets, values
        known = self._known
        if key in known:
            return known[key]
        found = self._judged(offsets, offset_bits, values)
        if self._known_bytes > _MOST_KNOWN_BYTES:
            # Another thread may still look something up.
            known = self._known = {}
            self._known_bytes = 0
        known[key] = found
        self._known_bytes += len(offsets) + len(values)
        return found

    def _judged(self, offsets: bytes, offset_bits: int, values: bytes) -> bytes | None:
        try:
            items = self._items(offsets, offset_bits, values)
            if items is None:
                return None
            flags = flags_of(self._native, self._schema, self._name, self._part, items, None)
        except MISFITS:
            return None
        return flags[:-1].tobytes()

    def _items(self, offsets: bytes, offset_bits: int, values: bytes) -> pa.Array | None:
        """Make an array of items; None where they are not of the type."""
        type_ = self.type
        if offset_bits < 0:
            if not is_number(type_) or type_.bit_width != -offset_bits:
                return None
            items = pa.Array.from_buffers(type_, 8 * len(values) // type_.bit_width, [None, pa.py_buffer(values)], 0)
            items.validate(full=True)
            return items
        is_large = offset_bits == 64
        plain = pa.large_binary() if is_large else pa.binary()
        num_items = len(offsets) // (offset_bits // 8) - 1
        items = pa.Array.from_buffers(plain, num_items, [None, pa.py_buffer(offsets), pa.py_buffer(values)], 0)
        items.validate(full=True)
        return items.cast(pa.large_string() if is_large else pa.string()) if is_text(type_) else items
