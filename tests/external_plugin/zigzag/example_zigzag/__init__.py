"""A codec of a third party: signed integers near a base become small unsigned ones, which others then encode.

    value, base 100    100   99  101   98  102
    stored               0    1    2    3    4

It is written where a column asks for it, by ``column_options={"c": {"codec": "example.zigzag/1", "base": 100}}`` and
``allow_private_encodings=True``. Its description holds the base. The codec that suits the
stored numbers encodes them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.spi import ElementwiseCodec, hookimpl

BASE = struct.Struct("<q")


@dataclass(frozen=True)
class Zigzag(ElementwiseCodec):
    """Maps distances from a base to unsigned numbers."""

    base: int = 0

    id = "example.zigzag/1"
    distribution = "lance-zigzag"
    dtypes = ("int8", "int16", "int32", "int64")

    def for_options(self, options: Mapping[str, Any]) -> Zigzag:
        base = options.get("base", 0)
        if not isinstance(base, int) or not -(1 << 63) <= base < 1 << 63:
            raise InvalidArgumentError(f"base is {base!r}, expected an integer of 64 bits", detail=base)
        super().for_options({name: value for name, value in options.items() if name != "base"})
        return Zigzag(base)

    def config(self) -> bytes:
        return BASE.pack(self.base)

    def for_config(self, config: bytes) -> Zigzag:
        if len(config) != BASE.size:
            raise CorruptFileError(f"a zigzag base of {len(config)} bytes, expected {BASE.size}")
        return Zigzag(*BASE.unpack(config))

    def map_values(self, values: NDArray[Any]) -> NDArray[Any]:
        distance = values - self._wrapped(values.dtype)
        return distance << 1 ^ distance >> 8 * distance.itemsize - 1

    def restore_values(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        signs = (numbers & 1).view(dtype)
        return ((numbers >> 1).view(dtype) ^ -signs) + self._wrapped(dtype)

    def _wrapped(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The base in as many bits as the values have; differences wrap around."""
        return np.array([self.base], np.int64).astype(dtype)


@hookimpl
def lance_provide_codecs() -> list[Zigzag]:
    return [Zigzag()]
