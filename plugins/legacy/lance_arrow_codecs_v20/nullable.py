"""Nullable: values with a validity bitmap, without one, or only nulls.

Source: ArrayEncoding.Nullable; spec 2.0, 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError
from lance_arrow.pages import StructuredPage
from lance_arrow.pages.arrays import ArrayIndices, LoadedNulls, fetched_parts, joined_plan, native_values, require_width
from lance_arrow.pages.native_pages import native_constant
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.encodings_v20_pb2 import Nullable as NullableMessage
from lance_arrow.spi import (
    NO_BYTES,
    BindScope,
    BlockShape,
    BlockSlice,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    LeafType,
    Limits,
    hookimpl,
)
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray
from lance_arrow.spi.layouts import (
    BufferRole,
    FetchedSlices,
    LayerKind,
    LoadedPage,
    NodeKind,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from lance_arrow.spi.slots import ItemValidity


@dataclass(frozen=True, slots=True)
class Nullable:
    """Binds and writes ``nullable``; values without nulls are bound directly."""

    key = EncodingKey(ARRAY, "nullable")

    def bind(self, message: Any, scope: BindScope) -> BoundArray:
        """Bind one of the three forms."""
        form = message.WhichOneof("nullability")
        if form == "no_nulls":
            return scope.array(message.no_nulls.values)
        if scope.leaf.nodes == (NodeKind.LIST,):
            raise CorruptFileError("a list has an outer validity, but its ends already mark nulls")
        if form == "all_nulls":
            return BoundNulls(scope.leaf.shape, scope.limits)
        if form != "some_nulls":
            raise CorruptFileError("a nullable array does not declare whether it has nulls")
        validity = scope.for_shape(FixedWidth(1)).array(message.some_nulls.validity)
        require_width(validity, 1, "bits of validity")
        return BoundNullable(validity, scope.array(message.some_nulls.values))

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for values without their own nulls: not strings, dictionaries, lists or packed structs."""
        if content.knows_nulls or content.items is not None or content.ends is not None:
            return None
        if content.values is None:
            return None if content.nulls is None else 0.0
        is_plain = isinstance(content.values.shape, (FixedWidth, FixedSizeList))
        return float(len(content.values.values)) if is_plain else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Write the nulls, and encode the values with another encoding."""
        if content.nulls is not None and content.nulls.all():
            nullable = NullableMessage(all_nulls=NullableMessage.AllNull())
            return EncodedArray(ArrayEncoding(nullable=nullable))
        inner = replace(content, nulls=None, knows_nulls=True)
        if content.nulls is None:
            values = scope.encode_array(inner, first_buffer)
            nullable = NullableMessage(no_nulls=NullableMessage.NoNull(values=values.description))  # type: ignore[arg-type]
            return EncodedArray(ArrayEncoding(nullable=nullable), values.buffers)
        bits = BlockSlice(FixedWidth(1), content.num_values, np.packbits(~content.nulls, bitorder="little"))
        of_bits = ArrayContent(LeafType(FixedWidth(1)), content.num_values, bits, knows_nulls=True)
        validity = scope.encode_array(of_bits, first_buffer)
        values = scope.encode_array(inner, first_buffer + len(validity.buffers))
        some = NullableMessage.SomeNull(validity=validity.description, values=values.description)  # type: ignore[arg-type]
        return EncodedArray(ArrayEncoding(nullable=NullableMessage(some_nulls=some)), validity.buffers + values.buffers)


@dataclass(frozen=True, slots=True)
class BoundNulls:
    """Only nulls, of any shape in the schema."""

    shape: BlockShape | None
    limits: Limits
    has_nulls = True
    is_all_null = True
    buffers: tuple[tuple[int, BufferRole], ...] = ()
    index_buffers: tuple[int, ...] = ()

    def native_page(self, page: PageFacts) -> Any | None:
        """Return a native page without values."""
        facts = PageFacts(page.num_rows, ())
        return native_constant(facts, (LayerKind.NULLABLE_ITEM,), self.shape, None, (None, None), (0, 0), 0)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> None:
        """Do nothing: there is no index."""

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows.num_rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        num_bytes = (plan.notes + 7) // 8
        self.limits.check("max_batch_bytes", num_bytes)
        return LoadedNulls(ItemValidity(plan.notes, np.zeros(num_bytes, np.uint8)), self.shape, plan.notes)


@dataclass(frozen=True, slots=True)
class BoundNullable:
    """Values for all slots, and a validity bit for each."""

    validity: BoundArray
    values: BoundArray
    has_nulls = True

    @property
    def shape(self) -> BlockShape | None:
        return self.values.shape

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        own = tuple((buffer, BufferRole.DEFINITION) for buffer, _ in self.validity.buffers)
        return own + self.values.buffers

    @property
    def values_and_validity(self) -> tuple[BoundArray, BoundArray]:
        """Values, and a bit for each that tells whether it is valid; lists of such items ask for both."""
        return self.values, self.validity

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.validity.index_buffers + self.values.index_buffers

    def native_page(self, page: PageFacts) -> Any | None:
        """Return a native page if validity and values are plain."""
        return None if self.values.has_nulls else native_values(page, self.values, self.validity)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> ArrayIndices | None:
        parts = self.validity.load_index(page, buffers), self.values.load_index(page, buffers)
        return None if parts == (None, None) else ArrayIndices(parts)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        of_validity, of_values = (None, None) if index is None else index.parts
        return joined_plan([self.validity.plan(page, of_validity, rows), self.values.plan(page, of_values, rows)])

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        of_validity, of_values = (None, None) if index is None else index.parts
        validity_part, values_part = fetched_parts(plan, fetched)
        loaded = self.validity.load(page, of_validity, *validity_part)
        bits = np.zeros((loaded.num_values + 7) // 8, np.uint8) if loaded.num_values else NO_BYTES
        loaded.decode(BlockSlice(FixedWidth(1), loaded.num_values, bits))
        values = self.values.load(page, of_values, *values_part)
        assert isinstance(values.levels, ItemValidity)
        return StructuredPage(values.levels.under(ItemValidity(loaded.num_values, bits)), values)


@hookimpl
def lance_provide_arrays() -> list[Nullable]:
    return [Nullable()]
