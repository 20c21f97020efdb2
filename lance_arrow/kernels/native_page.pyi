from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes

_Positions = NDArray[np.int64]

class NativePage:
    @property
    def num_rows(self) -> int: ...
    @property
    def value_bits(self) -> int: ...
    data_buffer: int
    offset_bits: int
    is_for_scans: bool

def chunked_page(
    num_rows: int,
    layers: Sequence[int],
    levels: tuple[int, int, int],
    offset_bits: int,
    values: object,
    rep: object | None,
    def_: object | None,
    large: bool,
    chunk_starts: _Positions,
    value_starts: _Positions,
    rows_started: _Positions | None = None,
    rows_finished: _Positions | None = None,
    rows_left: _Positions | None = None,
    items: tuple[int, Bytes, Bytes | None, int, int] | None = None,
) -> NativePage | None: ...
def zipped_page(
    num_rows: int,
    layers: Sequence[int],
    levels: tuple[int, int, int],
    offset_bits: int,
    counts: tuple[int, int],
    entry: tuple[int, int, int, int],
    values: object,
    row_bytes: int,
    row_starts: _Positions | None = None,
    stored: object | None = None,
) -> NativePage: ...
def places_page(inner: NativePage, layers: Sequence[int], highest: int) -> NativePage | None: ...
