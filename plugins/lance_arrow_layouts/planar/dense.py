"""Dense structure: levels among the values, as in 2.2; and pages of one scalar or none, which have no levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.pages import ChunkedForm, ZippedForm, bind_chunked, bind_zipped, fits
from lance_arrow.pages.native_pages import native_constant
from lance_arrow.spi import BindScope, BlockShape, FixedWidth
from lance_arrow.spi.layouts import BoundLayout, BufferRole, LayerKind, PageFacts


def bind_dense(structure: Any, values: Any, scope: BindScope) -> BoundLayout:
    """Bind the combinations with a dense structure."""
    layers = scope.layers(structure.layers)
    case = values.WhichOneof("plane")
    if case == "chunked":
        return bind_chunked(chunked_form(values.chunked, layers, values.chunked.num_items), scope)
    if case == "zipped":
        zipped = values.zipped
        return bind_zipped(zipped_form(zipped, layers, zipped.num_items, zipped.num_visible_items), scope)
    if case == "constant":
        if any(layer is not LayerKind.ALL_VALID_ITEM for layer in layers):
            raise CorruptFileError("a page of one scalar has nulls or lists, but no levels")
        return DenseRepeated(layers, *checked_scalar(values.constant, scope))
    if case == "none":
        if layers != (LayerKind.NULLABLE_ITEM,):
            # Its writer sometimes creates such pages with levels, but does not store how these are encoded.
            raise UnsupportedError("a dense page without values does not store the encoding of its levels")
        return DenseRepeated(layers, scope.leaf.shape, None)
    raise CorruptFileError("values by index need a sparse structure, this page has a dense one")


def chunked_form(message: Any, layers: tuple[LayerKind, ...], num_values: int | None) -> ChunkedForm:
    """Read the form from ``ChunkedValues``; chunks of 2.3 are always large ones."""
    levels = message.levels
    return ChunkedForm(
        layers=layers,
        values=message.value_compression,
        rep=levels.rep_compression if levels.HasField("rep_compression") else None,
        def_=levels.def_compression if levels.HasField("def_compression") else None,
        items=message.dictionary if message.HasField("dictionary") else None,
        num_items=message.num_dictionary_items,
        num_buffers=message.num_buffers,
        index_depth=levels.repetition_index_depth,
        num_values=num_values,
        large=True,
    )


def zipped_form(
    message: Any, layers: tuple[LayerKind, ...], num_entries: int | None, num_values: int | None
) -> ZippedForm:
    """Read the form from ``ZippedValues``."""
    details = message.WhichOneof("details")
    return ZippedForm(
        layers=layers,
        values=message.value_compression,
        bits_rep=message.levels.bits_rep,
        bits_def=message.levels.bits_def,
        value_bits=message.bits_per_value if details == "bits_per_value" else None,
        length_bits=message.bits_per_offset if details == "bits_per_offset" else None,
        num_entries=num_entries,
        num_values=num_values,
    )


def checked_scalar(message: Any, scope: BindScope) -> tuple[FixedWidth, bytes]:
    """Return the scalar of ``ConstantValues``, and its shape.

    Raises
    ------
    CorruptFileError
        There is no scalar, or its type differs from the leaf's.
    """
    shape = scope.leaf.shape
    scalar = bytes(message.scalar)
    if not isinstance(shape, FixedWidth) or not fits(scalar, shape):
        raise CorruptFileError(f"a scalar of {len(scalar)} bytes for values of {shape}")
    return shape, scalar


@dataclass(frozen=True, slots=True)
class DenseRepeated:
    """Every row is valid and has the scalar; without a scalar every row is null, or a struct without fields."""

    layers: tuple[LayerKind, ...]
    shape: BlockShape | None
    scalar: bytes | None

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        if page.buffer_sizes:
            raise CorruptFileError(f"a page of one scalar or none has {len(page.buffer_sizes)} buffers, expected none")
        return ()

    def native_page(self, page: PageFacts) -> object | None:
        """Return a native page, which reads nothing."""
        if page.buffer_sizes:
            return None
        return native_constant(page, self.layers, self.shape, self.scalar, (None, None), (0, 0), 0)
