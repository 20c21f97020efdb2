"""Raw descriptions, kept until the release of their field numbers is known.

Some releases used a field for a count, others for a list of layers. So parsing with one set of numbers would lose the
content of others. The page's message is therefore identified only by name, and keeps its parts as unknown fields.
Source: lance.encodings.PageLayout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_arrow.errors import UnsupportedError

PAGE_LAYOUT = "lance.encodings.PageLayout"
CASES = ("mini_block_layout", "all_null_layout", "full_zip_layout")
VARINT, DELIMITED = 0, 2


def _page_layout() -> type[Message]:
    """Create the class in a separate descriptor pool: everywhere else, the name belongs to the last draft."""
    package, _, name = PAGE_LAYOUT.rpartition(".")
    page = DescriptorProto(name=name)
    page.oneof_decl.add(name="layout")
    for number, case in enumerate(CASES, 1):
        page.field.add(
            name=case,
            number=number,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
            type_name=f".{package}.UnopenedLayout",
            oneof_index=0,
        )
    file = FileDescriptorProto(name="unopened_layout.proto", package=package, syntax="proto3")
    file.message_type.extend([DescriptorProto(name="UnopenedLayout"), page])
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(PAGE_LAYOUT))


UnopenedPageLayout = _page_layout()
"""Parses ``lance.encodings.PageLayout``; each case is a message without fields, which keeps its raw bytes."""


def wire_types(layout: Message) -> Mapping[int, int]:
    """Return the wire types of an unparsed layout by field number, the last one of repeated fields."""
    return {field.field_number: field.wire_type for field in UnknownFieldSet(layout)}


def refuse_unknown(message: Any, what: str) -> None:
    """Raise for fields that the assumed release did not have.

    Raises
    ------
    UnsupportedError
        The numbers belong to no known release.
    """
    numbers = sorted({field.field_number for field in UnknownFieldSet(message)})
    if numbers:
        raise UnsupportedError(
            f"{what} has fields {numbers} in {message.DESCRIPTOR.name}: field numbers of no release that wrote drafts"
        )
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for child in (value,) if isinstance(value, Message) else value:
                refuse_unknown(child, what)
