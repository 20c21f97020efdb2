"""The agreement with plugins: the only package of ours, with `kernels`, `proto` and `errors`, that they import.

In: descriptions (protobuf messages) and encoded bytes. Out: blocks of values and levels in memory that was given.
`__all__` below is the compatibility promise. Open `codecs.py` first (one codec), then `layouts.py` (one page),
`scopes.py` (what `bind` may ask for), `blocks.py` and `chunks.py` (what data looks like). `hookspecs.py` is how a
plugin is found, `loading.py` and `table.py` are our side of it. Forbidden here: pyarrow, fsspec, any higher room.
"""

from lance_arrow.settings import Limits
from lance_arrow.spi.arrays import ArrayContent, BoundArray, EncodedArray, FindsFewValues, HoldsItems, PlainValues
from lance_arrow.spi.block_runs import clear_block, copy_runs, measure_runs, split_rows
from lance_arrow.spi.block_summary import BlockSummary
from lance_arrow.spi.blocks import (
    NO_BYTES,
    Bitmap,
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    LayerKind,
    Levels,
    NumBytes,
    PackedStruct,
    VariableWidth,
    max_visible_def,
)
from lance_arrow.spi.chunk_cuts import cut_evenly, largest_power_of_two, starts_of
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.codecs import BoundBufferScheme, BoundChunkCodec, BoundCodec, BoundPerValueCodec, ValueLocator
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy, LockedCommit, TablePlace
from lance_arrow.spi.compressed import bind_compressed, compressed, with_room
from lance_arrow.spi.encode_options import EncodeOptions
from lance_arrow.spi.encoders import ArrayEncoder, BlocksEncoder, CodecEncoder, ColumnEncoder, LayoutEncoder
from lance_arrow.spi.encoding import (
    ChunkRules,
    Encoded,
    EncodedBlock,
    EncodedChunks,
    EncodedPage,
    EncodedValues,
    PageContent,
    PendingPage,
    SchemeEncoder,
)
from lance_arrow.spi.factories import ArrayFactory, BufferScheme, CodecFactory, ColumnEncodingFactory, LayoutFactory
from lance_arrow.spi.frames import Frames
from lance_arrow.spi.hookspecs import hookimpl, hookspec
from lance_arrow.spi.keys import (
    ARRAY,
    COMPRESSIVE,
    LEGACY,
    PAGE_MESSAGES,
    PRIVATE_CODEC,
    BufferRole,
    DecodeContext,
    EncodingKey,
)
from lance_arrow.spi.layouts import (
    BoundColumnEncoding,
    BoundLayout,
    BufferSlices,
    DictionaryItems,
    FetchedSlices,
    FindsFewRows,
    LoadedPage,
    ManyPages,
    OpensManyPages,
    PageFacts,
    PageIndex,
    PageReadPlan,
    ZoneMapPlace,
)
from lance_arrow.spi.leaf_type import LeafType, NodeKind
from lance_arrow.spi.native import (
    HasNativePage,
    HasStoredValues,
    NativeSide,
    ReadNatively,
    include_dir,
    native_side,
    stored_side,
)
from lance_arrow.spi.private import private_description
from lance_arrow.spi.reports import ReadReport
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.scopes import BindScope, EncodeScope
from lance_arrow.spi.scratch import Scratch, block_bytes, block_over, field_bytes, new_block
from lance_arrow.spi.slots import ItemValidity, PageStructure, SlotLayer, SlotStructure, Structure

__all__ = [
    "ARRAY",
    "COMPRESSIVE",
    "LEGACY",
    "NO_BYTES",
    "PAGE_MESSAGES",
    "PRIVATE_CODEC",
    "ArrayContent",
    "ArrayEncoder",
    "ArrayFactory",
    "BindScope",
    "Bitmap",
    "BlockShape",
    "BlockSlice",
    "BlockSummary",
    "BlocksEncoder",
    "BoundArray",
    "BoundBufferScheme",
    "BoundChunkCodec",
    "BoundCodec",
    "BoundColumnEncoding",
    "BoundLayout",
    "BoundPerValueCodec",
    "BufferRole",
    "BufferScheme",
    "BufferSlices",
    "Bytes",
    "ChunkBatch",
    "ChunkRules",
    "CodecEncoder",
    "CodecFactory",
    "ColumnEncoder",
    "ColumnEncodingFactory",
    "CommitAttempt",
    "CommitStrategy",
    "DecodeContext",
    "DictionaryItems",
    "EncodeOptions",
    "EncodeScope",
    "Encoded",
    "EncodedArray",
    "EncodedBlock",
    "EncodedChunks",
    "EncodedPage",
    "EncodedValues",
    "EncodingKey",
    "FetchedSlices",
    "FindsFewRows",
    "FindsFewValues",
    "FixedSizeList",
    "FixedWidth",
    "Frames",
    "HasNativePage",
    "HasStoredValues",
    "HoldsItems",
    "ItemValidity",
    "LayerKind",
    "LayoutEncoder",
    "LayoutFactory",
    "LeafType",
    "Levels",
    "Limits",
    "LoadedPage",
    "LockedCommit",
    "ManyPages",
    "NativeSide",
    "NodeKind",
    "NumBytes",
    "OpensManyPages",
    "PackedStruct",
    "PageContent",
    "PageFacts",
    "PageIndex",
    "PageReadPlan",
    "PageStructure",
    "PendingPage",
    "PlainValues",
    "ReadNatively",
    "ReadReport",
    "RowRanges",
    "SchemeEncoder",
    "Scratch",
    "SlotLayer",
    "SlotStructure",
    "Structure",
    "TablePlace",
    "ValueBatch",
    "ValueLocator",
    "VariableWidth",
    "ZoneMapPlace",
    "bind_compressed",
    "block_bytes",
    "block_over",
    "clear_block",
    "compressed",
    "copy_runs",
    "cut_evenly",
    "field_bytes",
    "hookimpl",
    "hookspec",
    "include_dir",
    "largest_power_of_two",
    "max_visible_def",
    "measure_runs",
    "native_side",
    "new_block",
    "private_description",
    "split_rows",
    "starts_of",
    "stored_side",
    "with_room",
]
