"""The interface of an open file for pruning: its columns, their metadata, and its zone maps, without values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.runtime import Runtime
from lance_arrow.statistics.zone_maps import ZoneMap


class DescribedFile(Protocol):
    """Metadata of an open file."""

    @property
    def file(self) -> LanceFileReader: ...

    @property
    def runtime(self) -> Runtime: ...

    @property
    def roots(self) -> Sequence[ColumnNode]: ...

    @property
    def num_rows(self) -> int: ...

    def described(self, leaves: Sequence[LeafNode]) -> list[ColumnMeta]:
        """Return the metadata of columns."""
        ...


class HasZoneMaps(Protocol):
    """Reads the zone maps of one file."""

    def get(self, leaves: Sequence[LeafNode]) -> list[ZoneMap | None]:
        """Return the zone maps of leaves, None for those without one."""
        ...
