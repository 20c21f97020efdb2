import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes

_Positions = NDArray[np.int64]

def select_values(
    capsule: object,
    buffers: list[Bytes],
    num_values: int,
    starts: _Positions,
    stops: _Positions,
    limit_bytes: int,
) -> tuple[bytes, list[int] | None]: ...
def expand_values(
    capsule: object, data: Bytes, starts: _Positions, sizes: _Positions, limit_bytes: int
) -> tuple[bytes, list[int] | None]: ...
