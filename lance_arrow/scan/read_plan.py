"""`ReadPlan`: what takes of the same columns ask of the schema, found out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import ArrayBuilder, DecodedLeaf, typed_schema
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, leaves_of, refuse_unreadable
from lance_arrow.engine import ReadForms
from lance_arrow.errors import CorruptPageError, LanceError, located
from lance_arrow.pages.value_rows import has_rows_of_any_length
from lance_arrow.scan.blobs.native_blobs import BlobLimits
from lance_arrow.scan.native_take import Done, TakePlan

_INT32_MAX = np.iinfo(np.int32).max


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
    def forms(self) -> ReadForms:
        """The leaves that the engine takes; it makes batches itself where these are all, and plain."""
        # Without a call for each of thousands of columns.
        shapes = [
            (
                plan.leaf.offset_bits,
                plan.value_bits,
                plan.value_offset_bits,
                plan.field_bytes,
                plan.blobs,
                plan.form,
                plan.list_parts,
                plan.is_text,
                plan.leaf.dimensions if any(plan.leaf.dimensions) else (),
                plan.leaf.lengths_per_row,
            )
            for plan in self.plans
        ]
        places = {plan.leaf.column: place for place, plan in enumerate(self.plans) if plan.kind is not None}
        if len(places) < len(self.leaves):
            return ReadForms(shapes)
        return ReadForms(shapes, self._columns(self.builders, places), self.schema)

    def _columns(self, builders: Sequence[ArrayBuilder], places: Mapping[int, int]) -> list[tuple[Any, ...]]:
        """How nodes are made, as `ReadForms` wants it."""
        columns: list[tuple[Any, ...]] = []
        for builder in builders:
            place = places[builder.column]
            if type(builder.node) is LeafNode:
                plan = self.plans[place]
                columns.append((plan.kind, place, 1, ()))
            else:
                kind = "slots" if builder.items_per_slot else "list"
                children = tuple(self._columns(builder.children, places))
                columns.append((kind, place, builder.items_per_slot, children))
        return columns

    @cached_property
    def has_forms(self) -> bool:
        """Whether some leaves come as codes, views or flags: then rows are one part."""
        return any([plan.form != "plain" for plan in self.plans])

    @cached_property
    def counts_structs(self) -> bool:
        """Whether pages of some leaves count other rows than the file: each struct of fixed-size lists of these."""
        return any([plan.leaf.lengths_per_row != 1 for plan in self.plans])

    @cached_property
    def has_blob_bytes(self) -> bool:
        """Whether blobs are read in place of their descriptors."""
        return any([plan.blobs is not None for plan in self.plans])

    @cached_property
    def _packed_rows(self) -> list[int]:
        """Leaves whose packed structs come as rows of any length; their fields may have offsets of 32 bits."""
        return [place for place, plan in enumerate(self.plans) if has_rows_of_any_length(plan.leaf.leaf.shape)]

    def has_many_bytes(self, done: Sequence[Done | None]) -> bool:
        """Whether packed structs have more bytes together than the offsets of their fields count."""
        packed = [done[place] for place in self._packed_rows]
        return any([one is not None and one[1].size > _INT32_MAX for one in packed])

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
            is_other = plan.plain_type is None or plan.blobs is not None or plan.form != "plain"
            if is_other or offsets is not None or num_slots != num_values:
                try:
                    decoded[plan.leaf.column] = plan.decoded(one)
                except LanceError as error:
                    located(column=plan.leaf.path).fill(error)
                    raise
            else:
                # Values of one width, as most columns have: a call for each would take as long as this.
                decoded[plan.leaf.column] = make(plan.plain_type, num_values, [validity, values], null_count)
        return decoded

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

    def no_rows(self) -> pa.RecordBatch:
        """Return no rows of the columns; raises for columns that cannot be read."""
        for leaf in self.leaves:
            refuse_unreadable(leaf)
        columns = [column.combine_chunks() for column in self.schema.empty_table().columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
