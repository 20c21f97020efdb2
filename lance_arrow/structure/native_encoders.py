"""`native_encoders`: capsules of all encoders among which the pages of a leaf choose, if each has one.

Then pages of the leaf are chosen and written without Python (`engine/encode/leaves/leaf_encoding.hpp`). Otherwise
`PageEncoder` asks every encoder in Python. Encoders of the format and of third parties are asked by the same protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lance_arrow.spi import DecodeContext, EncodeOptions, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.table import Provided
from lance_arrow.structure.page_encoder import PageEncoder


class NativeEncoders(NamedTuple):
    """Capsules in the order of the names of their encodings, which decides between equal scores.

    Parameters
    ----------
    layouts
        Type URL of the described page, and capsule.
    chunks, blocks
        Codecs of chunks of values, and codecs of blocks of levels.
    """

    layouts: tuple[tuple[bytes, Any], ...]
    chunks: tuple[Any, ...]
    blocks: tuple[Any, ...]


def native_encoders(encoder: PageEncoder, leaf: LeafType, options: EncodeOptions) -> NativeEncoders | None:
    """Return what writes pages of a leaf natively; None if only Python can.

    Pages are written in Python if an encoder without a capsule might be chosen, or if the caller names an encoding. So
    they are if a plugin chooses encodings by a hook.
    """
    shape = leaf.shape
    is_named = (options.codec, options.layout, options.preferred_layout) != (None, None, None)
    hook = encoder.table.plugins.manager.hook
    has_choosers = hook.lance_choose_layout.get_hookimpls() or hook.lance_choose_codec.get_hookimpls()
    if not isinstance(shape, FixedWidth | VariableWidth) or is_named or has_choosers:
        return None
    scope = encoder.scope(leaf, options)
    values, parts = scope.for_values(), scope.for_parts()
    level = FixedWidth(16)
    layouts = _asked(encoder.layouts(), "native_pages", lambda ask: ask(leaf, scope))
    chunks = values.native_encoders(shape, DecodeContext.MINI_BLOCK)
    blocks = _asked(
        [(one, str(one.factory.key)) for one in encoder.block_codecs() if not one.factory.key.is_private],
        "native_encoder",
        lambda ask: ask(level, DecodeContext.BLOCK, parts),
    )
    if layouts is None or chunks is None or blocks is None:
        return None
    return NativeEncoders(
        tuple((f"/{key.message}".encode(), capsule) for key, capsule in layouts),
        chunks,
        tuple(capsule for _, capsule in blocks),
    )


def _asked(
    named: Iterable[tuple[Provided, str]], method: str, ask: Callable[[Callable[..., Any]], Any]
) -> list[tuple[Any, Any]] | None:
    """Return keys and capsules in the order of names; None if one has no capsule."""
    found = []
    for provided, _ in sorted(named, key=lambda one: one[1]):
        offer = getattr(provided.factory, method, None)
        capsule = None if offer is None else ask(offer)
        if capsule is None:
            return None
        found.append((provided.factory.key, capsule))
    return found
