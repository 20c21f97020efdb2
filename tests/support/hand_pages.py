"""Files of one column and one page written by hand, which the reference package is asked to read too."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.any_pb2 import Any as Wrapped
from google.protobuf.message import Message

from lance_arrow.container.fields import fields_to_messages
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

_ALIGNMENT = 64
NO_POSITIONS = pb.CompressiveEncoding(constant=pb.Constant())


def flat(bits: int) -> pb.CompressiveEncoding:
    """Values of one width, back to back."""
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def u64(*numbers: int) -> bytes:
    return np.array(numbers, "<u8").tobytes()


def null_at(*positions: int, valid: bool = False) -> planar.SparseValiditySet:
    """A position set; its numbers are in a buffer of their own, unless there are none."""
    codec = flat(64) if positions else NO_POSITIONS
    return planar.SparseValiditySet(meaning=1 + int(valid), positions=codec, num_positions=len(positions))


def items(validity: planar.SparseValiditySet) -> planar.SparseLayer:
    return planar.SparseLayer(validity=validity)


def tuples(dimension: int, validity: planar.SparseValiditySet) -> planar.SparseLayer:
    """A layer of fixed-size lists of structs."""
    return planar.SparseLayer(fixed_size_list=planar.SparseFslLayer(dimension=dimension, validity=validity))


def lists(num_items: int, num_lists: int, validity: planar.SparseValiditySet) -> planar.SparseLayer:
    layer = planar.SparseListLayer(
        num_child_slots=num_items,
        non_empty_positions=flat(64) if num_lists else NO_POSITIONS,
        num_non_empty_positions=num_lists,
        counts=flat(64) if num_lists else NO_POSITIONS,
        validity=validity,
    )
    return planar.SparseLayer(list=layer)


def sparse(*layers: planar.SparseLayer) -> planar.StructuralPlane:
    return planar.StructuralPlane(sparse=planar.SparseStructure(layers=layers))


def dense(*layers: int) -> planar.StructuralPlane:
    """Inner-most layer first."""
    return planar.StructuralPlane(dense=planar.DenseStructure(layers=layers))


def planar_page(structure: planar.StructuralPlane, **values: Any) -> planar.PlanarLayout:
    return planar.PlanarLayout(structure=structure, values=planar.ValuePlane(**values))


def hand_file(type_: pa.DataType, description: Message, buffers: Sequence[bytes], length: int, num_rows: int) -> bytes:
    """Return a 2.3 file of one leaf column named ``x``.

    Parameters
    ----------
    type_
        Arrow type of the column; it must have one leaf.
    description, buffers, length
        The page: its layout message, its buffers, and what it counts.
    num_rows
        Rows of the file.
    """
    out = bytearray()
    places = []
    for buffer in buffers:
        places.append((len(out), len(buffer)))
        out += buffer + bytes(-len(buffer) % _ALIGNMENT)
    page = file_v2_pb2.ColumnMetadata.Page(
        buffer_offsets=[place for place, _ in places],
        buffer_sizes=[size for _, size in places],
        length=length,
        encoding=_encoding(description.DESCRIPTOR.full_name, description.SerializeToString()),
    )
    column = file_v2_pb2.ColumnMetadata(encoding=_encoding("lance.encodings.ColumnEncoding", b"\x0a\x00"), pages=[page])
    fields = fields_to_messages(fields_from_arrow(pa.schema([("x", type_)])))
    descriptor = file_schema_pb2.FileDescriptor(schema=file_schema_pb2.Schema(fields=fields), length=num_rows)
    starts = []
    for block in (descriptor.SerializeToString(), column.SerializeToString()):
        starts.append((len(out), len(block)))
        out += block
    tables = []
    for start in reversed(starts):
        tables.append(len(out))
        out += struct.pack("<QQ", *start)
    return bytes(out + struct.pack("<QQQIIHH4s", starts[1][0], *tables, 1, 1, 2, 3, b"LANC"))


def _encoding(message: str, value: bytes) -> file_v2_pb2.Encoding:
    wrapped = Wrapped(type_url=f"/{message}", value=value).SerializeToString()
    return file_v2_pb2.Encoding(direct=file_v2_pb2.DirectEncoding(encoding=wrapped))
