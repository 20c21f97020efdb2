"""Run-length encoding: run values and run lengths, of 8 bits or in their own encodings.

In a mini-block chunk they are two buffers. A block holds the byte count of the values, the values, the lengths. A child
without bytes (2.3) has no buffer in a chunk; a block with one such child still holds the byte count. Source:
CompressiveEncoding.Rle; spec 5.7, 11.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat
from lance_arrow.proto.encodings_v21_pb2 import Rle as RleMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    NO_BYTES,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    hookimpl,
    new_block,
)
from lance_arrow_codecs import native

Positions = NDArray[np.int64]
_LENGTH_BITS = (8, 16, 32, 64)
_HEADER_BYTES = 8
_LONGEST_RUN = 255
_CHUNK_VALUES = 4096
_CHUNK_BYTES = 8184
"""Most values and bytes of a chunk, the limits of the reference. Source: spec 10."""
_NUM_SAMPLES = 16
_SAMPLED_VALUES = 512
_LEAST_CHUNK_VALUES = 2
_LEAST_CHUNK_BYTES = 24
"""Two runs of 64-bit values, padded."""
_NOWHERE: Positions = np.empty((0, 1), np.int64)
_ONE_CHUNK_OF_NOTHING = ChunkBatch(NO_BYTES, _NOWHERE, _NOWHERE, np.zeros(2, np.int64))


@dataclass(frozen=True, slots=True)
class Rle:
    """Binds ``rle`` with flat children, as in 2.1 and 2.2, or with children of any encoding; writes flat children."""

    key = EncodingKey(COMPRESSIVE, "rle")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.2"})
    writes = since
    kinds = (FixedWidth,)

    def bind(
        self, message: Any, context: DecodeContext, scope: BindScope
    ) -> BoundRleChunks | BoundRleBlocks | BoundEncodedRuns:
        """Check the widths of both children; encoded children exist only in 2.3."""
        values, lengths = message.values, message.run_lengths
        if not (_is_flat(values) and _is_flat(lengths) and lengths.flat.bits_per_value == 8):
            return BoundEncodedRuns.of(values, lengths, context is DecodeContext.BLOCK, scope)
        shape = FixedWidth(_checked_bits(values.flat.bits_per_value))
        return BoundRleChunks(shape) if context is DecodeContext.MINI_BLOCK else BoundRleBlocks(shape)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the runs; None if the plain values have as few, or if options forbid runs."""
        if context is DecodeContext.BLOCK:
            return self.score_blocks(block, np.array([0, block.num_values]), scope)
        chunk_values = _chunk_values(scope)
        if chunk_values < _LEAST_CHUNK_VALUES:
            return None
        block = _filled(block, scope)
        return self._score(block, lambda: spi.chunk_cuts.even_starts(block.num_values, chunk_values), 0, scope)

    def encode(
        self, block: BlockSlice, context: DecodeContext, scope: EncodeScope
    ) -> spi.EncodedChunks | spi.EncodedBlock:
        """Find the runs of each chunk, or of the block."""
        if context is DecodeContext.BLOCK:
            blocks = self.encode_blocks(block, np.array([0, block.num_values]), scope)
            return spi.EncodedBlock(blocks.description, blocks.buffers[0])
        block = _filled(block, scope)
        width = _integer_bytes(block, scope)
        counts, entries = _cut(block, width, scope)
        run_values, lengths = np.empty(int(entries.sum()) * width, np.uint8), np.empty(int(entries.sum()), np.uint8)
        native.encode_runs(block.values, spi.chunk_cuts.starts_of(counts), width, run_values, lengths, entries)
        return spi.EncodedChunks(
            _description(width), (run_values, lengths), np.stack([entries * width, entries]), counts
        )

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return the C side of both encoders."""
        if not isinstance(shape, FixedWidth):
            return None
        threshold = scope.options.rle_threshold
        is_chunked = context is DecodeContext.MINI_BLOCK
        make = native.run_lengths_encoder if is_chunked else native.run_lengths_blocks_encoder
        return make(
            _description(shape.bytes_per_value).SerializeToString(),
            factor=scope.options.cost(1.0),
            stores_plainly=scope.options.stores_plainly,
            most_runs=-1.0 if threshold is None else threshold,
        )

    def score_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> float | None:
        """Return the bytes of all blocks, headers included."""
        return self._score(block, lambda: value_starts, _HEADER_BYTES * (len(value_starts) - 1), scope)

    def encode_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> spi.EncodedChunks:
        """Find the runs of each block."""
        width = _integer_bytes(block, scope)
        counts = np.diff(value_starts)
        entries, sizes = np.empty_like(counts), np.empty_like(counts)
        native.count_run_entries(block.values, value_starts, width, entries)
        out = np.empty(int((entries * (width + 1) + _HEADER_BYTES).sum()), np.uint8)
        native.encode_run_blocks(block.values, value_starts, width, sizes, out)
        return spi.EncodedChunks(_description(width), (out,), sizes[np.newaxis], counts)

    def _score(
        self, block: BlockSlice, starts: Callable[[], Positions], header_bytes: int, scope: EncodeScope
    ) -> float | None:
        """Score runs that end at the borders of parts; `starts` returns the starts of the parts."""
        options, summary = scope.options, scope.summary(block)
        if summary.integers is None or summary.num_runs is None:
            return None
        width, raw_bytes, num_runs = summary.integers.itemsize, len(block.values), summary.num_runs
        is_named = options.codec == self.key.case
        threshold = options.rle_threshold
        is_unwanted = options.stores_plainly or (threshold is not None and num_runs >= threshold * block.num_values)
        least = num_runs * (width + 1) + header_bytes
        if not is_named and (is_unwanted or least >= raw_bytes):
            return None
        # A border of parts splits one run, and every 255 more values need one more run. If that decides, count exactly.
        value_starts = starts()
        num_entries = num_runs + len(value_starts) - 2 + block.num_values // _LONGEST_RUN
        packed_bytes = _packed_bytes(summary)
        if least < min(raw_bytes, packed_bytes) <= num_entries * (width + 1) + header_bytes:
            entries = np.empty(len(value_starts) - 1, np.int64)
            native.count_run_entries(block.values, value_starts, width, entries)
            num_entries = int(entries.sum())
        num_bytes = num_entries * (width + 1) + header_bytes
        if not is_named and num_bytes >= raw_bytes:
            return None
        # Runs as small as packed integers decode faster and need fewer chunks.
        return options.cost(max(num_bytes - 0.5, 0.0))


def _packed_bytes(summary: spi.BlockSummary) -> int:
    """Return the bytes of the values bit-packed in groups of 1024, each with a header word."""
    groups = summary.groups(summary.group_starts)
    width = 0 if summary.integers is None else summary.integers.itemsize
    return len(groups.bits) * width + 128 * groups.total_bits


def _filled(block: BlockSlice, scope: EncodeScope) -> BlockSlice:
    """Return the block with nulls as part of the run before them; unchanged if that cannot pay off."""
    summary = scope.summary(block)
    if summary.integers is None or not summary.num_nulls:
        return block
    is_named = scope.options.codec == Rle.key.case
    is_worth_it = is_named or summary.remember("rle filled", lambda: _filling_pays_off(summary))
    return summary.forward_filled if is_worth_it else block


def _filling_pays_off(summary: spi.BlockSummary) -> bool:
    """Return whether, by a sample, runs over nulls are smaller than other codecs; filling takes time."""
    block, num_runs = summary.block, summary.num_runs
    if summary.integers is None or num_runs is None:
        return False
    run_bytes = summary.integers.itemsize + 1
    most_bytes = min(len(block.values), _packed_bytes(summary))
    # A null ends at most one run and begins at most one.
    if (num_runs - 2 * summary.num_nulls) * run_bytes >= most_bytes:
        return False
    step = max(block.num_values // _NUM_SAMPLES, _SAMPLED_VALUES)
    firsts = range(0, block.num_values, step)
    samples = [(first, min(first + _SAMPLED_VALUES, block.num_values)) for first in firsts]
    sampled_runs = sum(_filled_runs(summary, start, stop) for start, stop in samples)
    sampled_values = sum(stop - start for start, stop in samples)
    return sampled_runs / sampled_values * block.num_values * run_bytes < most_bytes


def _filled_runs(summary: spi.BlockSummary, start: int, stop: int) -> int:
    """Return the runs of a part after nulls are filled with valid values, or with zeros if all are null."""
    assert summary.integers is not None
    assert summary.is_null is not None
    values = summary.integers[start:stop]
    present = values[~summary.is_null[start:stop]]
    if not len(present):
        present = values
    return int(np.count_nonzero(present[1:] != present[:-1])) + 1


def _integer_bytes(block: BlockSlice, scope: EncodeScope) -> int:
    integers = scope.summary(block).integers
    if integers is None:
        raise UnsupportedError(f"runs need values of 8, 16, 32 or 64 bits, not {block.shape}")
    return integers.itemsize


def _description(width: int) -> CompressiveEncoding:
    values, lengths = (CompressiveEncoding(flat=Flat(bits_per_value=bits)) for bits in (8 * width, 8))
    return CompressiveEncoding(rle=RleMessage(values=values, run_lengths=lengths))


def _chunk_values(scope: EncodeScope) -> int:
    """Return the values of a full chunk of long runs; 0 if not even two values fit the rules."""
    rules = scope.chunk_rules
    return (
        spi.chunk_cuts.largest_power_of_two(min(_CHUNK_VALUES, rules.max_values))
        if rules.max_bytes >= _LEAST_CHUNK_BYTES
        else 0
    )


def _cut(block: BlockSlice, width: int, scope: EncodeScope) -> tuple[Positions, Positions]:
    """Cut chunks; return the values and the runs of each. A chunk whose runs exceed the limit is split in two."""
    chunk_values = _chunk_values(scope)
    if chunk_values < _LEAST_CHUNK_VALUES:
        raise UnsupportedError(f"runs do not fit chunks of {scope.chunk_rules}")
    most_bytes = min(_CHUNK_BYTES, scope.chunk_rules.max_bytes)
    counts = spi.chunk_cuts.cut_evenly(block.num_values, chunk_values)
    while True:
        entries = np.empty_like(counts)
        native.count_run_entries(block.values, spi.chunk_cuts.starts_of(counts), width, entries)
        padded = (entries * width + 7 & ~7) + (entries + 7 & ~7)
        is_large = (padded > most_bytes) & (counts > _LEAST_CHUNK_VALUES)
        if not is_large.any():
            return counts, entries
        firsts = np.where(is_large, counts >> 1, counts)
        if is_large[-1]:
            firsts[-1] = spi.chunk_cuts.largest_power_of_two(int(counts[-1]) - 1)
        halves = np.stack([firsts, counts - firsts], axis=1).reshape(-1)
        counts = halves[halves > 0]


def _is_flat(message: Any) -> bool:
    return message.WhichOneof("compression") == "flat" and not message.flat.HasField("data")


def _checked_bits(bits: int) -> int:
    if bits not in (8, 16, 32, 64):
        raise UnsupportedError(f"run values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
    return bits


@dataclass(frozen=True, slots=True)
class BoundRleChunks:
    """Expands mini-block chunks of two buffers."""

    shape: FixedWidth
    num_buffers: int = 2

    def native(self) -> object:
        return native.run_lengths_codec(self.shape.bits, False)

    def native_marks(self) -> object:
        return native.run_marks(self.shape.bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        values = (chunks.starts[0], chunks.sizes[0])
        lengths = (chunks.starts[1], chunks.sizes[1])
        width = self.shape.bytes_per_value
        native.expand_runs(chunks.data, *values, *lengths, chunks.value_starts, width, out.values)


@dataclass(frozen=True, slots=True)
class BoundRleBlocks:
    """Expands blocks."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native.run_lengths_codec(self.shape.bits, True)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        native.expand_run_blocks(*places, self.shape.bytes_per_value, out.values)


@dataclass(frozen=True, slots=True)
class RunCounter:
    """Counts the runs in a child's bytes, for flat children and flat children with compression."""

    bytes_per_run: int
    frames: tuple[spi.compression.Frames, ...]

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> RunCounter | None:
        """Return None if the size in bytes does not define the number of runs."""
        frames = []
        while message.WhichOneof("compression") == "general":
            frames.append(spi.compression.Frames.bind(message.general.compression, DecodeContext.BLOCK, scope))
            message = message.general.values
        if message.WhichOneof("compression") != "flat" or message.flat.bits_per_value < 8:
            return None
        if message.flat.HasField("data"):
            frames.append(spi.compression.Frames.bind(message.flat.data, DecodeContext.BLOCK, scope))
        return cls(message.flat.bits_per_value // 8, tuple(frames))

    def native(self) -> tuple[int, tuple[object, ...], int] | None:
        """Return the same for native code; None if a scheme has no native side."""
        frames = tuple(spi.native.native_side(outer.scheme) for outer in self.frames)
        most_bytes = max((outer.most_bytes for outer in self.frames), default=0)
        return None if None in frames else (self.bytes_per_run, frames, most_bytes)

    def count(self, part: ChunkBatch) -> Positions:
        """Return the number of runs of each chunk."""
        data, starts, sizes = part.data, part.starts[0], part.sizes[0]
        for outer in self.frames[:-1]:
            data, borders = outer.open(data, starts, sizes)
            starts, sizes = borders[:-1], np.diff(borders)
        if self.frames:
            sizes = self.frames[-1].scheme.sizes(data, starts, sizes)
        wrong = (sizes < 0) | (sizes % self.bytes_per_run != 0)
        if wrong.any():
            raise CorruptPageError(
                f"the size of a chunk is not a multiple of {self.bytes_per_run} bytes per run",
                detail=int(np.argmax(wrong)),
            )
        return sizes // self.bytes_per_run


@dataclass(frozen=True, slots=True)
class BoundEncodedRuns:
    """Expands runs whose values or lengths have their own encoding, all chunks at once.

    `is_block`: both parts are in one buffer, after the byte count of the first, unless both have no bytes.
    """

    values: BoundChunkCodec
    lengths: BoundChunkCodec
    values_counter: RunCounter | None
    lengths_counter: RunCounter | None
    is_block: bool

    @classmethod
    def of(cls, values: Any, lengths: Any, is_block: bool, scope: BindScope) -> BoundEncodedRuns:
        """Bind both children as blocks, in both contexts."""
        bound = [scope.chunk_codec(one, DecodeContext.BLOCK) for one in (values, lengths)]
        if not all(isinstance(one.shape, FixedWidth) for one in bound):
            raise CorruptFileError(f"runs have values {bound[0].shape} and lengths {bound[1].shape}")
        _checked_bits(bound[0].shape.bits)
        if bound[1].shape.bits not in _LENGTH_BITS:
            raise CorruptFileError(f"run lengths of {bound[1].shape.bits} bits, expected 8, 16, 32 or 64")
        counters = RunCounter.of(values, scope), RunCounter.of(lengths, scope)
        if counters == (None, None) and bound[1].num_buffers:
            raise UnsupportedError("runs without a count in their values or lengths are not supported")
        return cls(*bound, *counters, is_block)

    @property
    def shape(self) -> BlockShape:
        return self.values.shape

    @property
    def num_buffers(self) -> int:
        parts = self.values.num_buffers + self.lengths.num_buffers
        return min(parts, 1) if self.is_block else parts

    def native(self) -> object | None:
        parts = spi.native.native_side(self.values), spi.native.native_side(self.lengths)
        counters = self.values_counter, self.lengths_counter
        counted = [None if counter is None else counter.native() for counter in counters]
        if None in parts or any(made is None for made, one in zip(counted, counters, strict=True) if one is not None):
            return None
        return native.encoded_runs_codec(*parts, *counted, self.is_block)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        of_values, of_lengths = self._split(chunks)
        counts = np.diff(chunks.value_starts)
        num_runs = self._num_runs(of_values, of_lengths, counts)
        run_starts = np.zeros(len(num_runs) + 1, np.int64)
        np.cumsum(num_runs, out=run_starts[1:])
        lengths = _decode_runs(self.lengths, of_lengths, run_starts).astype(np.int64)
        if lengths.min(initial=1) <= 0 or lengths.max(initial=0) > chunks.num_values:
            raise CorruptPageError("a run is empty or longer than its chunk")
        ends = np.append(0, np.cumsum(lengths))
        wrong = np.diff(ends[run_starts]) != counts
        if wrong.any():
            raise CorruptPageError("run lengths do not sum to the number of values", detail=int(np.argmax(wrong)))
        target = out.values.view(f"u{self.values.shape.bytes_per_value}")
        target[:] = np.repeat(_decode_runs(self.values, of_values, run_starts), lengths)

    def _num_runs(self, of_values: ChunkBatch, of_lengths: ChunkBatch, counts: Positions) -> Positions:
        """Count the runs of each chunk; never more than values, since no run is empty."""
        parts = (self.values_counter, of_values), (self.lengths_counter, of_lengths)
        found = [counter.count(part) for counter, part in parts if counter is not None]
        if found:
            wrong = (found[0] != found[-1]) | (found[0] > counts)
            if wrong.any():
                raise CorruptPageError(
                    "run values and run lengths differ in number, or are more than values",
                    detail=int(np.argmax(wrong)),
                )
            return found[0]
        # Lengths without bytes follow a rule, the same in each chunk: as many as the number of values needs.
        most = int(counts.max(initial=0))
        lengths = _decode_runs(self.lengths, _ONE_CHUNK_OF_NOTHING, np.array([0, most], np.int64))
        reached = np.cumsum(np.clip(lengths.astype(np.int64), 0, most))
        return np.minimum(np.searchsorted(reached, counts) + 1, counts)

    def _split(self, chunks: ChunkBatch) -> tuple[ChunkBatch, ChunkBatch]:
        """Return the same chunks as batches of run values and of run lengths."""
        num_values = self.values.num_buffers
        if not self.is_block or self.num_buffers == 0:
            return chunks.buffers(0, num_values), chunks.buffers(num_values, self.num_buffers)
        starts, sizes = chunks.starts[0], chunks.sizes[0]
        if (sizes < _HEADER_BYTES).any():
            raise CorruptPageError("a run block is too short for its header", detail=int(np.argmin(sizes)))
        values_bytes = np.empty(chunks.num_chunks, np.int64)
        kernels.copy_values(chunks.data, starts, _HEADER_BYTES, values_bytes.view(np.uint8))
        rest = sizes - _HEADER_BYTES
        wrong = (values_bytes < 0) | (values_bytes > rest)
        if wrong.any():
            raise CorruptPageError("a run block has fewer bytes than its values", detail=int(np.argmax(wrong)))
        first = starts + _HEADER_BYTES
        return (
            _part(self.values, chunks, first, values_bytes),
            _part(self.lengths, chunks, first + values_bytes, rest - values_bytes),
        )


def _part(codec: BoundChunkCodec, chunks: ChunkBatch, starts: Positions, sizes: Positions) -> ChunkBatch:
    """Return one part of each block; a codec without buffers has no bytes."""
    if codec.num_buffers == 0 and sizes.any():
        raise CorruptPageError("a part of a run block has bytes, expected none", detail=int(np.argmax(sizes)))
    whole = ChunkBatch(chunks.data, starts[np.newaxis], sizes[np.newaxis], chunks.value_starts)
    return whole.buffers(0, codec.num_buffers)


def _decode_runs(codec: BoundChunkCodec, part: ChunkBatch, run_starts: Positions) -> NDArray[Any]:
    block = new_block(codec.shape, int(run_starts[-1]))
    codec.decode(ChunkBatch(part.data, part.starts, part.sizes, run_starts), block)
    return block.values.view(f"u{codec.shape.bytes_per_value}")


@hookimpl
def lance_provide_codecs() -> list[Rle]:
    return [Rle()]
