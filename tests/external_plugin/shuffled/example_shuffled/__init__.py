"""DEFLATE over the bytes of numbers, the first bytes of all numbers first, then the second ones."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi import FixedWidthCodec, hookimpl


class Shuffled(FixedWidthCodec):
    id = "example.shuffled/1"
    distribution = "lance-shuffled"
    dtypes = ("int16", "int32", "int64", "float32", "float64")
    decode_errors = (ValueError, zlib.error)

    def encode_values(self, values: NDArray[Any]) -> bytes:
        return zlib.compress(values.view(np.uint8).reshape(-1, values.itemsize).T.tobytes())

    def decode_values(self, data: bytes, num_values: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        plain = zlib.decompressobj().decompress(data, num_values * dtype.itemsize)
        shuffled = np.frombuffer(plain, np.uint8).reshape(dtype.itemsize, num_values)
        return np.frombuffer(shuffled.T.tobytes(), dtype)


@hookimpl
def lance_provide_codecs() -> list[Shuffled]:
    return [Shuffled()]
