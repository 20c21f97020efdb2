"""Packed structs in zipped rows: each field has its own codec; fields of variable width follow their length.

Source: CompressiveEncoding.VariablePackedStruct; spec 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, PluginContractError, UnsupportedError
from lance_arrow.pages.packed_rows import packed_widths
from lance_arrow.pages.value_rows import has_rows_of_any_length
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, VariablePackedStruct
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundPerValueCodec,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    NumBytes,
    PackedStruct,
    ValueBatch,
    VariableWidth,
    hookimpl,
)
from lance_arrow.spi.block_runs import clear_block
from lance_arrow.spi.native import native_side
from lance_arrow_codecs import native

_LENGTH_BITS = 32
"""Width of the length before a whole row, as the reference writes it."""


@dataclass(frozen=True, slots=True)
class VariablePackedStructs:
    """Binds ``variable_packed_struct`` with a per-value codec for each field; writes the best codec for each."""

    key = EncodingKey(COMPRESSIVE, "variable_packed_struct")
    contexts = frozenset({DecodeContext.PER_VALUE})
    since = MappingProxyType({DecodeContext.PER_VALUE: "2.2"})
    writes = since
    kinds = (PackedStruct,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundVariablePackedStruct:
        """Bind the fields and check them against the schema."""
        expected = scope.leaf.shape
        if not isinstance(expected, PackedStruct) or not 0 < len(message.fields) == len(expected.fields):
            raise CorruptFileError(
                f"a packed struct of {len(message.fields)} fields contradicts the schema", detail=expected
            )
        codecs, widths = [], []
        for number, field in enumerate(message.fields):
            codec = scope.for_field(number).value_codec(field.value)
            if _plain(codec.shape) != _plain(expected.fields[number]):
                raise CorruptFileError(f"a packed field decodes to {codec.shape}, expected {expected.fields[number]}")
            codecs.append(codec)
            widths.append(_width(field, codec))
        return BoundVariablePackedStruct(
            PackedStruct(tuple(codec.shape for codec in codecs)), tuple(codecs), tuple(widths)
        )

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the sum of the fields; None if no codec can hold one of them."""
        if not isinstance(block.shape, PackedStruct) or not block.fields:
            return None
        estimates = [scope.estimate_child(field, DecodeContext.PER_VALUE) for field in block.fields]
        known = [estimate for estimate in estimates if estimate is not None]
        return sum(known) if len(known) == len(estimates) else None

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedValues:
        """Encode each field value by value, and join the values of each row, with lengths before them."""
        if not isinstance(block.shape, PackedStruct) or not block.fields:
            raise UnsupportedError(f"expected packed structs, not {block.shape}")
        encoded = [_encode_field(field, scope) for field in block.fields]
        message = VariablePackedStruct(fields=[_describe(field) for field in encoded])
        widths = np.array([field.value_bits or -field.length_bits for field in encoded], np.int64) // 8
        row_offsets = np.empty(block.num_values + 1, np.int64)
        lengths_bytes = block.num_values * int(-widths[widths < 0].sum())
        out = np.empty(sum(field.nbytes for field in encoded) + lengths_bytes, np.uint8)
        kernels.join_fields(
            [field.data for field in encoded], widths, [one.offsets for one in encoded], row_offsets, out
        )
        description = CompressiveEncoding(variable_packed_struct=message)
        return spi.EncodedValues(description, out, offsets=row_offsets, length_bits=_LENGTH_BITS)


def _encode_field(field: BlockSlice, scope: EncodeScope) -> spi.EncodedValues:
    encoded = scope.encode_child(field, DecodeContext.PER_VALUE)
    if not isinstance(encoded, spi.EncodedValues):
        raise PluginContractError(f"a codec encoder returned {type(encoded).__name__}, expected values")
    return encoded


def _describe(field: spi.EncodedValues) -> VariablePackedStruct.FieldEncoding:
    child: Any = field.description
    if field.value_bits is None:
        return VariablePackedStruct.FieldEncoding(value=child, bits_per_length=field.length_bits)
    return VariablePackedStruct.FieldEncoding(value=child, bits_per_value=field.value_bits)


def _plain(shape: BlockShape) -> BlockShape:
    return shape.without_validity() if isinstance(shape, FixedSizeList) else shape


def _width(field: Any, codec: BoundPerValueCodec) -> int:
    """Return the bytes of a field, or minus the bytes of its length (as the kernel expects)."""
    case = field.WhichOneof("layout")
    if case == "bits_per_value":
        if codec.value_bits != field.bits_per_value or not field.bits_per_value:
            raise CorruptFileError(
                f"a packed field of {field.bits_per_value} bits, but its codec has {codec.value_bits}"
            )
        return int(field.bits_per_value) // 8
    if case is None or field.bits_per_length not in (32, 64) or codec.value_bits is not None:
        raise CorruptFileError(
            f"a packed field with lengths of {field.bits_per_length} bits, but its codec has {codec.value_bits}"
        )
    return -int(field.bits_per_length) // 8


def _is_one_part(shape: BlockShape) -> bool:
    return isinstance(shape, VariableWidth) or (isinstance(shape, FixedWidth) and shape.bits % 8 == 0)


@dataclass(frozen=True, slots=True)
class BoundVariablePackedStruct:
    """Locates the fields of each zipped row, which their codecs decode; an empty row is null."""

    shape: PackedStruct
    fields: tuple[BoundPerValueCodec, ...]
    field_bytes: tuple[int, ...]
    value_bits: None = None

    def native(self) -> object | None:
        """Return a codec of rows as the engine has them, where these have any length; None for fields with parts."""
        if not has_rows_of_any_length(self.shape) or not all(map(_is_one_part, self.shape.fields)):
            return None
        sides = tuple([native_side(codec) for codec in self.fields])
        if any(side is None for side in sides):
            return None
        return native.packed_rows_codec(sides, self.field_bytes, tuple(packed_widths(self.shape).tolist()))

    def measure(self, values: ValueBatch) -> NumBytes:
        return tuple(
            codec.measure(batch) if width < 0 else 0
            for codec, width, batch in zip(self.fields, self.field_bytes, self._located(values)[1], strict=True)
        )

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        num_valid, batches = self._located(values)
        if num_valid == 0:
            clear_block(out)
            return
        for codec, batch, field in zip(self.fields, batches, out.fields, strict=True):
            codec.decode(batch, field)

    def _located(self, values: ValueBatch) -> tuple[int, tuple[ValueBatch, ...]]:
        return values.derive(self, lambda: self._locate(values))

    def _locate(self, values: ValueBatch) -> tuple[int, tuple[ValueBatch, ...]]:
        starts = np.empty((len(self.fields), values.num_values), np.int64)
        sizes = np.empty_like(starts)
        widths = np.array(self.field_bytes, np.int64)
        num_valid = kernels.locate_fields(values.data, values.starts, values.sizes, widths, starts, sizes)
        places = zip(starts, sizes, strict=True)
        return num_valid, tuple(ValueBatch(values.data, *place) for place in places)


@hookimpl
def lance_provide_codecs() -> list[VariablePackedStructs]:
    return [VariablePackedStructs()]
