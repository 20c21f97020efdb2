"""`Frames`: decompress buffers after a check of their declared sizes, for every codec with a compression scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes
from lance_arrow.spi.codecs import BoundBufferScheme
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.scopes import BindScope

LARGEST_CONTENT = MappingProxyType(
    {
        DecodeContext.MINI_BLOCK: "max_chunk_bytes",
        DecodeContext.BLOCK: "max_dictionary_bytes",
        DecodeContext.PER_VALUE: "max_value_bytes",
    }
)


@dataclass(frozen=True, slots=True)
class Frames:
    """A bound scheme with the limit of one frame.

    Parameters
    ----------
    scheme
        Returns declared sizes and decompresses.
    check
        `Limits.check`.
    largest
        Name of the limit of one frame's content.
    most_bytes
        That limit.
    """

    scheme: BoundBufferScheme
    check: Callable[[str, int], int]
    largest: str
    most_bytes: int

    @classmethod
    def bind(cls, compression: Any, context: DecodeContext, scope: BindScope) -> Frames:
        """Bind a ``BufferCompression`` whose frames are buffers of chunks, blocks, or single values.

        Raises
        ------
        UnknownEncodingError
            No plugin provides the scheme.
        """
        return cls.of(scope.buffer_scheme(compression), context, scope)

    @classmethod
    def of(cls, scheme: BoundBufferScheme, context: DecodeContext, scope: BindScope) -> Frames:
        """Return frames of a scheme that is already bound, such as that of a private codec."""
        largest = LARGEST_CONTENT[context]
        return cls(scheme, scope.limits.check, largest, getattr(scope.limits, largest))

    def open(
        self, data: Bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64], spare_bytes: int = 0
    ) -> tuple[Bytes, NDArray[np.int64]]:
        """Decompress the frames ``data[starts[i] : starts[i] + sizes[i]]``.

        Parameters
        ----------
        spare_bytes
            Bytes to leave free after the content; their content is undefined.

        Returns
        -------
        tuple
            Contents back to back, and ``(n + 1,) int64``: the start of each, then the end of the last.

        Raises
        ------
        ResourceLimitError
            A frame, or all frames together, declare more than the limits allow.
        CorruptPageError
            The content of a frame differs from its declared size.
        """
        plain_starts = self.places(data, starts, sizes)
        total = int(plain_starts[-1])
        plain = np.empty(self.check("max_batch_bytes", total + spare_bytes), np.uint8)
        self.scheme.decompress(data, starts, sizes, plain[:total], plain_starts)
        return plain, plain_starts

    def places(self, data: Bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the start of each content in the result of `open`, then the last end, ``(n + 1,) int64``.

        Raises
        ------
        ResourceLimitError, CorruptPageError
            As `open`, for declared sizes.
        """
        plain_sizes = self.scheme.sizes(data, starts, sizes)
        self.check(self.largest, int(plain_sizes.max(initial=0)))
        plain_starts = np.zeros(len(plain_sizes) + 1, np.int64)
        np.cumsum(plain_sizes, out=plain_starts[1:])
        self.check("max_batch_bytes", int(plain_starts[-1]))
        return plain_starts
