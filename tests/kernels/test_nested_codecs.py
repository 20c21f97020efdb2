"""Native codecs within each other: every nesting of one thread has memory of its own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from forged import lz4
from forged_arrays import symbols

import lance_arrow
from lance_arrow.kernels import native_checks, native_codecs

COUNT = 300
# Codes of the inner table stand for codes of the outer one, which stand for the values.
INNER = [b"\0\1\0\2\0\1\0\2", b"\2\1", b"\1"]
OUTER = [b"ab", b"c", b"defghijk"]
STORED = [bytes([number % 3] * (number % 5)) for number in range(COUNT)]


def expanded(codes: bytes, table: list[bytes]) -> bytes:
    return b"".join(table[code] for code in codes)


VALUES = [expanded(expanded(codes, INNER), OUTER) for codes in STORED]


def chunk(values: list[bytes]) -> bytes:
    ends = np.cumsum([4 * (len(values) + 1), *map(len, values)])
    return ends.astype("<u4").tobytes() + b"".join(values)


def table(held: list[bytes]) -> np.ndarray:
    return np.frombuffer(symbols(*held), np.uint8)


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("rows", [[0, 3, 5], range(COUNT), range(1, COUNT, 7), [299]])
def test_symbols_of_symbols(rows: list[int], is_compressed: bool) -> None:
    inner = native_codecs.symbols(native_codecs.variable(32), table(INNER))
    content = chunk(STORED)
    if is_compressed:
        inner, content = native_codecs.compressed(inner, native_codecs.lz4(), 1 << 20), lz4(content)
    codec = native_codecs.symbols(inner, table(OUTER))
    starts = np.array(rows, np.int64)
    # Memory is left behind by a first call, and used again by the second.
    for _ in range(2):
        values, ends = native_checks.select_values(
            codec, [np.frombuffer(content, np.uint8)], COUNT, starts, starts + 1, 1 << 20
        )
        assert ends is not None
        assert [values[start:stop] for start, stop in zip([0, *ends], ends, strict=False)] == [VALUES[n] for n in rows]


def test_only_scratch_has_variables_of_a_thread() -> None:
    """A nested call finds what the outer one holds in a variable of their thread: `scratch.hpp` leases instead."""
    folder = Path(lance_arrow.__file__).parent
    sources = [path for kind in ("*.hpp", "*.pyx", "*.pxd", "*.h") for path in sorted(folder.rglob(kind))]
    if not sources:
        pytest.skip("the package is installed without its native sources")
    found = {path.name for path in sources if re.search(r"\bthread_local\b", path.read_text())}
    assert found == {"scratch.hpp"}
