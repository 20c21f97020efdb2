import numpy as np
from numpy.typing import NDArray

from lance_arrow.kernels.checksums import BlockChecks
from lance_arrow.spi.blocks import Bytes

_Numbers = NDArray[np.uint64]

def lay_out(
    positions: _Numbers,
    sizes: _Numbers,
    kinds: Bytes | None,
    validity: Bytes | None,
    data_stop: int,
    limit_bytes: int,
    offsets: Bytes,
    offset_bits: int,
) -> int: ...
def read_blobs(
    positions: _Numbers,
    offsets: Bytes,
    offset_bits: int,
    first: int,
    last: int,
    values: Bytes,
    fd: int,
    memory: Bytes | None,
    size: int,
    checks: BlockChecks | None = None,
) -> tuple[str | None, int, int, int, int]: ...
