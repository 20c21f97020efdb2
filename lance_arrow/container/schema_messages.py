"""The written file descriptor: schema, its metadata, and the number of rows.

Source: lance.file.FileDescriptor, lance.file.Schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from google.protobuf.message import Message

from lance_arrow.container.fields import SchemaField, fields_to_messages
from lance_arrow.proto import file_schema_pb2


def file_descriptor(
    fields: Sequence[SchemaField], metadata: Mapping[str, bytes], num_rows: int
) -> file_schema_pb2.FileDescriptor:
    """Build the descriptor of a file.

    Parameters
    ----------
    fields
        Top-level fields, numbered.
    metadata
        Metadata of the schema.
    num_rows
        Rows of the file.
    """
    schema = file_schema_pb2.Schema(fields=fields_to_messages(fields), metadata=dict(metadata))
    return file_schema_pb2.FileDescriptor(schema=schema, length=num_rows)


def serialized(message: Message) -> bytes:
    """Return a message's bytes: equal messages give equal bytes, for any insertion order of their maps."""
    return message.SerializeToString(deterministic=True)
