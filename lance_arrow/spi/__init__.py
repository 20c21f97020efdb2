"""The interface of plugins: of this project, they import only `spi`, `pages`, `kernels`, `proto` and `errors`.

Input: descriptions (protobuf messages) and encoded bytes. Output: blocks of values and levels in memory of the caller.
`__all__` below is the compatibility promise. Open `codecs.py` first (one codec), then `layouts.py` (one page). Next are
`scopes.py` (services for `bind`), `blocks.py` and `chunks.py` (data structures). `hookspecs.py` defines the hooks of
plugins; `loading.py` and `table.py` find plugins and look keys up. This package must not import pyarrow, fsspec, or any
higher package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.settings import Limits as Limits
    from lance_arrow.spi.arrays import ArrayContent as ArrayContent
    from lance_arrow.spi.arrays import BoundArray as BoundArray
    from lance_arrow.spi.arrays import EncodedArray as EncodedArray
    from lance_arrow.spi.arrays import HoldsItems as HoldsItems
    from lance_arrow.spi.arrays import PlainValues as PlainValues
    from lance_arrow.spi.bases.compression import CompressionCodec as CompressionCodec
    from lance_arrow.spi.bases.elementwise import ElementwiseCodec as ElementwiseCodec
    from lance_arrow.spi.bases.fixed_width import FixedWidthCodec as FixedWidthCodec
    from lance_arrow.spi.bases.variable_width import VariableWidthCodec as VariableWidthCodec
    from lance_arrow.spi.block_runs import clear_block as clear_block
    from lance_arrow.spi.block_runs import copy_runs as copy_runs
    from lance_arrow.spi.block_runs import measure_runs as measure_runs
    from lance_arrow.spi.block_runs import split_rows as split_rows
    from lance_arrow.spi.block_summary import BlockSummary as BlockSummary
    from lance_arrow.spi.block_summary import GroupSummary as GroupSummary
    from lance_arrow.spi.blocks import NO_BYTES as NO_BYTES
    from lance_arrow.spi.blocks import Bitmap as Bitmap
    from lance_arrow.spi.blocks import BlockShape as BlockShape
    from lance_arrow.spi.blocks import BlockSlice as BlockSlice
    from lance_arrow.spi.blocks import Bytes as Bytes
    from lance_arrow.spi.blocks import FixedSizeList as FixedSizeList
    from lance_arrow.spi.blocks import FixedWidth as FixedWidth
    from lance_arrow.spi.blocks import LayerKind as LayerKind
    from lance_arrow.spi.blocks import Levels as Levels
    from lance_arrow.spi.blocks import NumBytes as NumBytes
    from lance_arrow.spi.blocks import PackedStruct as PackedStruct
    from lance_arrow.spi.blocks import VariableWidth as VariableWidth
    from lance_arrow.spi.blocks import max_visible_def as max_visible_def
    from lance_arrow.spi.chunk_cuts import cut_evenly as cut_evenly
    from lance_arrow.spi.chunk_cuts import even_starts as even_starts
    from lance_arrow.spi.chunk_cuts import largest_power_of_two as largest_power_of_two
    from lance_arrow.spi.chunk_cuts import starts_of as starts_of
    from lance_arrow.spi.chunks import ChunkBatch as ChunkBatch
    from lance_arrow.spi.chunks import ValueBatch as ValueBatch
    from lance_arrow.spi.codecs import BoundBufferScheme as BoundBufferScheme
    from lance_arrow.spi.codecs import BoundChunkCodec as BoundChunkCodec
    from lance_arrow.spi.codecs import BoundCodec as BoundCodec
    from lance_arrow.spi.codecs import BoundPerValueCodec as BoundPerValueCodec
    from lance_arrow.spi.codecs import ValueLocator as ValueLocator
    from lance_arrow.spi.commits import CommitAttempt as CommitAttempt
    from lance_arrow.spi.commits import CommitStrategy as CommitStrategy
    from lance_arrow.spi.commits import LockedCommit as LockedCommit
    from lance_arrow.spi.commits import TablePlace as TablePlace
    from lance_arrow.spi.compressed import bind_compressed as bind_compressed
    from lance_arrow.spi.compressed import compressed as compressed
    from lance_arrow.spi.compressed import with_room as with_room
    from lance_arrow.spi.encode_options import EncodeOptions as EncodeOptions
    from lance_arrow.spi.encoders import ArrayEncoder as ArrayEncoder
    from lance_arrow.spi.encoders import BlocksEncoder as BlocksEncoder
    from lance_arrow.spi.encoders import CodecEncoder as CodecEncoder
    from lance_arrow.spi.encoders import ColumnEncoder as ColumnEncoder
    from lance_arrow.spi.encoders import LayoutEncoder as LayoutEncoder
    from lance_arrow.spi.encoding import ChunkRules as ChunkRules
    from lance_arrow.spi.encoding import Encoded as Encoded
    from lance_arrow.spi.encoding import EncodedBlock as EncodedBlock
    from lance_arrow.spi.encoding import EncodedChunks as EncodedChunks
    from lance_arrow.spi.encoding import EncodedPage as EncodedPage
    from lance_arrow.spi.encoding import EncodedValues as EncodedValues
    from lance_arrow.spi.encoding import PageContent as PageContent
    from lance_arrow.spi.encoding import PendingPage as PendingPage
    from lance_arrow.spi.encoding import SchemeEncoder as SchemeEncoder
    from lance_arrow.spi.factories import ArrayFactory as ArrayFactory
    from lance_arrow.spi.factories import BufferScheme as BufferScheme
    from lance_arrow.spi.factories import CodecFactory as CodecFactory
    from lance_arrow.spi.factories import ColumnEncodingFactory as ColumnEncodingFactory
    from lance_arrow.spi.factories import LayoutFactory as LayoutFactory
    from lance_arrow.spi.frames import Frames as Frames
    from lance_arrow.spi.hookspecs import hookimpl as hookimpl
    from lance_arrow.spi.hookspecs import hookspec as hookspec
    from lance_arrow.spi.keys import ARRAY as ARRAY
    from lance_arrow.spi.keys import COMPRESSIVE as COMPRESSIVE
    from lance_arrow.spi.keys import LEGACY as LEGACY
    from lance_arrow.spi.keys import PAGE_MESSAGES as PAGE_MESSAGES
    from lance_arrow.spi.keys import PRIVATE_CODEC as PRIVATE_CODEC
    from lance_arrow.spi.keys import BufferRole as BufferRole
    from lance_arrow.spi.keys import DecodeContext as DecodeContext
    from lance_arrow.spi.keys import EncodingKey as EncodingKey
    from lance_arrow.spi.layouts import BoundColumnEncoding as BoundColumnEncoding
    from lance_arrow.spi.layouts import BoundLayout as BoundLayout
    from lance_arrow.spi.layouts import BufferSlices as BufferSlices
    from lance_arrow.spi.layouts import DictionaryItems as DictionaryItems
    from lance_arrow.spi.layouts import FetchedSlices as FetchedSlices
    from lance_arrow.spi.layouts import IndexedLayout as IndexedLayout
    from lance_arrow.spi.layouts import LoadedPage as LoadedPage
    from lance_arrow.spi.layouts import OpensManyPages as OpensManyPages
    from lance_arrow.spi.layouts import PageFacts as PageFacts
    from lance_arrow.spi.layouts import PageIndex as PageIndex
    from lance_arrow.spi.layouts import PageReadPlan as PageReadPlan
    from lance_arrow.spi.layouts import PythonLayout as PythonLayout
    from lance_arrow.spi.layouts import ZoneMapPlace as ZoneMapPlace
    from lance_arrow.spi.leaf_type import LeafType as LeafType
    from lance_arrow.spi.leaf_type import NodeKind as NodeKind
    from lance_arrow.spi.native import HasNativeEncoder as HasNativeEncoder
    from lance_arrow.spi.native import HasNativeFrames as HasNativeFrames
    from lance_arrow.spi.native import HasNativePage as HasNativePage
    from lance_arrow.spi.native import HasNativePages as HasNativePages
    from lance_arrow.spi.native import HasNativePrefixes as HasNativePrefixes
    from lance_arrow.spi.native import HasStoredValues as HasStoredValues
    from lance_arrow.spi.native import NativeSide as NativeSide
    from lance_arrow.spi.native import ReadNatively as ReadNatively
    from lance_arrow.spi.native import include_dir as include_dir
    from lance_arrow.spi.native import native_side as native_side
    from lance_arrow.spi.native import prefixes_side as prefixes_side
    from lance_arrow.spi.native import stored_side as stored_side
    from lance_arrow.spi.private import private_description as private_description
    from lance_arrow.spi.reports import ReadReport as ReadReport
    from lance_arrow.spi.rows import RowRanges as RowRanges
    from lance_arrow.spi.scopes import BindScope as BindScope
    from lance_arrow.spi.scopes import EncodeScope as EncodeScope
    from lance_arrow.spi.scratch import Scratch as Scratch
    from lance_arrow.spi.scratch import block_bytes as block_bytes
    from lance_arrow.spi.scratch import block_over as block_over
    from lance_arrow.spi.scratch import field_bytes as field_bytes
    from lance_arrow.spi.scratch import new_block as new_block
    from lance_arrow.spi.slots import ItemValidity as ItemValidity
    from lance_arrow.spi.slots import PageStructure as PageStructure
    from lance_arrow.spi.slots import SlotLayer as SlotLayer
    from lance_arrow.spi.slots import SlotStructure as SlotStructure
    from lance_arrow.spi.slots import Structure as Structure
else:
    __getattr__, __dir__, __all__ = late_names(
        __name__,
        {
            "lance_arrow.settings": ("Limits",),
            "lance_arrow.spi.arrays": (
                "ArrayContent",
                "BoundArray",
                "EncodedArray",
                "HoldsItems",
                "PlainValues",
            ),
            "lance_arrow.spi.bases.compression": ("CompressionCodec",),
            "lance_arrow.spi.bases.elementwise": ("ElementwiseCodec",),
            "lance_arrow.spi.bases.fixed_width": ("FixedWidthCodec",),
            "lance_arrow.spi.bases.variable_width": ("VariableWidthCodec",),
            "lance_arrow.spi.block_runs": ("clear_block", "copy_runs", "measure_runs", "split_rows"),
            "lance_arrow.spi.block_summary": ("BlockSummary", "GroupSummary"),
            "lance_arrow.spi.blocks": (
                "Bitmap",
                "BlockShape",
                "BlockSlice",
                "Bytes",
                "FixedSizeList",
                "FixedWidth",
                "LayerKind",
                "Levels",
                "NO_BYTES",
                "NumBytes",
                "PackedStruct",
                "VariableWidth",
                "max_visible_def",
            ),
            "lance_arrow.spi.chunk_cuts": ("cut_evenly", "even_starts", "largest_power_of_two", "starts_of"),
            "lance_arrow.spi.chunks": ("ChunkBatch", "ValueBatch"),
            "lance_arrow.spi.codecs": (
                "BoundBufferScheme",
                "BoundChunkCodec",
                "BoundCodec",
                "BoundPerValueCodec",
                "ValueLocator",
            ),
            "lance_arrow.spi.commits": ("CommitAttempt", "CommitStrategy", "LockedCommit", "TablePlace"),
            "lance_arrow.spi.compressed": ("bind_compressed", "compressed", "with_room"),
            "lance_arrow.spi.encode_options": ("EncodeOptions",),
            "lance_arrow.spi.encoders": (
                "ArrayEncoder",
                "BlocksEncoder",
                "CodecEncoder",
                "ColumnEncoder",
                "LayoutEncoder",
            ),
            "lance_arrow.spi.encoding": (
                "ChunkRules",
                "Encoded",
                "EncodedBlock",
                "EncodedChunks",
                "EncodedPage",
                "EncodedValues",
                "PageContent",
                "PendingPage",
                "SchemeEncoder",
            ),
            "lance_arrow.spi.factories": (
                "ArrayFactory",
                "BufferScheme",
                "CodecFactory",
                "ColumnEncodingFactory",
                "LayoutFactory",
            ),
            "lance_arrow.spi.frames": ("Frames",),
            "lance_arrow.spi.hookspecs": ("hookimpl", "hookspec"),
            "lance_arrow.spi.keys": (
                "ARRAY",
                "BufferRole",
                "COMPRESSIVE",
                "DecodeContext",
                "EncodingKey",
                "LEGACY",
                "PAGE_MESSAGES",
                "PRIVATE_CODEC",
            ),
            "lance_arrow.spi.layouts": (
                "BoundColumnEncoding",
                "BoundLayout",
                "BufferSlices",
                "DictionaryItems",
                "FetchedSlices",
                "IndexedLayout",
                "LoadedPage",
                "OpensManyPages",
                "PageFacts",
                "PageIndex",
                "PageReadPlan",
                "PythonLayout",
                "ZoneMapPlace",
            ),
            "lance_arrow.spi.leaf_type": ("LeafType", "NodeKind"),
            "lance_arrow.spi.native": (
                "HasNativeEncoder",
                "HasNativeFrames",
                "HasNativePage",
                "HasNativePages",
                "HasNativePrefixes",
                "HasStoredValues",
                "NativeSide",
                "ReadNatively",
                "include_dir",
                "native_side",
                "prefixes_side",
                "stored_side",
            ),
            "lance_arrow.spi.private": ("private_description",),
            "lance_arrow.spi.reports": ("ReadReport",),
            "lance_arrow.spi.rows": ("RowRanges",),
            "lance_arrow.spi.scopes": ("BindScope", "EncodeScope"),
            "lance_arrow.spi.scratch": ("Scratch", "block_bytes", "block_over", "field_bytes", "new_block"),
            "lance_arrow.spi.slots": ("ItemValidity", "PageStructure", "SlotLayer", "SlotStructure", "Structure"),
        },
    )
