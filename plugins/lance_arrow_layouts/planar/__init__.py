"""Pages of 2.3: a plane of structure (lists and nulls) and a plane of values, with separate descriptions.

    structure   values                buffers
    dense       chunked, zipped       as in mini-block and full-zip pages
    dense       constant, none        none
    sparse      chunked               chunk table, chunks, [dictionary], structure
    sparse      zipped                values, [index], structure
    sparse      indexed               [indices], items, [index of items], structure
    sparse      constant, none        structure

Dense structure is levels among the values (`dense`); it does not support values by index. Sparse structure is positions
of nulls and of lists that are not empty (`structure`), and values are located by slot (`sparse`). Source:
lance.encodings23.PlanarLayout; spec 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v23_pb2 import PlanarLayout
from lance_arrow.spi import BindScope, EncodeScope, EncodingKey, LeafType, hookimpl
from lance_arrow.spi.encoders import EncodedPage, PageContent
from lance_arrow.spi.layouts import BoundLayout
from lance_arrow_layouts.planar.dense import bind_dense
from lance_arrow_layouts.planar.sparse import bind_sparse
from lance_arrow_layouts.planar.writing import can_write, write_page


@dataclass(frozen=True, slots=True)
class Planar:
    """Reads and writes `PlanarLayout`."""

    key = EncodingKey("lance.encodings23.PlanarLayout")
    message_type = PlanarLayout
    counts = (
        ("num_values", ("values", "chunked", "num_items")),
        ("num_items", ("values", "chunked", "num_dictionary_items")),
        ("num_entries", ("values", "zipped", "num_items")),
        ("num_values", ("values", "zipped", "num_visible_items")),
    )

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Read both planes; each must have one case set."""
        structure, values = message.structure.WhichOneof("plane"), message.values.WhichOneof("plane")
        if structure is None or values is None:
            raise CorruptFileError(f"a page has structure {structure} and values {values}, expected both")
        if structure == "sparse":
            return bind_sparse(message.structure.sparse, message.values, scope)
        return bind_dense(message.structure.dense, message.values, scope)

    def score(self, page: PageContent, scope: EncodeScope) -> float | None:
        """Return a score for every page of 2.3 whose values some codec can hold, and None for others."""
        if scope.file_version < "2.3" or page.is_blob or not can_write(page, scope):
            return None
        return 0.0 if page.values is None else float(scope.summary(page.values).raw_bytes)

    def native_pages(self, leaf: LeafType, scope: EncodeScope) -> object | None:
        """Return an encoder that fits no page of earlier versions; others are written in Python."""
        return native_codecs.no_pages_encoder() if scope.file_version < "2.3" else None

    def encode(self, page: PageContent, scope: EncodeScope) -> EncodedPage:
        """Choose the combination of planes and write it."""
        return write_page(page, scope)


@hookimpl
def lance_provide_layouts() -> list[Planar]:
    return [Planar()]
