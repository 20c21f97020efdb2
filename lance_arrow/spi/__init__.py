"""The interface of plugins: of this project, they import only `spi`, `pages`, `kernels`, `proto` and `errors`.

Input: descriptions (protobuf messages) and encoded bytes. Output: blocks of values and levels in memory of the caller.
`__all__` below and `__all__` of the areas, the modules named in ``moved``, are the compatibility promise
(docs/plugins/names.md). Open `bases/` first (small codecs), then `codecs.py` and `layouts.py` (one page). Next are
`scopes.py` (services for `bind`), `blocks.py` and `chunks.py` (data structures). `hookspecs.py` defines the hooks of
plugins; `loading.py` and `table.py` find plugins and look keys up. This package must not import pyarrow, fsspec, or any
higher package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.settings import Limits as Limits
    from lance_arrow.spi import arrays as arrays
    from lance_arrow.spi import block_runs as block_runs
    from lance_arrow.spi import block_summary as block_summary
    from lance_arrow.spi import chunk_cuts as chunk_cuts
    from lance_arrow.spi import commits as commits
    from lance_arrow.spi import compression as compression
    from lance_arrow.spi import encoders as encoders
    from lance_arrow.spi import factories as factories
    from lance_arrow.spi import layouts as layouts
    from lance_arrow.spi import native as native
    from lance_arrow.spi import scratch as scratch
    from lance_arrow.spi import slots as slots
    from lance_arrow.spi.bases.compression import CompressionCodec as CompressionCodec
    from lance_arrow.spi.bases.elementwise import ElementwiseCodec as ElementwiseCodec
    from lance_arrow.spi.bases.fixed_width import FixedWidthCodec as FixedWidthCodec
    from lance_arrow.spi.bases.variable_width import VariableWidthCodec as VariableWidthCodec
    from lance_arrow.spi.block_summary import BlockSummary as BlockSummary
    from lance_arrow.spi.blocks import NO_BYTES as NO_BYTES
    from lance_arrow.spi.blocks import Bitmap as Bitmap
    from lance_arrow.spi.blocks import BlockShape as BlockShape
    from lance_arrow.spi.blocks import BlockSlice as BlockSlice
    from lance_arrow.spi.blocks import Bytes as Bytes
    from lance_arrow.spi.blocks import FixedSizeList as FixedSizeList
    from lance_arrow.spi.blocks import FixedWidth as FixedWidth
    from lance_arrow.spi.blocks import NumBytes as NumBytes
    from lance_arrow.spi.blocks import PackedStruct as PackedStruct
    from lance_arrow.spi.blocks import VariableWidth as VariableWidth
    from lance_arrow.spi.chunks import ChunkBatch as ChunkBatch
    from lance_arrow.spi.chunks import ValueBatch as ValueBatch
    from lance_arrow.spi.codecs import BoundChunkCodec as BoundChunkCodec
    from lance_arrow.spi.codecs import BoundCodec as BoundCodec
    from lance_arrow.spi.codecs import BoundPerValueCodec as BoundPerValueCodec
    from lance_arrow.spi.codecs import HasParameters as HasParameters
    from lance_arrow.spi.codecs import ValueLocator as ValueLocator
    from lance_arrow.spi.encode_options import EncodeOptions as EncodeOptions
    from lance_arrow.spi.encoding import ChunkRules as ChunkRules
    from lance_arrow.spi.encoding import Encoded as Encoded
    from lance_arrow.spi.encoding import EncodedBlock as EncodedBlock
    from lance_arrow.spi.encoding import EncodedChunks as EncodedChunks
    from lance_arrow.spi.encoding import EncodedValues as EncodedValues
    from lance_arrow.spi.hookspecs import hookimpl as hookimpl
    from lance_arrow.spi.keys import COMPRESSIVE as COMPRESSIVE
    from lance_arrow.spi.keys import PRIVATE_CODEC as PRIVATE_CODEC
    from lance_arrow.spi.keys import DecodeContext as DecodeContext
    from lance_arrow.spi.keys import EncodingKey as EncodingKey
    from lance_arrow.spi.leaf_type import LeafType as LeafType
    from lance_arrow.spi.private import private_description as private_description
    from lance_arrow.spi.reports import ReadReport as ReadReport
    from lance_arrow.spi.scopes import BindScope as BindScope
    from lance_arrow.spi.scopes import EncodeScope as EncodeScope
    from lance_arrow.spi.scratch import new_block as new_block
else:
    __getattr__, __dir__, __all__ = late_names(
        __name__,
        {
            "lance_arrow.settings": ("Limits",),
            "lance_arrow.spi.bases.compression": ("CompressionCodec",),
            "lance_arrow.spi.bases.elementwise": ("ElementwiseCodec",),
            "lance_arrow.spi.bases.fixed_width": ("FixedWidthCodec",),
            "lance_arrow.spi.bases.variable_width": ("VariableWidthCodec",),
            "lance_arrow.spi.block_summary": ("BlockSummary",),
            "lance_arrow.spi.blocks": (
                "Bitmap",
                "BlockShape",
                "BlockSlice",
                "Bytes",
                "FixedSizeList",
                "FixedWidth",
                "NO_BYTES",
                "NumBytes",
                "PackedStruct",
                "VariableWidth",
            ),
            "lance_arrow.spi.chunks": (
                "ChunkBatch",
                "ValueBatch",
            ),
            "lance_arrow.spi.codecs": (
                "BoundChunkCodec",
                "BoundCodec",
                "BoundPerValueCodec",
                "HasParameters",
                "ValueLocator",
            ),
            "lance_arrow.spi.encode_options": ("EncodeOptions",),
            "lance_arrow.spi.encoding": (
                "ChunkRules",
                "Encoded",
                "EncodedBlock",
                "EncodedChunks",
                "EncodedValues",
            ),
            "lance_arrow.spi.hookspecs": ("hookimpl",),
            "lance_arrow.spi.keys": (
                "COMPRESSIVE",
                "DecodeContext",
                "EncodingKey",
                "PRIVATE_CODEC",
            ),
            "lance_arrow.spi.leaf_type": ("LeafType",),
            "lance_arrow.spi.private": ("private_description",),
            "lance_arrow.spi.reports": ("ReadReport",),
            "lance_arrow.spi.scopes": (
                "BindScope",
                "EncodeScope",
            ),
            "lance_arrow.spi.scratch": ("new_block",),
        },
        moved={
            "lance_arrow.spi.arrays": (
                "ARRAY",
                "ArrayContent",
                "BoundArray",
                "EncodedArray",
                "HoldsItems",
                "LEGACY",
                "PlainValues",
            ),
            "lance_arrow.spi.block_runs": (
                "clear_block",
                "copy_runs",
                "measure_runs",
                "split_rows",
            ),
            "lance_arrow.spi.block_summary": ("GroupSummary",),
            "lance_arrow.spi.chunk_cuts": (
                "cut_evenly",
                "even_starts",
                "largest_power_of_two",
                "starts_of",
            ),
            "lance_arrow.spi.commits": (
                "CommitAttempt",
                "CommitStrategy",
                "LockedCommit",
                "TablePlace",
            ),
            "lance_arrow.spi.compression": (
                "BoundBufferScheme",
                "Frames",
                "SchemeEncoder",
                "bind_compressed",
                "compressed",
                "with_room",
            ),
            "lance_arrow.spi.encoders": (
                "ArrayEncoder",
                "BlocksEncoder",
                "CodecEncoder",
                "ColumnEncoder",
                "EncodedPage",
                "LayoutEncoder",
                "PageContent",
                "PendingPage",
            ),
            "lance_arrow.spi.factories": (
                "ArrayFactory",
                "BufferScheme",
                "CodecFactory",
                "ColumnEncodingFactory",
                "LayoutFactory",
            ),
            "lance_arrow.spi.layouts": (
                "BoundColumnEncoding",
                "BoundLayout",
                "BufferRole",
                "BufferSlices",
                "FetchedSlices",
                "IndexedLayout",
                "LayerKind",
                "Levels",
                "LoadedPage",
                "NodeKind",
                "OpensManyPages",
                "PageFacts",
                "PageIndex",
                "PageReadPlan",
                "PythonLayout",
                "RowRanges",
                "ZoneMapPlace",
            ),
            "lance_arrow.spi.native": (
                "HasNativeEncoder",
                "HasNativeFrames",
                "HasNativeMarks",
                "HasNativePage",
                "HasNativePages",
                "HasNativePrefixes",
                "HasStoredValues",
                "NativeSide",
                "ReadNatively",
                "include_dir",
                "marks_side",
                "native_side",
                "prefixes_side",
                "stored_side",
            ),
            "lance_arrow.spi.scratch": (
                "Scratch",
                "block_bytes",
            ),
            "lance_arrow.spi.slots": (
                "ItemValidity",
                "PageStructure",
                "SlotLayer",
                "SlotStructure",
                "Structure",
            ),
        },
    )
