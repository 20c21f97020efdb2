from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

Instruction = tuple[int, int, int, int, int]

class NativeFilePruner:
    """Finds files that a filter leaves nothing of.

    Parameters
    ----------
    instructions
        The filter in postfix order, as ``Step`` in ``zone_judge.hpp``: step, argument, first literal, end of literals,
        flag.
    literals
        Kind ("i", "u", "f", "b") and value of each.
    num_columns
        How many columns the instructions judge.
    has_checks
        Whether what is looked at is compared with its checksums.

    Raises
    ------
    InternalError
        An instruction lacks an argument.
    """

    num_columns: int

    def __init__(
        self,
        instructions: Sequence[Instruction],
        literals: Sequence[tuple[str, int | float | bytes]],
        num_columns: int,
        has_checks: bool,
    ) -> None: ...
    @property
    def pointer(self) -> object:
        """What the bridge takes it by."""
    @property
    def is_idle(self) -> bool:
        """Whether it has found too little to go on."""
    @property
    def num_asked(self) -> int:
        """Files that were looked at."""
    @property
    def num_excluded(self) -> int:
        """Files that were left out."""
    def excludes(self, path: str) -> bool:
        """Tell whether a local file surely has no row that satisfies the filter."""
    def register_schema(self, descriptor: Bytes, minor_version: int, num_columns: int, columns: Sequence[int]) -> bool:
        """Learn which physical columns (-1: none) a schema has for those of the filter; from a file descriptor."""
    def register_encoding(self, metadata: Bytes, rows_per_zone: int, column_buffer: int) -> bool:
        """Learn what the encoding of a column, whose metadata this is, says of its zone map (0 rows: none)."""
    def register_stream(
        self,
        column: int,
        head: bytes,
        size: int,
        num_zones: int,
        kind: str,
        width: int,
        bounds: Sequence[tuple[int, int, int, int]],
        counts: Sequence[tuple[int, int]],
    ) -> bool:
        """Learn where the zone maps of a column of the filter have what, as ``KnownStream`` in ``file_pruner.hpp``."""
