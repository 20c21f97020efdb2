"""`PageScope`: what encoders of a page ask for: children, estimates, summaries, the choice of codecs and layouts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.choices import Preset
from lance_arrow.errors import InternalError, PluginContractError, UnsupportedError
from lance_arrow.settings import Limits
from lance_arrow.spi import (
    BlockShape,
    BlockSlice,
    BlockSummary,
    ChunkRules,
    DecodeContext,
    Encoded,
    EncodedBlock,
    EncodedChunks,
    EncodedValues,
    EncodeOptions,
    EncodingKey,
    LeafType,
)
from lance_arrow.spi.arrays import ArrayContent, EncodedArray
from lance_arrow.spi.encoders import BlocksEncoder
from lance_arrow.spi.encoding import EncodedPage, PageContent, PendingPage, SchemeEncoder
from lance_arrow.spi.keys import COMPRESSION_SCHEME
from lance_arrow.spi.scratch import Scratch
from lance_arrow.spi.table import Provided, has_methods
from lance_arrow.structure.carried_facts import CarriedFacts

if TYPE_CHECKING:
    from lance_arrow.structure.page_encoder import PageEncoder

_DICTIONARY = "dictionary"
_ANSWERS = {
    DecodeContext.MINI_BLOCK: EncodedChunks,
    DecodeContext.BLOCK: EncodedBlock,
    DecodeContext.PER_VALUE: EncodedValues,
}
_DEFAULT_RULES = ChunkRules(max_bytes=16 << 10, max_values=4096, target_bytes=4 << 10)


def _checked_page(chosen: Provided, page: Any) -> EncodedPage:
    """Return the page that a layout wrote; outside the format, with the distribution that reads it."""
    if not isinstance(page, EncodedPage):
        raise PluginContractError(f"layout encoder {chosen.plugin.name!r} returned {type(page).__name__}")
    key, name = chosen.factory.key, page.description.DESCRIPTOR.full_name
    if name == key.message and not key.is_private:
        return page
    described = EncodingKey(name)
    if not described.is_private:
        return page
    # Permission holds for one message.
    if name != key.message:
        raise PluginContractError(f"layout encoder {chosen.plugin.name!r} returned a page described by {described}")
    return replace(page, distribution=chosen.plugin.distribution)


@functools.lru_cache(maxsize=64)
def _options_of_parts(preset: Preset, compression: str | None, level: int | None) -> EncodeOptions:
    return EncodeOptions(preset=preset, compression=compression, compression_level=level)


class _Summaries:
    """Summaries of the blocks of one page, by identity; the blocks are kept so that identities are not reused."""

    def __init__(self, facts: CarriedFacts | None) -> None:
        self.facts = facts
        self.held: dict[int, BlockSummary] = {}
        # The codec that was found for an estimate is used for encoding: it is searched once.
        self.best: dict[Hashable, tuple[EncodeOptions, ChunkRules, tuple[float, Provided] | None]] = {}


class PageScope:
    """`EncodeScope` of one page; immutable. Creating a frozen dataclass would take three times as long."""

    __slots__ = ("chunk_rules", "encoder", "excluded", "file_version", "forced", "leaf", "options", "summaries")

    def __init__(
        self,
        encoder: PageEncoder,
        leaf: LeafType,
        options: EncodeOptions,
        summaries: _Summaries,
        chunk_rules: ChunkRules = _DEFAULT_RULES,
        excluded: frozenset[EncodingKey] = frozenset(),
        forced: str | None = None,
    ) -> None:
        self.encoder = encoder
        self.leaf = leaf
        self.options = options
        self.summaries = summaries
        self.chunk_rules = chunk_rules
        self.excluded = excluded
        self.forced = forced
        self.file_version = encoder.file_version

    @classmethod
    def of(cls, encoder: PageEncoder, leaf: LeafType, options: EncodeOptions, facts: CarriedFacts | None) -> PageScope:
        """Make the scope of a leaf, for its layout encoder; parameters are those of `PageEncoder.scope`."""
        return cls(encoder, leaf, options, _Summaries(facts))

    @property
    def limits(self) -> Limits:
        return self.encoder.limits

    @property
    def scratch(self) -> Scratch:
        return self.encoder.scratch

    def with_rules(self, rules: ChunkRules) -> PageScope:
        if rules is self.chunk_rules:
            return self
        return PageScope(self.encoder, self.leaf, self.options, self.summaries, rules, self.excluded, self.forced)

    def for_values(self) -> PageScope:
        # A dictionary belongs to the page, not to its values: the layout creates it.
        codec = self.options.codec
        return self if codec in (_DICTIONARY, self.forced) else self.altered(forced=codec)

    def for_parts(self, *, compression: str | None = None, compression_level: int | None = None) -> PageScope:
        options = _options_of_parts(self.options.preset, compression, compression_level)
        return PageScope(self.encoder, self.leaf, options, self.summaries, self.chunk_rules)

    def altered(self, **changes: Any) -> PageScope:
        """Return a scope with other attributes."""
        get = changes.get
        return PageScope(
            self.encoder,
            self.leaf,
            get("options", self.options),
            self.summaries,
            get("chunk_rules", self.chunk_rules),
            get("excluded", self.excluded),
            get("forced", self.forced),
        )

    def summary(self, block: BlockSlice) -> BlockSummary:
        held = self.summaries.held
        try:
            return held[id(block)]
        except KeyError:
            found = held[id(block)] = BlockSummary(block)
            return found

    def carried(self, name: Hashable, find: Callable[[Any], Any]) -> Any:
        facts = self.summaries.facts
        return find(None) if facts is None else facts.carried(name, find)

    def encode_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> Encoded:
        scope = self.altered(excluded=self.excluded | without) if without else self
        chosen = scope._choose(block, context)
        if chosen is None:
            raise UnsupportedError(
                f"no installed codec can write {block.shape} in the {context.value} context of "
                f"{self.file_version} files"
            )
        return scope._encode(chosen, block, context)

    def estimate_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> float | None:
        scope = self
        if without or self.forced is not None:
            scope = self._without(self.excluded | without)
        if self.forced is not None:
            found = self.encoder.named(self.forced).factory
            return found.score(block, context, scope) if self.encoder.allows(found, context) else None
        best = scope._best(block, context)
        return None if best is None else best[0]

    def encode_with(self, key: EncodingKey, block: BlockSlice, context: DecodeContext) -> Encoded:
        provided = self.encoder.table.codecs.get(key)
        if provided is None:
            raise self.encoder.table.missing(key)
        return self._encode(provided, block, context)

    def encode_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64]) -> EncodedChunks:
        named = self._named_codec(block, DecodeContext.BLOCK)
        if named is not None and named not in self.excluded:
            found = self.encoder.table.codecs.get(named)
            if found is None:
                raise self.encoder.table.missing(named)
            if not has_methods(found.factory, BlocksEncoder):
                return self._encode_one_by_one(found, block, value_starts)
            return self._encode_all(found, block, value_starts)
        scored = [
            (score, str(provided.factory.key), provided)
            for provided in self.encoder.block_codecs()
            if provided.factory.key not in self.excluded
            and not provided.factory.key.is_private
            and (score := provided.factory.score_blocks(block, value_starts, self)) is not None
        ]
        if not scored:
            raise UnsupportedError(f"no installed codec can write blocks of {block.shape} in {self.file_version} files")
        return self._encode_all(min(scored, key=lambda one: one[:2])[2], block, value_starts)

    def native_encoders(
        self, shape: BlockShape, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> tuple[Any, ...] | None:
        excluded = self.excluded | without
        inner = self._without(excluded)
        found = []
        for provided, _ in sorted(self.encoder.guesses(context, type(shape)), key=lambda one: one[1]):
            if provided.factory.key in excluded:
                continue
            offer = getattr(provided.factory, "native_encoder", None)
            capsule = None if offer is None else offer(shape, context, inner)
            if capsule is None:
                return None
            found.append(capsule)
        return tuple(found)

    def encode_array(self, content: ArrayContent, first_buffer: int) -> EncodedArray:
        if self.options.private_layout is not None:
            raise UnsupportedError(f"pages of {self.file_version} files have no layout {self.options.private_layout!r}")
        scored = [
            (score, str(provided.factory.key), provided)
            for provided in self.encoder.arrays()
            if (score := provided.factory.score(content, self)) is not None
        ]
        if not scored:
            shape = None if content.values is None else content.values.shape
            raise UnsupportedError(f"no installed plugin can write {shape} in a {self.file_version} file")
        chosen = min(scored, key=lambda one: one[:2])[2]
        answer = chosen.factory.encode(content, first_buffer, self)
        if not isinstance(answer, EncodedArray):
            raise PluginContractError(f"array encoder {chosen.plugin.name!r} returned {type(answer).__name__}")
        return answer

    def scheme(self, name: str) -> SchemeEncoder:
        found = self.encoder.table.scheme(EncodingKey(COMPRESSION_SCHEME, name))
        if not has_methods(found, SchemeEncoder):
            raise UnsupportedError(f"the buffer scheme {name} cannot be written")
        return found

    def layout(self, page: PageContent) -> EncodedPage | PendingPage:
        chosen = self._chosen_layout(page)
        self.encoder.permit(chosen.factory.key)
        # The named layout is for the page; pages inside it use the others.
        inner = self if self.options.private_layout is None else self._without_layout()
        answer = chosen.factory.encode(page, inner)
        if isinstance(answer, PendingPage):
            complete = answer.complete
            return replace(answer, complete=lambda positions: _checked_page(chosen, complete(positions)))
        return _checked_page(chosen, answer)

    def _without_layout(self) -> PageScope:
        return self.altered(options=replace(self.options, layout=None))

    def _named_layout(self, name: str, page: PageContent) -> Provided:
        found = self.encoder.named_layout(name)
        if found.factory.score(page, self) is None:
            raise UnsupportedError(f"the layout {name!r} cannot hold this page in a {self.file_version} file")
        return found

    def _chosen_layout(self, page: PageContent) -> Provided:
        if self.options.private_layout is not None:
            return self._named_layout(self.options.private_layout, page)
        layouts = self.encoder.table.layouts
        hook = self._hook().lance_choose_layout
        named = hook(page=page, scope=self) if hook.get_hookimpls() else None
        if named is not None:
            if named not in layouts:
                raise self.encoder.table.missing(named)
            return layouts[named]
        scored = [
            (score, name, provided)
            for provided, name in self.encoder.layouts()
            if (score := provided.factory.score(page, self)) is not None
        ]
        if not scored:
            names = {"layout": self.options.layout, "codec": self.options.codec}
            wanted = " and ".join(f"the {kind} {name!r}" for kind, name in names.items() if name is not None)
            raise UnsupportedError(
                f"no installed plugin can write this page {f'by {wanted} ' if wanted else ''}"
                f"in a {self.file_version} file"
            )
        return min(scored, key=lambda one: one[:2])[2]

    def _choose(self, block: BlockSlice, context: DecodeContext) -> Provided | None:
        if self.forced is not None:
            return self._forced(block, context)
        named = self._named_codec(block, context)
        if named is not None and named not in self.excluded:
            found = self.encoder.table.codecs.get(named)
            if found is None:
                raise self.encoder.table.missing(named)
            return found
        best = self._best(block, context)
        return None if best is None else best[1]

    def _named_codec(self, block: BlockSlice, context: DecodeContext) -> EncodingKey | None:
        """Return the codec that a hook names; most runtimes have no such hook."""
        hook = self._hook().lance_choose_codec
        return hook(block=block, context=context, scope=self) if hook.get_hookimpls() else None

    def _forced(self, block: BlockSlice, context: DecodeContext) -> Provided:
        if self.forced is None:
            raise InternalError("no codec was requested")
        found = self.encoder.named(self.forced)
        scope = self.altered(forced=None)
        if not self.encoder.allows(found.factory, context) or found.factory.score(block, context, scope) is None:
            raise UnsupportedError(
                f"the codec {self.forced!r} cannot hold {block.shape} in the {context.value} context of "
                f"{self.file_version} files"
            )
        return found

    def _best(self, block: BlockSlice, context: DecodeContext) -> tuple[float, Provided] | None:
        # The summary keeps the block, and so its identity.
        key = id(self.summary(block)), context, self.excluded, self.forced
        known = self.summaries.best.get(key)
        if known is not None and known[0] is self.options and known[1] == self.chunk_rules:
            return known[2]
        found = self._scored(block, context)
        self.summaries.best[key] = self.options, self.chunk_rules, found
        return found

    def _scored(self, block: BlockSlice, context: DecodeContext) -> tuple[float, Provided] | None:
        best: tuple[float, str, Provided] | None = None
        for provided, name in self.encoder.guesses(context, type(block.shape)):
            if self.excluded and provided.factory.key in self.excluded:
                continue
            score = provided.factory.score(block, context, self)
            if score is not None and (best is None or (score, name) < best[:2]):
                best = score, name, provided
        return None if best is None else (best[0], best[2])

    def _within(self, chosen: Provided) -> PageScope:
        """Return the scope for encoding with the codec; a codec outside the format needs permission."""
        key = chosen.factory.key
        self.encoder.permit(key)
        return self._without(self.excluded | {key})

    def _without(self, excluded: frozenset[EncodingKey]) -> PageScope:
        """Return a scope without a named codec that excludes some codecs."""
        return PageScope(self.encoder, self.leaf, self.options, self.summaries, self.chunk_rules, excluded)

    def _encode_all(self, chosen: Provided, block: BlockSlice, value_starts: NDArray[np.int64]) -> EncodedChunks:
        answer: EncodedChunks = chosen.factory.encode_blocks(block, value_starts, self._within(chosen))
        if not isinstance(answer, EncodedChunks) or len(answer.value_counts) != len(value_starts) - 1:
            raise PluginContractError(f"codec encoder {chosen.plugin.name!r} did not encode each block")
        return answer

    def _encode_one_by_one(self, chosen: Provided, block: BlockSlice, value_starts: NDArray[np.int64]) -> EncodedChunks:
        borders = value_starts.tolist()
        parts = [block.part(start, stop) for start, stop in pairwise(borders)]
        answers = [self._encode(chosen, part, DecodeContext.BLOCK) for part in parts or [block.part(0, 0)]]
        first = answers[0].description
        if any(answer.description != first for answer in answers):
            raise UnsupportedError(f"the codec {chosen.factory.key} describes each block differently")
        buffers = [one.buffer for one in answers if isinstance(one, EncodedBlock) and one.buffer is not None]
        sizes = np.array([[answer.nbytes for answer in answers[: len(parts)]]], np.int64)
        if not buffers:
            return EncodedChunks(first, (), sizes[:0], np.diff(value_starts))
        return EncodedChunks(first, (np.concatenate(buffers),), sizes, np.diff(value_starts))

    def _encode(self, chosen: Provided, block: BlockSlice, context: DecodeContext) -> Encoded:
        scope = self._within(chosen)
        answer: Encoded = chosen.factory.encode(block, context, scope)
        if not isinstance(answer, _ANSWERS[context]):
            raise PluginContractError(
                f"codec encoder {chosen.plugin.name!r} returned {type(answer).__name__} in the {context.value} context"
            )
        return answer

    def _hook(self) -> Any:
        return self.encoder.table.plugins.manager.hook
