"""Find the release whose field numbers a description uses, and read the description.

    releases       chunks                         zipped entries
    0.19, 0.20     1-4 encodings                  3 values
    0.21, 0.22     5 layers, 6 depth, 7 count     3 values, 4 layers
    0.23 to 0.25   the same                       7 values, 8 layers; strings are case 15
    0.26 to 0.32   6 layers, 7 buffers, ...       the same numbers; strings are case 16

Layers are stored as bytes and counts are not, which distinguishes the rows. Descriptions that fit several rows with
different meanings are rejected. Source: docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_drafts_pb2 as drafts
from lance_arrow.proto import encodings_v20_pb2 as last
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.reading import parse
from lance_arrow.spi import FixedSizeList, FixedWidth, LeafType
from lance_arrow.spi.layouts import LayerKind, NodeKind
from lance_arrow_layouts_legacy.drafts.restated import early, flat, late, levels
from lance_arrow_layouts_legacy.drafts.wire import DELIMITED, refuse_unknown, wire_types


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfChunks:
    """Content of a description of chunks.

    Parameters
    ----------
    is_early
        Whether chunks have the header of 0.19 to 0.25.
    values, rep, def_, items
        Encodings; None if absent.
    layers
        Inner-most first, as written; None if they are not stored (0.19, 0.20).
    num_items
        Items of the dictionary; None if the number is not stored.
    num_buffers, index_depth
        Value buffers of a chunk, depth of the repetition index.
    num_values
        Values of the page; None if they equal its rows.
    """

    is_early: bool
    values: CompressiveEncoding
    rep: CompressiveEncoding | None
    def_: CompressiveEncoding | None
    items: CompressiveEncoding | None
    layers: tuple[int, ...] | None
    num_items: int | None
    num_buffers: int
    index_depth: int
    num_values: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfZipped:
    """Content of a description of zipped entries: fields as in `SaidOfChunks` and `ZippedForm`, None if not stored."""

    values: CompressiveEncoding
    bits_rep: int
    bits_def: int
    value_bits: int | None
    length_bits: int | None
    layers: tuple[int, ...] | None
    num_entries: int | None
    num_values: int | None


def said_of_chunks(layout: Message) -> SaidOfChunks:
    """Read a description of chunks.

    Raises
    ------
    UnsupportedError
        Its numbers belong to no release, or to several with different meanings.
    CorruptFileError
        It is malformed.
    """
    kinds = wire_types(layout)
    is_late, has_early_layers = kinds.get(6) == DELIMITED, kinds.get(5) == DELIMITED
    if is_late and has_early_layers:
        raise UnsupportedError("chunks of a draft page have layers with the field numbers of two releases")
    raw = layout.SerializeToString()
    if is_late:
        message = parse(last.MiniBlockLayout, raw, what="a draft of chunks")
        refuse_unknown(message, "a draft of chunks")
        has_items = message.HasField("dictionary")
        return SaidOfChunks(
            is_early=False,
            values=late(message.value_compression),
            rep=levels(message.rep_compression),
            def_=levels(message.def_compression),
            items=late(message.dictionary) if has_items else None,
            layers=tuple(message.layers),
            num_items=message.num_dictionary_items if has_items else None,
            num_buffers=message.num_buffers,
            index_depth=message.repetition_index_depth,
            num_values=message.num_items,
        )
    early_message = parse(drafts.MiniBlockLayout, raw, what="a draft of chunks")
    refuse_unknown(early_message, "a draft of chunks")
    has_items = early_message.HasField("dictionary")
    return SaidOfChunks(
        is_early=True,
        values=early(early_message.value_compression),
        rep=levels(early_message.rep_compression),
        def_=levels(early_message.def_compression),
        items=early(early_message.dictionary) if has_items else None,
        layers=tuple(early_message.layers) if has_early_layers else None,
        num_items=None,
        num_buffers=1,
        index_depth=early_message.repetition_index_depth,
        num_values=early_message.num_items if has_early_layers else None,
    )


def said_of_zipped(layout: Message, leaf: LeafType) -> SaidOfZipped:
    """Read a description of zipped entries; errors as for `said_of_chunks`."""
    kinds = wire_types(layout)
    raw = layout.SerializeToString()
    if kinds.get(3) == DELIMITED:
        return _first_zipped(parse(drafts.FirstFullZipLayout, raw, what="a draft of zipped entries"), leaf)
    if kinds.get(7) != DELIMITED or kinds.get(8) != DELIMITED:
        raise UnsupportedError("zipped entries of a draft page have field numbers of no release")
    message = parse(last.FullZipLayout, raw, what="a draft of zipped entries")
    earlier = parse(drafts.FullZipLayout, raw, what="a draft of zipped entries")
    details = message.WhichOneof("details")
    length_bits = message.bits_per_offset if details == "bits_per_offset" else None
    if _has_early_strings(earlier.value_compression):
        refuse_unknown(earlier, "a draft of zipped entries")
        values = early(earlier.value_compression)
    else:
        # Flat values have the same meaning in both; the number of layers shows how lists were zipped.
        refuse_unknown(message, "a draft of zipped entries")
        values = late(message.value_compression, length_bits)
    return SaidOfZipped(
        values=values,
        bits_rep=message.bits_rep,
        bits_def=message.bits_def,
        value_bits=message.bits_per_value if details == "bits_per_value" else None,
        length_bits=length_bits,
        layers=tuple(message.layers),
        num_entries=message.num_items,
        num_values=message.num_visible_items,
    )


def _first_zipped(message: Any, leaf: LeafType) -> SaidOfZipped:
    """Read zipped entries of 0.19 to 0.22, which have one width and no counts."""
    refuse_unknown(message, "a draft of zipped entries")
    encoding = message.value_compression
    if encoding.WhichOneof("array_encoding") == "fixed_size_list":
        values, bits = _whole_lists(encoding.fixed_size_list, leaf)
    elif encoding.WhichOneof("array_encoding") == "flat":
        values, bits = flat(encoding.flat), encoding.flat.bits_per_value
    else:
        raise UnsupportedError("zipped entries of 0.19 to 0.22 without a single width: no release wrote them")
    return SaidOfZipped(
        values=values,
        bits_rep=message.bits_rep,
        bits_def=message.bits_def,
        value_bits=bits,
        length_bits=None,
        layers=tuple(message.layers) or None,
        num_entries=None,
        num_values=None,
    )


def _whole_lists(lists: Any, leaf: LeafType) -> tuple[CompressiveEncoding, int]:
    """Convert lists whose items were described as one value with the width of a list (0.19 to 0.21)."""
    shape = leaf.shape
    whole = flat(lists.items.flat)
    bits = whole.flat.bits_per_value
    if not isinstance(shape, FixedSizeList) or isinstance(shape.items, FixedSizeList):
        raise UnsupportedError("zipped lists of 0.19 to 0.21 hold numbers, but the schema has another type")
    if lists.dimension != shape.dimension or bits != shape.dimension * shape.items.bits:
        raise CorruptFileError(f"zipped lists of {lists.dimension} items in {bits} bits, the schema has {shape}")
    restated = CompressiveEncoding()
    restated.fixed_size_list.items_per_value = shape.dimension
    restated.fixed_size_list.values.flat.bits_per_value = shape.items.bits
    return restated, bits


def _has_early_strings(encoding: Any) -> bool:
    """Return whether the bytes are strings with the numbers of 0.23 to 0.25: case 15, which later had no field 1."""
    inner = encoding.fsst.binary if encoding.HasField("fsst") else encoding
    return bool(inner.HasField("variable") and inner.variable.bits_per_offset)


def depth_of_lists(leaf: LeafType) -> int:
    """Return the number of nested fixed-size lists in a value."""
    depth, shape = 0, leaf.shape
    while isinstance(shape, FixedSizeList):
        depth, shape = depth + 1, shape.items
    return depth


def is_counted_in_items(layers: tuple[int, ...] | None, values: CompressiveEncoding, leaf: LeafType) -> bool:
    """Return whether lists are stored item by item, with levels and a layer for the items (0.22 to 0.25)."""
    depth = depth_of_lists(leaf)
    if not depth or values.WhichOneof("compression") == "fixed_size_list":
        return False
    if layers is None or len(layers) != len(leaf.nodes) + depth:
        raise CorruptFileError(f"lists stored item by item have {layers} as layers, expected {depth} for the items")
    return True


def layers_of_items(layers: tuple[int, ...], leaf: LeafType) -> tuple[LayerKind, ...]:
    """Check the layers of lists stored item by item: no release wrote them inside lists."""
    try:
        kinds = tuple(LayerKind(layer) for layer in layers)
    except ValueError:
        raise CorruptFileError(f"a draft page has unknown layers {layers}") from None
    if any(kind.is_list for kind in kinds) or any(node is not NodeKind.ITEM for node in leaf.nodes):
        raise UnsupportedError("lists of fixed-size lists in a draft page of 0.22 to 0.25: no release wrote them")
    return kinds


def untold_layers(has_def: bool, leaf: LeafType) -> tuple[LayerKind, ...]:
    """Return the layers of 0.19 and 0.20: every node has a level if one of them has nulls, and there are no lists."""
    if any(node is not NodeKind.ITEM for node in leaf.nodes):
        raise UnsupportedError("lists in a draft page without layers, as in 0.19 and 0.20, which had no lists")
    return (LayerKind.NULLABLE_ITEM if has_def else LayerKind.ALL_VALID_ITEM,) * len(leaf.nodes)


def item_shape(leaf: LeafType) -> FixedWidth:
    """Return the shape of the innermost items of a leaf of lists."""
    assert isinstance(leaf.shape, FixedSizeList)
    return leaf.shape.leaf
