"""`TakeSet`: what takes of the same columns ask of the schema, found out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow.assembly.arrays import ArrayBuilder, DecodedLeaf
from lance_arrow.assembly.column_tree import ColumnNode, LeafNode
from lance_arrow.assembly.native_blobs import BlobLimits
from lance_arrow.assembly.native_take import TakePlan
from lance_arrow.errors import CorruptPageError


@dataclass(frozen=True, slots=True, eq=False)
class TakeSet:
    """Columns of a take: their leaves, how the engine takes those it can, and the schema of the result."""

    nodes: Sequence[ColumnNode]
    builders: tuple[ArrayBuilder, ...]
    leaves: tuple[LeafNode, ...]
    plans: tuple[TakePlan, ...]
    paths: tuple[str, ...]
    schema: pa.Schema

    @classmethod
    def of(cls, nodes: Sequence[ColumnNode], blob_limits: BlobLimits | None = None) -> TakeSet:
        """Look at columns.

        Parameters
        ----------
        nodes
            The columns.
        blob_limits
            Where columns of blobs are taken as callers see them; None where they are taken as descriptors.
        """
        leaves = tuple(leaf for node in nodes for leaf in node.leaves())
        plans = tuple(plan for plan in (TakePlan.of(leaf, blob_limits) for leaf in leaves) if plan is not None)
        fields = [node.field if blob_limits is None else node.shown for node in nodes]
        paths = tuple(leaf.path for leaf in leaves)
        return cls(nodes, tuple(map(ArrayBuilder.of, nodes)), leaves, plans, paths, pa.schema(fields))

    def batch(self, decoded: dict[int, DecodedLeaf | pa.Array], num_rows: int) -> pa.RecordBatch:
        """Assemble the columns; some leaves are columns already."""
        arrays = []
        for builder in self.builders:
            array = decoded[builder.column] if not builder.children else None
            if not isinstance(array, pa.Array):
                array = builder.build(decoded)
            if len(array) != num_rows:
                raise CorruptPageError(f"{len(array)} rows were decoded, {num_rows} selected", column=builder.node.path)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
