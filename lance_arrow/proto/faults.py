"""Find the byte at which a message is malformed; the parser does not return it."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

VARINT, DELIMITED = 0, 2
FIXED_BYTES = {1: 8, 5: 4}
PARSER_ERRORS = (DecodeError, RecursionError, UnicodeDecodeError)
# A search in damaged bytes must end soon, even without a result.
MAX_FIELDS = 100_000
MAX_LEVELS = 100


class _BrokenWireError(Exception):
    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def fault_offset(descriptor: Descriptor, data: bytes) -> int | None:
    """Return the offset in `data` of the field that does not parse as `descriptor`, None if it was not found.

    The search enters, level by level, the first submessage that does not parse alone.
    """
    base = 0
    for _ in range(MAX_LEVELS):
        try:
            inner = _first_bad_field(descriptor, data)
        except _BrokenWireError as broken:
            return base + broken.offset
        if inner is None:
            return None
        field, start, stop = inner
        if field.message_type is None:
            return base + start
        descriptor, data, base = field.message_type, data[start:stop], base + start
    return None


def _first_bad_field(descriptor: Descriptor, data: bytes) -> tuple[FieldDescriptor, int, int] | None:
    for number, wire_type, start, stop in _fields(data):
        field = descriptor.fields_by_number.get(number)
        if field is None or wire_type != DELIMITED:
            continue
        value = data[start:stop]
        if field.message_type is not None:
            try:
                GetMessageClass(field.message_type).FromString(value)
            except PARSER_ERRORS:
                return field, start, stop
        elif field.type == FieldDescriptor.TYPE_STRING:
            try:
                value.decode()
            except UnicodeDecodeError:
                return field, start, stop
    return None


def _fields(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield (number, wire type, start, stop) of each field's value; a broken field is reported at its tag."""
    position = 0
    for _ in range(MAX_FIELDS):
        if position >= len(data):
            return
        begin = position
        try:
            tag, start = _varint(data, position)
            number, wire_type = tag >> 3, tag & 7
            if wire_type == DELIMITED:
                size, start = _varint(data, start)
                position = start + size
            elif wire_type == VARINT:
                position = _varint(data, start)[1]
            else:
                # The format has no groups: one is damage, or an unknown field that is not searched.
                position = start + FIXED_BYTES[wire_type]
        except (IndexError, KeyError):
            raise _BrokenWireError(begin) from None
        if number == 0 or position > len(data):
            raise _BrokenWireError(begin)
        yield number, wire_type, start, position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(10):
        byte = data[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise IndexError(position)
