from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes

_Positions = NDArray[np.int64]

class NativePage:
    @property
    def num_rows(self) -> int: ...
    @property
    def picks_close_rows(self) -> bool: ...
    @property
    def value_bits(self) -> int: ...
    data_buffer: int
    second_buffer: int
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
def chunked_pages(
    num_rows: _Positions,
    layers: Sequence[int],
    levels: tuple[int, int, int],
    offset_bits: int,
    values: object,
    def_: object | None,
    large: bool,
    chunk_starts: _Positions,
    value_starts: _Positions,
    borders: _Positions,
) -> list[NativePage] | None: ...
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
def flat_page(num_rows: int, bits: int, data_buffer: int, validity_buffer: int = -1) -> NativePage: ...
def binary_page(
    num_rows: int, offset_bits: int, data_buffer: int, ends_buffer: int, end_bytes: int, null_adjustment: int
) -> NativePage: ...
def places_page(inner: NativePage, layers: Sequence[int], highest: int) -> NativePage | None: ...
