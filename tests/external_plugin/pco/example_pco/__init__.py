"""Numbers by pcodec, a library of lossless codecs for numbers: https://pypi.org/project/pcodec/

Each chunk is a standalone pcodec file. Column option ``level``: 0 to 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pcodec import DEFAULT_COMPRESSION_LEVEL, ChunkConfig, standalone

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi import FixedWidthCodec, hookimpl


@dataclass(frozen=True)
class Pco(FixedWidthCodec):
    level: int = DEFAULT_COMPRESSION_LEVEL

    id = "example.pco/1"
    distribution = "lance-pco"
    dtypes = ("int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64")
    decode_errors = (ValueError, RuntimeError)
    chunk_bytes = 32 << 10

    def for_options(self, options: Mapping[str, Any]) -> Pco:
        level = options.get("level", DEFAULT_COMPRESSION_LEVEL)
        if level not in range(13):
            raise InvalidArgumentError(f"level is {level!r}, expected 0 to 12", detail=level)
        super().for_options({name: value for name, value in options.items() if name != "level"})
        return Pco(level)

    def encode_values(self, values: NDArray[Any]) -> bytes:
        return standalone.simple_compress(values, ChunkConfig(compression_level=self.level))

    def decode_values(self, data: bytes, num_values: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        values = np.zeros(num_values, dtype)
        done = standalone.simple_decompress_into(data, values)
        if done.n_processed != num_values or not done.finished:
            raise ValueError(f"{done.n_processed} values, expected {num_values}")
        return values


@hookimpl
def lance_provide_codecs() -> list[Pco]:
    return [Pco()]
