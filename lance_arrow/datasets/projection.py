"""`Projection`: what the caller named, as pruned columns to read and how to cut the named ones out of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.blobs import shown_field
from lance_arrow.assembly.column_tree import ColumnNode, Path, parse_path, project
from lance_arrow.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True, eq=False)
class _Output:
    name: str
    column: int
    fields: tuple[str, ...]
    node: ColumnNode


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Columns to read, each once, and the outputs in the caller's order.

    A dotted path is named by its last part, as `pyarrow.dataset` does; a null struct gives null children.

    Parameters
    ----------
    nodes
        Columns to read.
    outputs
        What is cut out of them.
    stored
        Schema of the outputs as they are cut, with descriptors of blobs.
    schema
        Schema of the outputs as callers see them, with blobs as they asked for them.
    """

    nodes: tuple[ColumnNode, ...]
    outputs: tuple[_Output, ...]
    stored: pa.Schema
    schema: pa.Schema
    is_whole: bool = False
    """Whether the outputs are the columns of `nodes` as they are."""

    @classmethod
    def _made(
        cls, nodes: tuple[ColumnNode, ...], outputs: tuple[_Output, ...], fields: Sequence[pa.Field], schema: pa.Schema
    ) -> Projection:
        shown = [shown_field(output.node, field) for output, field in zip(outputs, fields, strict=True)]
        stored = pa.schema(fields, schema.metadata)
        has_blobs = any(output.node.shown is not output.node.field for output in outputs)
        return cls(nodes, outputs, stored, pa.schema(shown, schema.metadata) if has_blobs else stored)

    @property
    def has_blobs(self) -> bool:
        """Whether blobs are to be read, after the rows."""
        return self.stored is not self.schema

    @classmethod
    def of(cls, roots: Sequence[ColumnNode], schema: pa.Schema, columns: Sequence[str] | None) -> Projection:
        """Resolve column paths against a file.

        Raises
        ------
        InvalidArgumentError
            A path names no column, or `columns` is no sequence of strings.
        """
        if columns is None:
            outputs = tuple(_Output(root.field.name, i, (), root) for i, root in enumerate(roots))
            fields = [root.field for root in roots]
            return replace(cls._made(tuple(roots), outputs, fields, schema), is_whole=True)
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise InvalidArgumentError(f"columns are {columns!r}, expected a list of names", detail=columns)
        columns = list(columns)
        for column in columns:
            if not isinstance(column, str):
                raise InvalidArgumentError(f"columns hold {column!r}, expected names", detail=column)
        names = {root.field.name for root in roots}
        paths = [parse_path(column, names) for column in columns]
        nodes = project(roots, paths)
        places = {node.field.name: i for i, node in enumerate(nodes)}
        outputs = tuple(
            _Output(path[-1], places[path[0]], path[1:], _below(nodes[places[path[0]]], path[1:])) for path in paths
        )
        fields = [_field(nodes[output.column].field, output) for output in outputs]
        return cls._made(nodes, outputs, fields, schema)

    @classmethod
    def covering(cls, roots: Sequence[ColumnNode], schema: pa.Schema, paths: Sequence[Path]) -> Projection:
        """Take every column that one of `paths` reaches into, pruned to what they reach, under its own name."""
        nodes = project(roots, paths)
        outputs = tuple(_Output(node.field.name, i, (), node) for i, node in enumerate(nodes))
        return cls._made(nodes, outputs, [node.field for node in nodes], schema)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Cut the outputs out of a batch of `nodes`."""
        if self.is_whole:
            return batch
        arrays = [_extract(batch.column(output.column), output.fields) for output in self.outputs]
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, schema=self.stored)

    def cut(self, batch: pa.RecordBatch, *, filled: bool = False) -> pa.RecordBatch:
        """Cut the outputs out of a batch that holds their columns, and maybe others, by name; `filled`: with blobs."""
        if not self.outputs:
            return batch.select([])
        names = [self.nodes[output.column].field.name for output in self.outputs]
        arrays = [_extract(batch.column(name), output.fields) for name, output in zip(names, self.outputs, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema if filled else self.stored)


def _below(node: ColumnNode, fields: tuple[str, ...]) -> ColumnNode:
    """The node of a path; a packed struct's own where the path goes into it."""
    for name in fields:
        node = next((child for child in node.children if child.field.name == name), node)
    return node


def _field(field: pa.Field, output: _Output) -> pa.Field:
    nullable = field.nullable
    for name in output.fields:
        field = field.type.field(name)
        nullable = nullable or field.nullable
    return field.with_nullable(nullable)


def _extract(array: pa.Array, fields: tuple[str, ...]) -> pa.Array:
    return pc.struct_field(array, list(fields)) if fields else array
