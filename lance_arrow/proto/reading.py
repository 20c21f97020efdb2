"""Parse bytes into messages, and convert every parser failure into `CorruptFileError` with its place."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TypeVar, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_arrow.engine import split_any
from lance_arrow.errors import CorruptFileError, InternalError, ResourceLimitError
from lance_arrow.proto.faults import PARSER_ERRORS, fault_offset

MessageT = TypeVar("MessageT", bound=Message)

DEFAULT_MAX_DEPTH = 64
DEFAULT_MAX_BYTES = 256 << 20
_USUAL_AUTHORITY = "type.googleapis.com"


def parse(
    message_type: type[MessageT],
    data: bytes | bytearray | memoryview,
    *,
    what: str,
    byte_range: tuple[int, int] | None = None,
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    max_bytes: int = DEFAULT_MAX_BYTES,
    error: type[CorruptFileError] = CorruptFileError,
) -> MessageT:
    """Parse `data` as one message.

    Parameters
    ----------
    message_type
        Generated message class.
    data
        The message, without other bytes before or after it.
    what
        Name of the bytes for messages: "the file descriptor", "page 3's layout".
    byte_range
        Half-open byte range of the file from which `data` comes, or None.
    max_depth
        Most messages nested in each other, with the outermost; None for the parser's limit, 100.
    max_bytes
        Largest `data` that is parsed; a message takes several times its bytes in memory.
    error
        Class of the error for bad bytes, for callers with a more specific one.

    Raises
    ------
    CorruptFileError
        The bytes are not such a message: cut short, malformed, not UTF-8 in a string, or nested too deeply. ``detail``
        is the offset of the fault in `data`, None if it is unknown. The parser's error is the cause.
    ResourceLimitError
        `data` is longer than `max_bytes`.
    """
    size = memoryview(data).nbytes
    if size > max_bytes:
        raise ResourceLimitError(
            f"{what} has {size} bytes, above the limit max_bytes of {max_bytes}; raise it if the file is trusted",
            byte_range=byte_range,
            detail="max_bytes",
        )
    held = bytes(data)
    descriptor = cast(Descriptor, message_type.DESCRIPTOR)
    name = descriptor.full_name
    try:
        message = message_type.FromString(held)
    except PARSER_ERRORS as cause:
        offset = fault_offset(descriptor, held)
        place = "nested too deeply or malformed" if offset is None else f"malformed at its byte {offset}"
        raise error(f"{what} is not a valid {name}: {place}", byte_range=byte_range, detail=offset) from cause
    if max_depth is not None and _static_depth(descriptor) > max_depth and _is_deeper_than(message, max_depth):
        raise error(f"{what} is not a valid {name}: nested deeper than {max_depth} messages", byte_range=byte_range)
    return message


def unpack_any(
    data: bytes | bytearray | memoryview,
    *,
    what: str = "a typed description",
    byte_range: tuple[int, int] | None = None,
) -> tuple[str, bytes, str]:
    """Split a serialized google.protobuf.Any; the bytes of its message are not parsed.

    Returns
    -------
    tuple
        Full name of the message, its bytes, and the authority: the text before the last slash of the type URL.
        Protobuf's default authority, ``type.googleapis.com``, is returned as an empty string.

    Raises
    ------
    CorruptFileError
        `data` is not an Any, or has no type name.
    """
    held = bytes(data)
    found = split_any(held)
    if found is None:
        from google.protobuf.any_pb2 import Any as AnyMessage  # noqa: PLC0415 - to say what is wrong

        wrapper = parse(AnyMessage, held, what=what, byte_range=byte_range)
        found = wrapper.type_url, wrapper.value
    type_url, value = found
    authority, _, name = type_url.rpartition("/")
    if not name:
        raise CorruptFileError(f"{what} has no type name (type URL {type_url!r})", byte_range=byte_range)
    return name, value, "" if authority == _USUAL_AUTHORITY else authority


def set_case(message: Message) -> str | None:
    """Return the set case of the message's only oneof.

    Returns
    -------
    str or None
        The field's name. ``"#<number>"`` if no known case is set but the message has an unknown field (the last one,
        since the last case of a oneof wins). None without both.

    Raises
    ------
    InternalError
        The message type has no oneof, or several.
    """
    oneof = _only_oneof(message.DESCRIPTOR)
    known: str | None = message.WhichOneof(oneof)
    if known is not None:
        return known
    numbers = unknown_numbers(message)
    return f"#{numbers[-1]}" if numbers else None


def unknown_numbers(message: Message) -> tuple[int, ...]:
    """Return the numbers of fields in the message that its type does not know, as stored."""
    unknown = UnknownFieldSet(message)
    return tuple(unknown[index].field_number for index in range(len(unknown)))


def has_unknown(message: Message) -> bool:
    """Return whether `iter_unknown` yields anything, without a walk through the messages in Python."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    # Only unknown fields are gone, at any depth, and each takes bytes.
    return known.ByteSize() != message.ByteSize()


def iter_unknown(message: Message, path: str = "") -> Iterator[tuple[str, int]]:
    """Yield (dotted path of the holder, number) of every unknown field in the message and the messages below it.

    The path starts at `message`, whose own path is empty. Items of repeated fields and maps have an index or a key in
    brackets.
    """
    for number in unknown_numbers(message):
        yield path, number
    for name, child in _children(message):
        yield from iter_unknown(child, f"{path}.{name}" if path else name)


def _children(message: Message) -> Iterator[tuple[str, Message]]:
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if isinstance(value, Message):
            yield field.name, value
        elif field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                yield from ((f"{field.name}[{key!r}]", value[key]) for key in value)
        else:
            yield from ((f"{field.name}[{index}]", item) for index, item in enumerate(value))


@functools.cache
def _only_oneof(descriptor: Descriptor) -> str:
    # The presence of an optional field is a oneof with one case, named "_<field>".
    names = [oneof.name for oneof in descriptor.oneofs if not oneof.name.startswith("_")]
    if len(names) != 1:
        raise InternalError(f"{descriptor.full_name} has {len(names)} oneofs, expected one")
    return names[0]


@functools.cache
def _static_depth(descriptor: Descriptor) -> float:
    """Return the maximum nesting of a type: most types cannot recurse, so their messages need no check."""
    return _longest_path(descriptor, frozenset())


def _longest_path(descriptor: Descriptor, above: frozenset[str]) -> float:
    if descriptor.full_name in above:
        return math.inf
    above |= {descriptor.full_name}
    below = {field.message_type.full_name: field.message_type for field in descriptor.fields if field.message_type}
    return 1 + max((_longest_path(child, above) for child in below.values()), default=0)


def _is_deeper_than(message: Message, levels: int) -> bool:
    return levels == 0 or any(_is_deeper_than(child, levels - 1) for _, child in _children(message))
