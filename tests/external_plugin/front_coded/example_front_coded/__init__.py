"""Front coding: each string without the prefix that it shares with the string before it.

    strings   Bern    Berlin    Bergen
    stored    0 Bern  3 lin     3 gen

Bytes of a chunk: for each string, the length of the shared prefix and of the rest as 32-bit words; then all rests;
all of it DEFLATEd.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from os.path import commonprefix

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi import VariableWidthCodec, hookimpl


class FrontCoded(VariableWidthCodec):
    """Suits sorted strings, such as paths and keys."""

    id = "example.front_coded/1"
    distribution = "lance-front-coded"
    decode_errors = (ValueError, zlib.error)

    def encode_values(self, offsets: NDArray[np.int64], data: bytes) -> bytes:
        before, words, rests = b"", [], []
        for start, stop in pairwise(offsets.tolist()):
            value = data[start:stop]
            shared = len(commonprefix([before, value]))  # noqa: RUF071 (bytes are meant)
            words.append((shared, len(value) - shared))
            rests.append(value[shared:])
            before = value
        return zlib.compress(np.array(words, "<u4").tobytes() + b"".join(rests))

    def decode_values(self, data: bytes, num_values: int, num_bytes: int) -> tuple[NDArray[np.int64], bytes]:
        # The rests are no longer than the strings, so damaged bytes cannot expand to more.
        data = zlib.decompressobj().decompress(data, 8 * num_values + num_bytes + 1)
        words = np.frombuffer(data, "<u4", 2 * num_values).reshape(-1, 2).astype(np.int64)
        offsets = np.append(0, np.cumsum(words.sum(axis=1)))
        if offsets[-1] != num_bytes or words[:, 1].sum() != len(data) - 8 * num_values:
            raise ValueError(f"strings of {offsets[-1]} bytes, expected {num_bytes}")
        values, position = [b""], 8 * num_values
        for shared, rest in words.tolist():
            if shared > len(values[-1]):
                raise ValueError("a string shares more bytes than the string before it has")
            values.append(values[-1][:shared] + data[position : position + rest])
            position += rest
        return offsets, b"".join(values)


@hookimpl
def lance_provide_codecs() -> list[FrontCoded]:
    return [FrontCoded()]
