"""`Templates`: layouts that were bound, for descriptions that differ from theirs in declared parameters alone.

description ── as one that was bound, but for counts and tables? ──► its layout, with these parameters
                                                                └─► None: it must be bound

Pages of a column differ in how many values they have, and in tables such as those of symbols. What is compared is
bytes: what lies between the parameters must be equal, so both descriptions have the same fields in the same order.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

from lance_arrow.spi.codecs import FieldPath, HasParameters
from lance_arrow.spi.layouts import BoundLayout

_MOST_TEMPLATES = 256
_MOST_OF_ONE_KIND = 8
_LEAST_TABLE_BYTES = 64
"""Shorter ones may occur in a description by chance."""
_MOST_VARINT_BYTES = 4
"""Larger counts are bound: fields of 32 bits would wrap."""
_VARINT_PATTERN = rb"([\x80-\xff]{0,%d}[\x00-\x7f])" % (_MOST_VARINT_BYTES - 1)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _Span(NamedTuple):
    """Bytes of a description that may differ.

    Parameters
    ----------
    start, stop
        Where they lie.
    value
        The number that they are, if they are one.
    name
        Of the parameter; None for the length of what holds one.
    end
        Where that, whose length it is, ends.
    """

    start: int
    stop: int
    value: int | None
    name: str | None
    end: int = 0


class _Length(NamedTuple):
    """A span that is a length.

    Parameters
    ----------
    place
        Which span it is.
    inside
        Which spans it counts.
    rest
        How many bytes it counts beside them.
    """

    place: int
    inside: tuple[int, ...]
    rest: int


class _Template:
    """A layout, and what lies where in its description.

    Parameters
    ----------
    layout
        What was bound.
    description
        Its description.
    spans
        What may differ, in order.
    """

    __slots__ = ("_lengths", "_named", "_pattern", "layout")

    def __init__(self, layout: Any, description: bytes, spans: Sequence[_Span]) -> None:
        self.layout = layout
        borders = [0, *[place for span in spans for place in (span.start, span.stop)], len(description)]
        literals = [re.escape(description[start:stop]) for start, stop in zip(borders[::2], borders[1::2], strict=True)]
        sizes = [span.stop - span.start for span in spans]
        kinds = [
            b"(.{%d})" % size if span.value is None else _VARINT_PATTERN
            for span, size in zip(spans, sizes, strict=True)
        ]
        text = b"".join([part for pair in zip(literals, kinds, strict=False) for part in pair])
        self._pattern = re.compile(text + literals[-1], re.DOTALL)
        self._named = [(place, span.name, span.value is None) for place, span in enumerate(spans) if span.name]
        self._lengths = []
        for place, span in enumerate(spans):
            if span.name is None:
                assert span.value is not None
                inside = tuple([one for one in range(place + 1, len(spans)) if spans[one].start < span.end])
                self._lengths.append(_Length(place, inside, span.value - sum([sizes[one] for one in inside])))

    def matched(self, description: bytes) -> Mapping[str, int | bytes] | None:
        """Return the parameters of a description; None if it differs elsewhere."""
        like = self._pattern.fullmatch(description)
        if like is None:
            return None
        parts = like.groups()
        for place, inside, rest in self._lengths:
            # Lengths must be as much larger as what they count.
            if _number(parts[place]) != rest + sum([len(parts[one]) for one in inside]):
                return None
        return {name: parts[place] if is_table else _number(parts[place]) for place, name, is_table in self._named}


class Templates:
    """Layouts by what their descriptions have in common; threads share it."""

    def __init__(self) -> None:
        self._of: OrderedDict[Hashable, list[_Template]] = OrderedDict()
        self._lock = Lock()

    def find(self, kind: Hashable, description: bytes) -> BoundLayout | None:
        """Return the layout of a description by one that was bound; None where there is none.

        Parameters
        ----------
        kind
            What else decides how it is bound.

        Raises
        ------
        LanceError
            As binding the description.
        """
        for template in self._of.get(kind, ()):
            found = template.matched(description)
            if found is not None:
                made: BoundLayout = template.layout.with_parameters(found)
                return made
        return None

    def keep(
        self,
        kind: Hashable,
        description: bytes,
        layout: BoundLayout,
        descriptor: Any,
        counts: Sequence[tuple[str, FieldPath]],
    ) -> None:
        """Keep a layout that was bound, if it has parameters and these are found in its description.

        Parameters
        ----------
        kind
            As of `find`.
        description, layout
            Bytes, and what they were bound to.
        descriptor
            Of the outermost message.
        counts
            Names of parameters, and their fields, from this message downwards.
        """
        if not isinstance(layout, HasParameters):
            return
        spans = _spans(description, layout.parameters, descriptor, counts)
        if not spans:
            return
        template = _Template(layout, description, spans)
        with self._lock:
            known = self._of.get(kind, [])
            # Readers may be going through the list.
            self._of[kind] = [template, *known[: _MOST_OF_ONE_KIND - 1]]
            self._of.move_to_end(kind)
            if len(self._of) > _MOST_TEMPLATES:
                self._of.popitem(last=False)


def _spans(
    description: bytes,
    parameters: Mapping[str, int | bytes],
    descriptor: Any,
    counts: Sequence[tuple[str, FieldPath]],
) -> tuple[_Span, ...]:
    """Return where the parameters lie, in order; nothing where one cannot be found for sure."""
    spans: dict[int, _Span] = {}
    for name, value in parameters.items():
        if isinstance(value, bytes):
            if len(value) < _LEAST_TABLE_BYTES or description.count(value) != 1:
                return ()
            start = description.index(value)
            spans[start] = _Span(start, start + len(value), None, name)
            continue
        found = [_field(description, descriptor, path, name) for own, path in counts if own == name]
        for one in [one for one in found if one]:
            # A field that is not there has the same value, 0, in all that match.
            if one[-1].value != value:
                return ()
            spans |= {span.start: span for span in one}
    ordered = tuple([spans[start] for start in sorted(spans)])
    overlap = any([before.stop > after.start for before, after in pairwise(ordered)])
    return () if overlap else ordered


def _field(description: bytes, descriptor: Any, path: FieldPath, name: str) -> list[_Span]:
    """Return the lengths that enclose a number, and the number; nothing if it is not there exactly once."""
    spans: list[_Span] = []
    start, stop = 0, len(description)
    for depth, field in enumerate(path):
        number = descriptor.fields_by_name[field].number
        is_last = depth == len(path) - 1
        found = _once(description, start, stop, number << 3 | (_VARINT if is_last else _BYTES))
        if found is None:
            return []
        value, after = _varint(description, found, stop)
        if value is None:
            return []
        if is_last:
            return [*spans, _Span(found, after, value, name)]
        start, stop = after, after + value
        spans.append(_Span(found, after, value, None, stop))
        descriptor = descriptor.fields_by_name[field].message_type
    return []


def _once(data: bytes, start: int, stop: int, wanted: int) -> int | None:
    """Return where the content of a field of a message begins; None if it is not there exactly once."""
    found = None
    while start < stop:
        tag, start = _varint(data, start, stop)
        if tag is None:
            return None
        if tag == wanted:
            if found is not None:
                return None
            found = start
        kind = tag & 7
        if kind == _VARINT:
            while start < stop and data[start] & 0x80:
                start += 1
            start += 1
        elif kind == _BYTES:
            length, start = _varint(data, start, stop)
            if length is None:
                return None
            start += length
        elif kind in (_FIXED32, _FIXED64):
            start += 4 if kind == _FIXED32 else 8
        else:
            return None
    return found


def _number(varint: bytes) -> int:
    """Return the number of a whole varint."""
    if len(varint) == 1:
        return varint[0]
    if len(varint) == 2:
        return varint[0] & 0x7F | varint[1] << 7
    value = 0
    for place, byte in enumerate(varint):
        value |= (byte & 0x7F) << 7 * place
    return value


def _varint(data: bytes, start: int, stop: int) -> tuple[int | None, int]:
    """Return a number of at most 28 bits and where it ends; None for larger ones."""
    value = 0
    for place in range(start, min(start + _MOST_VARINT_BYTES, stop)):
        byte = data[place]
        value |= (byte & 0x7F) << 7 * (place - start)
        if byte < 0x80:
            return value, place + 1
    return None, start
