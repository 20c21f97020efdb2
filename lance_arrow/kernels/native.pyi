from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.kernels.checksums import BlockChecks
from lance_arrow.spi.blocks import Bytes

_Positions = NDArray[np.int64]
_Node = tuple[int, Any, int, Any, int]

class LeafTake: ...

def prepare_leaves(
    wanted: list[tuple[list[Any], Sequence[int], int, int, tuple[int, ...], tuple[int, int, int, int] | None]],
    part_rows: tuple[int, ...],
    limit_bytes: int,
    allocate: Callable[[int], Any],
) -> list[LeafTake | None]: ...
def run_leaves(
    leaves: list[LeafTake],
    part: int,
    starts: _Positions,
    stops: _Positions,
    fd: int,
    memory: Bytes | None,
    size: int,
    checks: BlockChecks | None = None,
) -> tuple[str | None, int, int, int, int]: ...
def read_leaves(
    wanted: list[tuple[list[Any], Sequence[int], int, int, tuple[int, ...], tuple[int, int, int, int] | None]],
    starts: _Positions,
    stops: _Positions,
    num_rows: int,
    fd: int,
    memory: Bytes | None,
    size: int,
    limit_bytes: int,
    largest_offset: int,
    allocate: Callable[[int], Any],
    checks: BlockChecks | None = None,
) -> tuple[list[tuple[int, Any, Any, list[_Node]] | None] | str, int, int, int, int]: ...
def finish_leaves(
    leaves: list[LeafTake], largest_offset: int, allocate: Callable[[int], Any]
) -> list[tuple[int, Any, Any, list[_Node]]] | str: ...
