"""A layout of a third party: fixed-width values as they lie in memory, and one bit per row for nulls.

    buffer 0   values, back to back, null slots included
    buffer 1   one bit per row, set where the row is null; absent where no row is

It is written where a column asks for it, by ``column_options={"a": {"layout": "example.Aligned"}}`` and
``allow_private_encodings=True``. Any row is found by counting, so a read fetches the bytes of its rows and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi import BindScope, BlockSlice, EncodeScope, EncodingKey, FixedWidth, hookimpl
from lance_arrow.spi.encoders import EncodedPage, PageContent
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LayerKind,
    Levels,
    NodeKind,
    PageFacts,
    PageReadPlan,
    RowRanges,
)

NAME = "example.Aligned"


def _message_class() -> Any:
    """The class of the description, as protoc would make it of a file with two fields."""
    file = descriptor_pb2.FileDescriptorProto(name="example_aligned.proto", package="example", syntax="proto3")
    message = file.message_type.add(name="Aligned")
    kinds = descriptor_pb2.FieldDescriptorProto
    message.field.add(name="bits", number=1, type=kinds.TYPE_UINT32, label=kinds.LABEL_OPTIONAL)
    message.field.add(name="has_nulls", number=2, type=kinds.TYPE_BOOL, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(NAME))


Aligned = _message_class()


class AlignedLayout:
    """The factory: binds descriptions, scores and lays out pages."""

    key = EncodingKey(NAME)
    message_type = Aligned

    def bind(self, message: Any, scope: BindScope) -> BoundAligned:
        shape = FixedWidth(message.bits)
        if scope.leaf.nodes != (NodeKind.ITEM,) or scope.leaf.shape != shape or not _is_held(shape):
            raise CorruptFileError(f"aligned values of {message.bits} bits in a column of {scope.leaf.shape}")
        return BoundAligned(shape, message.has_nulls)

    def score(self, page: PageContent, scope: EncodeScope) -> float | None:
        is_plain = page.leaf.nodes == (NodeKind.ITEM,) and page.items is None and not page.is_blob
        if not is_plain or page.values is None or not _is_held(page.values.shape):
            return None
        return float(len(page.values.values) + (page.num_rows // 8 if page.num_nulls else 0))

    def encode(self, page: PageContent, scope: EncodeScope) -> EncodedPage:
        if self.score(page, scope) is None or page.values is None:
            raise UnsupportedError("aligned pages hold plain values of whole bytes")
        def_ = page.levels.def_
        description = Aligned(bits=page.values.shape.bits, has_nulls=def_ is not None)
        nulls = () if def_ is None else (np.packbits(def_ != 0, bitorder="little"),)
        return EncodedPage(description, (page.values.values, *nulls))


def _is_held(shape: Any) -> bool:
    return isinstance(shape, FixedWidth) and shape.bits > 1


@dataclass(frozen=True)
class BoundAligned:
    """One description; reads its pages."""

    shape: FixedWidth
    has_nulls: bool

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        sizes = page.num_rows * self.shape.bytes_per_value, (page.num_rows + 7) // 8
        expected = sizes if self.has_nulls else sizes[:1]
        if page.buffer_sizes != expected:
            raise CorruptFileError(f"an aligned page has buffers of {page.buffer_sizes} bytes, expected {expected}")
        return (BufferRole.DATA, BufferRole.DEFINITION)[: len(expected)]

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return ()

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> None:
        return None

    def plan(self, page: PageFacts, index: None, rows: RowRanges) -> PageReadPlan:
        self.roles(page)
        width = self.shape.bytes_per_value
        values = BufferSlices(0, rows.starts * width, rows.stops * width)
        slices = (values, BufferSlices.whole(page, 1)) if self.has_nulls else (values,)
        return PageReadPlan(slices, notes=rows)

    def load(
        self, page: PageFacts, index: None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedAligned:
        rows: RowRanges = plan.notes
        if not self.has_nulls:
            return LoadedAligned(self.shape, Levels((LayerKind.ALL_VALID_ITEM,), rows.num_rows), fetched[0])
        nulls = np.unpackbits(fetched[1].one(), count=page.num_rows, bitorder="little").astype(np.uint16)
        ranges = zip(rows.starts.tolist(), rows.stops.tolist(), strict=True)
        def_ = np.concatenate([nulls[start:stop] for start, stop in ranges])
        return LoadedAligned(self.shape, Levels((LayerKind.NULLABLE_ITEM,), rows.num_rows, None, def_), fetched[0])


@dataclass(frozen=True)
class LoadedAligned:
    """Selected rows."""

    shape: FixedWidth
    levels: Levels
    values: FetchedSlices
    dictionary: None = None
    num_bytes: int = 0

    @property
    def num_values(self) -> int:
        return self.levels.num_entries

    def decode(self, out: BlockSlice) -> None:
        width = self.shape.bytes_per_value
        places = np.append(0, np.cumsum(self.values.sizes // width))
        kernels.copy_fixed(self.values.data, self.values.starts, self.values.sizes, places, width, out.values)


@hookimpl
def lance_provide_layouts() -> list[AlignedLayout]:
    return [AlignedLayout()]
