"""Struct: the column of a struct, which stores no data; its fields have their own columns.

Source: ArrayEncoding.SimpleStruct; spec 2.0, 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.pages import NativePage
from lance_arrow.pages.arrays import LoadedNulls
from lance_arrow.pages.native_pages import native_constant
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, SimpleStruct
from lance_arrow.spi import BindScope, Bytes, EncodeScope, EncodingKey, hookimpl
from lance_arrow.spi.arrays import ARRAY, ArrayContent, EncodedArray
from lance_arrow.spi.layouts import (
    BufferRole,
    FetchedSlices,
    LayerKind,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)


@dataclass(frozen=True, slots=True)
class Struct:
    """Binds and writes ``struct``."""

    key = EncodingKey(ARRAY, "struct")

    def bind(self, message: Any, scope: BindScope) -> BoundStruct:
        """Check that the column has no values."""
        if scope.leaf.shape is not None:
            raise CorruptFileError(f"a page is the header of a struct, but the schema has values of {scope.leaf.shape}")
        return BoundStruct()

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for columns without values and nulls, and None for others."""
        return 0.0 if content.values is None and content.nulls is None and content.ends is None else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Return the description, without buffers."""
        return EncodedArray(ArrayEncoding(struct=SimpleStruct()))


@dataclass(frozen=True, slots=True)
class BoundStruct:
    """Valid slots without values: the format cannot store nulls of structs."""

    shape = None
    has_nulls = False
    buffers: tuple[tuple[int, BufferRole], ...] = ()
    index_buffers: tuple[int, ...] = ()

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> None:
        """Do nothing: there is no index."""

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows.num_rows)

    def native_page(self, page: PageFacts) -> NativePage | None:
        facts = PageFacts(page.num_rows, ())
        return native_constant(facts, (LayerKind.ALL_VALID_ITEM,), None, None, (None, None), (0, 0), 0)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedNulls.valid(plan.notes)


@hookimpl
def lance_provide_arrays() -> list[Struct]:
    return [Struct()]
