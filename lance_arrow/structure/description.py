"""`describe`: convert a description to a printable tree, message by message, without binding it.

There are three kinds of messages. A *choice* (all fields are cases of one oneof, each a message) names an encoding; the
case's message has the parameters. A message with an enum ``scheme`` names a general compression. Other messages are
printed by their names. Scalars are parameters, messages are children. Unknown fields are printed with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_arrow.errors import CorruptFileError, ResourceLimitError, UnknownEncodingError
from lance_arrow.proto import encodings_v20_pb2, encodings_v21_pb2, encodings_v23_pb2
from lance_arrow.proto.reading import parse, set_case
from lance_arrow.spi import COMPRESSIVE, PRIVATE_CODEC, EncodingKey
from lance_arrow.spi.table import EncodingTable, Provided

Parameter: TypeAlias = int | float | str | bool | list[int | float | str | bool]

_FAMILIES = (encodings_v20_pb2, encodings_v21_pb2, encodings_v23_pb2)
_FORMAT_MESSAGES: dict[str, type[Message]] = {
    descriptor.full_name: GetMessageClass(descriptor)
    for family in _FAMILIES
    for descriptor in family.DESCRIPTOR.message_types_by_name.values()
}
_PRIVATE_CASE = "private_codec"
_VARINT, _DELIMITED = 0, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingReport:
    """One node of a tree of encodings.

    Parameters
    ----------
    key
        Printed `EncodingKey`, or name of the message.
    parameters
        Set fields, by name (``#17`` for an unknown number). Bytes are printed as their count, enums by name.
    children
        Role (the field's name, with an index in brackets if it is repeated) and node, in the order of field numbers.
    provider
        Entry-point name of the plugin that reads the encoding; None without a plugin, and for plain messages.
    detail
        Why it cannot be read: no plugin, a broken plugin, invalid bytes. None if it can.
    """

    key: str
    parameters: dict[str, Parameter] = field(default_factory=dict)
    children: tuple[tuple[str, EncodingReport], ...] = ()
    provider: str | None = None
    detail: str | None = None

    def walk(self) -> Iterator[EncodingReport]:
        """Yield this node and all below it, in order."""
        yield self
        for _, child in self.children:
            yield from child.walk()


def describe(message_name: str, value: bytes, table: EncodingTable, distribution: str = "") -> EncodingReport:
    """Convert a page or column description to a tree; nothing is bound, so missing plugins are reported, not raised.

    Parameters
    ----------
    message_name
        Full protobuf name from the description's ``Any``.
    value
        Bytes of the value.
    table
        Has the plugin of each encoding, and the class that parses `message_name`.
    distribution
        Name of the distribution in the file that reads the page; a parameter of unknown messages.

    Returns
    -------
    EncodingReport
        With `detail` and without children if the message is unknown or the bytes are invalid.
    """
    size = _count_bytes(len(value))
    message_type = _message_type(message_name, table)
    if message_type is None:
        known: dict[str, Parameter] = {"distribution": distribution} if distribution else {}
        detail = _reason(table.missing(EncodingKey(message_name)))
        return EncodingReport(key=message_name, parameters={**known, "size": size}, detail=detail)
    try:
        message = parse(message_type, value, what="the description")
    except (CorruptFileError, ResourceLimitError) as error:
        return EncodingReport(key=message_name, parameters={"size": size}, detail=str(error))
    return _Walk(table, table.messages() | {COMPRESSIVE, message_name}).of(message)


def _message_type(name: str, table: EncodingTable) -> type[Message] | None:
    """Return the plugins' class, otherwise the format's own, so that its messages print without any plugin."""
    try:
        return table.message_type(name)
    except UnknownEncodingError:
        return _FORMAT_MESSAGES.get(name)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk: the table, and the messages whose cases are encodings of plugins."""

    table: EncodingTable
    owners: frozenset[str]

    def of(self, message: Message) -> EncodingReport:
        if _is_choice(message.DESCRIPTOR):
            return self._choice(message)
        scheme = message.DESCRIPTOR.fields_by_name.get("scheme")
        if scheme is not None and scheme.enum_type is not None:
            return self._scheme(message, scheme)
        key = EncodingKey(message.DESCRIPTOR.full_name)
        found = self._provided(key)
        is_missing = found is None and key.message in self.owners
        return self._node(key, message, found, self._missing(key) if is_missing else None)

    def _choice(self, message: Message) -> EncodingReport:
        name = message.DESCRIPTOR.full_name
        case = set_case(message)
        if case is None:
            return EncodingReport(key=name, detail="the description is empty, expected one case to be set")
        if case.startswith("#"):
            # The class does not know the case: its content is an unknown field of the choice.
            key = EncodingKey(name, case)
            return EncodingReport(key=str(key), parameters=dict(_unknown(message)), detail=self._missing(key))
        inner = getattr(message, case)
        key = EncodingKey(PRIVATE_CODEC, inner.id) if case == _PRIVATE_CASE else EncodingKey(name, case)
        found = self._provided(key)
        is_missing = found is None and name in self.owners
        distribution = inner.distribution if case == _PRIVATE_CASE else ""
        return self._node(key, inner, found, self._missing(key, distribution) if is_missing else None)

    def _scheme(self, message: Message, scheme: FieldDescriptor) -> EncodingReport:
        key = EncodingKey(scheme.enum_type.full_name, _enum_name(scheme, getattr(message, scheme.name)))
        found = self.table.schemes.get(key)
        report = self._node(key, message, found, None if found is not None else self._missing(key))
        report.parameters.pop(scheme.name, None)
        return report

    def _node(self, key: EncodingKey, message: Message, found: Provided | None, detail: str | None) -> EncodingReport:
        parameters: dict[str, Parameter] = {}
        children: list[tuple[str, EncodingReport]] = []
        for held, value in message.ListFields():
            if held.message_type is None:
                parameters[held.name] = _parameter(held, value)
            elif isinstance(value, Message):
                children.append((held.name, self.of(value)))
            elif held.message_type.GetOptions().map_entry:
                parameters[held.name] = f"{len(value)} entries"
            else:
                children += [(f"{held.name}[{at}]", self.of(item)) for at, item in enumerate(value)]
        parameters.update(_unknown(message))
        provider = None if found is None else found.plugin.name
        return EncodingReport(
            key=str(key), parameters=parameters, children=tuple(children), provider=provider, detail=detail
        )

    def _provided(self, key: EncodingKey) -> Provided | None:
        whole = EncodingKey(key.message)
        for held in (self.table.codecs, self.table.arrays, self.table.layouts, self.table.column_encodings):
            found = held.get(key) or held.get(whole)
            if found is not None:
                return found
        return None

    def _missing(self, key: EncodingKey, distribution: str = "") -> str:
        return _reason(self.table.missing(key, distribution))


def _is_choice(descriptor: Descriptor) -> bool:
    oneofs = descriptor.oneofs
    return (
        len(oneofs) == 1
        and len(oneofs[0].fields) == len(descriptor.fields)
        and all(case.message_type is not None for case in descriptor.fields)
    )


def _reason(error: UnknownEncodingError) -> str:
    return "; ".join(["no installed plugin provides it", *getattr(error, "__notes__", [])])


def _parameter(held: FieldDescriptor, value: Any) -> Parameter:
    if isinstance(value, (bytes, str, int, float, bool)):
        return _scalar(held, value)
    return [_scalar(held, item) for item in value]


def _scalar(held: FieldDescriptor, value: Any) -> int | float | str | bool:
    if held.enum_type is not None:
        return _enum_name(held, value)
    return _count_bytes(len(value)) if isinstance(value, bytes) else value


def _enum_name(held: FieldDescriptor, number: int) -> str:
    value = held.enum_type.values_by_number.get(number)
    return f"#{number}" if value is None else value.name


def _unknown(message: Message) -> Iterator[tuple[str, Parameter]]:
    fields = UnknownFieldSet(message)
    for at in range(len(fields)):
        held = fields[at]
        if held.wire_type == _DELIMITED:
            yield f"#{held.field_number}", _count_bytes(len(held.data))
        elif held.wire_type == _VARINT:
            yield f"#{held.field_number}", held.data
        else:
            yield f"#{held.field_number}", f"wire type {held.wire_type}"


def _count_bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
