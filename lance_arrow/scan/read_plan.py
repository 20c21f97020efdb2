"""`ReadPlan`: what takes of the same columns ask of the schema, found out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import ArrayBuilder, DecodedLeaf, typed_schema
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, leaves_of
from lance_arrow.engine import ColumnForms
from lance_arrow.errors import CorruptPageError
from lance_arrow.scan.blobs.native_blobs import BlobLimits
from lance_arrow.scan.native_take import Done, TakePlan
from lance_arrow.spi import FixedWidth, VariableWidth


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """Columns of a take: their leaves, how the engine takes those it can, and the schema of the result."""

    nodes: tuple[ColumnNode, ...]
    builders: tuple[ArrayBuilder, ...]
    leaves: tuple[LeafNode, ...]
    plans: tuple[TakePlan, ...]
    paths: tuple[str, ...]
    schema: pa.Schema

    @classmethod
    def of(cls, nodes: Sequence[ColumnNode], blob_limits: BlobLimits | None = None) -> ReadPlan:
        """Look at columns.

        Parameters
        ----------
        nodes
            The columns.
        blob_limits
            Where columns of blobs are taken as callers see them; None where they are taken as descriptors.
        """
        leaves = tuple(leaves_of(nodes))
        found = TakePlan.all_of(leaves, blob_limits)
        plans = tuple([plan for plan in found if plan is not None])
        fields = [node.field if blob_limits is None else node.shown for node in nodes]
        paths = tuple([leaf.path for leaf in leaves])
        return cls(tuple(nodes), ArrayBuilder.all_of(nodes), leaves, plans, paths, pa.schema(fields))

    @cached_property
    def forms(self) -> ColumnForms | None:
        """How a batch is made at once of leaves that the engine has all taken; None where some are not plain."""
        positions = {plan.leaf.column: position for position, plan in enumerate(self.plans) if _is_plain(plan)}
        if len(positions) < len(self.leaves):
            return None
        return ColumnForms([_form(builder, positions) for builder in self.builders], self.schema)

    @cached_property
    def may_be_coded(self) -> bool:
        """Whether columns may come as dictionaries, or flags, where the schema says strings."""
        return any([leaf.may_be_coded or leaf.judge is not None for leaf in self.leaves])

    def decoded(self, done: Sequence[Done | None]) -> dict[int, DecodedLeaf | pa.Array]:
        """Take over what the engine laid out, by physical column; leaves that it could not read are left out."""
        decoded: dict[int, DecodedLeaf | pa.Array] = {}
        make = pa.Array.from_buffers
        for plan, one in zip(self.plans, done, strict=False):
            if one is None:
                continue
            num_values, values, offsets, nodes = one
            num_slots, validity, null_count, *_ = nodes[0]
            if plan.plain_type is None or offsets is not None or plan.blobs is not None or num_slots != num_values:
                decoded[plan.leaf.column] = plan.decoded(one)
            else:
                # Values of one width, as most columns have: a call for each would take as long as this.
                decoded[plan.leaf.column] = make(plan.plain_type, num_values, [validity, values], null_count)
        return decoded

    def batch_of(self, done: list[Done | None], num_rows: int) -> pa.RecordBatch | None:
        """Make the batch at once; None where that cannot be, or where something is wrong that `batch` can name."""
        if self.forms is None or not done or None in done:
            return None
        return self.forms.batch(done, num_rows)

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
        schema = typed_schema(self.schema, arrays) if self.may_be_coded else self.schema
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _is_plain(plan: TakePlan) -> bool:
    """Whether the values of a leaf are one buffer, or one with offsets, under its validity."""
    leaf = plan.leaf
    is_stored = plan.blobs is None and not leaf.is_json and plan.form == "plain"
    return is_stored and isinstance(leaf.leaf.shape, FixedWidth | VariableWidth)


def _form(builder: ArrayBuilder, positions: Mapping[int, int]) -> tuple[Any, ...]:
    """How a node is made, as `ColumnForms` wants it."""
    position = positions[builder.column]
    if isinstance(builder.node, LeafNode):
        is_text = pa.types.is_string(builder.storage) or pa.types.is_large_string(builder.storage)
        kind = "values" if isinstance(builder.node.leaf.shape, FixedWidth) else "strings"
        return kind, position, 1, is_text, ()
    kind = "slots" if builder.items_per_slot else "list"
    return kind, position, builder.items_per_slot, False, tuple(_form(child, positions) for child in builder.children)
