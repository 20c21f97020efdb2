"""`Projection`: what the caller named, as pruned columns to read and how to cut the named ones out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_arrow.arrays.column_paths import (
    Path,
    Reach,
    Steps,
    no_such_column,
    node_at,
    parse_path,
    project,
    pruned,
    reach,
)
from lance_arrow.arrays.column_roots import all_roots, named_among, root_names
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.leaf_arrays import StructFields
from lance_arrow.errors import InvalidArgumentError


# Not frozen: thousands are made of wide files, and making them so takes three times as long.
@dataclass(slots=True, eq=False)
class _Output:
    """One column of the result: which read column it is cut out of, and by which struct fields; as stored, as seen."""

    column: int
    fields: tuple[str, ...]
    node: ColumnNode
    stored: pa.Field
    shown: pa.Field

    @classmethod
    def made(cls, column: int, fields: tuple[str, ...], node: ColumnNode, stored: pa.Field) -> _Output:
        """`node` is what the output came from, cut down to it; a packed struct's own where the path goes into it."""
        return cls(column, fields, node, stored, shown_field(node, stored))

    def of(self, array: pa.Array, *, filled: bool = False) -> pa.Array:
        """Take this output of the field that it is, which may hold more of a list's items than it keeps."""
        type_ = (self.shown if filled else self.stored).type
        return array if array.type == type_ else _narrowed(array, type_)


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Columns to read, each once, and the outputs in the caller's order.

    A path through structs is named by its last part, as `pyarrow.dataset` does; a null struct gives null children.
    A path into a list or map returns the list with only the chosen fields of its items. All paths into one list make
    one output with the name of the list, at the place of the first path.

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
    blobs_are_columns: bool = False
    """Whether blobs are wanted, and every output is the column of `nodes` at its place, and so is every blob."""

    @classmethod
    def _made(
        cls, nodes: tuple[ColumnNode, ...], outputs: tuple[_Output, ...], metadata: Mapping[bytes, bytes] | None
    ) -> Projection:
        stored = pa.schema([output.stored for output in outputs], metadata)
        # A generator would be resumed for each of thousands of columns.
        if all([output.shown is output.stored for output in outputs]):
            return cls(nodes, outputs, stored, stored)
        shown = pa.schema([output.shown for output in outputs], metadata)
        are_columns = len(nodes) == len(outputs) and all(
            output.column == number
            and output.node is nodes[number]
            and (output.shown is output.stored or isinstance(output.node, LeafNode))
            for number, output in enumerate(outputs)
        )
        return cls(nodes, outputs, stored, shown, blobs_are_columns=are_columns)

    @property
    def has_blobs(self) -> bool:
        """Whether blobs are to be read, after the rows."""
        return self.stored is not self.schema

    @classmethod
    def of(
        cls, roots: Sequence[ColumnNode], metadata: Mapping[bytes, bytes] | None, columns: Sequence[str] | None
    ) -> Projection:
        """Resolve column paths against a file.

        Parameters
        ----------
        roots
            Its columns.
        metadata
            Metadata of its schema.
        columns
            Dotted paths; all columns when None.

        Raises
        ------
        InvalidArgumentError
            A path names no column, or `columns` is no sequence of strings.
        """
        if columns is None:
            outputs = tuple(
                [
                    _Output(number, (), root, root.field, root.field)
                    if isinstance(root, LeafNode) and root.bytes_field is None
                    else _Output.made(number, (), root, root.field)
                    for number, root in enumerate(roots)
                ]
            )
            return replace(cls._made(all_roots(roots), outputs, metadata), is_whole=True)
        paths = column_paths(columns, roots)
        nodes = project(roots, paths)
        places = {node.field.name: i for i, node in enumerate(nodes)}
        named = named_among(roots, len(nodes))
        whole = {node.field.name: named(node.field.name) for node in nodes}
        outputs = tuple(
            _Output.made(places[found.root], found.fields, *_source(whole[found.root], found, wanted))
            for found, wanted in _merged([_reach(roots, path) for path in paths])
        )
        return cls._made(nodes, outputs, metadata)

    @classmethod
    def covering(
        cls, roots: Sequence[ColumnNode], metadata: Mapping[bytes, bytes] | None, paths: Sequence[Path]
    ) -> Projection:
        """Take every column that one of `paths` reaches into, pruned to what they reach, under its own name."""
        nodes = project(roots, paths)
        outputs = tuple(_Output.made(i, (), node, node.field) for i, node in enumerate(nodes))
        return cls._made(nodes, outputs, metadata)

    def apply(self, batch: pa.RecordBatch, *, filled: bool = False) -> pa.RecordBatch:
        """Cut the outputs out of a batch of `nodes`; `filled`: with bytes of blobs in place of descriptors."""
        schema = self.schema if filled else self.stored
        if self.is_whole:
            return batch.replace_schema_metadata(schema.metadata)
        if not self.outputs:
            return batch
        fields = _Fields(batch)
        arrays = [output.of(fields.at(output.column, output.fields), filled=filled) for output in self.outputs]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Fields:
    """Fields of structs in a batch, null where a struct above is; outputs of one struct share its nulls."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._structs: dict[tuple[int, tuple[str, ...]], StructFields] = {}

    def at(self, column: int, fields: tuple[str, ...]) -> pa.Array:
        """Return a column, or a field below it."""
        if not fields:
            return self._batch.column(column)
        place = column, fields[:-1]
        if place not in self._structs:
            above = self.at(*place)
            self._structs[place] = StructFields(above.storage if isinstance(above, pa.ExtensionArray) else above)
        return self._structs[place].named(fields[-1])


def have_blobs(nodes: Iterable[ColumnNode]) -> bool:
    """Whether callers see bytes of blobs in some (pruned) columns, which lie apart from pages."""
    return any(node.shown is not node.field for node in nodes)


def shown_field(node: ColumnNode, stored: pa.Field) -> pa.Field:
    """Return what callers see of a column that came from `node`, be it under another name or below a struct."""
    shown = node.shown
    return stored if shown is node.field else shown.with_name(stored.name).with_nullable(stored.nullable)


def joined_nodes(wanted: Sequence[ColumnNode], of_filter: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
    """All that is read: wanted columns, and those of the filter unless they are among them."""
    columns = {leaf.column for node in wanted for leaf in node.leaves()}
    others = (node for node in of_filter if not columns.issuperset(leaf.column for leaf in node.leaves()))
    return (*wanted, *others)


def column_paths(columns: Sequence[str], roots: Sequence[ColumnNode]) -> list[Path]:
    """Split the names that a caller gave.

    Raises
    ------
    InvalidArgumentError
        `columns` is no sequence of strings.
    """
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidArgumentError(f"columns are {columns!r}, expected a list of names", detail=columns)
    names = root_names(roots)
    paths = []
    for column in columns:
        if not isinstance(column, str):
            raise InvalidArgumentError(f"columns hold {column!r}, expected names", detail=column)
        paths.append(parse_path(column, names))
    return paths


def _reach(roots: Sequence[ColumnNode], path: Path) -> Reach:
    found = reach(roots, path)
    if found is None:
        raise no_such_column(roots, path)
    return found


def _merged(found: Sequence[Reach]) -> list[tuple[Reach, list[Steps]]]:
    """Join all paths that lead to, or into, one list when one of them leads into it; leave the others alone."""
    entered = {(one.root, one.fields) for one in found if one.inner}
    outputs: list[tuple[Reach, list[Steps]]] = []
    joined: dict[tuple[str, tuple[str, ...]], list[Steps]] = {}
    for one in found:
        place = one.root, one.fields
        if place in joined:
            joined[place].append(one.inner)
            continue
        outputs.append((one, [one.inner]))
        if place in entered:
            joined[place] = outputs[-1][1]
    return outputs


def _source(root: ColumnNode | None, found: Reach, wanted: Sequence[Steps]) -> tuple[ColumnNode, pa.Field]:
    """Node that an output comes from, and its field: nullable when one of the structs around it is."""
    assert root is not None  # it was reached
    steps = found.steps[: len(found.steps) - len(found.inner)]
    nullable = any(node_at(root, steps[:depth]).field.nullable for depth in range(len(steps) + 1))
    node = node_at(root, steps)
    if len(steps) < len(found.fields):
        field = node.storage.field(found.fields[-1])
        return node, field.with_nullable(nullable or field.nullable)
    node = pruned(node, wanted)
    return node, node.field.with_nullable(nullable)


def _narrowed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Drop the fields that `type_` has not, at any depth; a map may become a list of its keys or values."""
    if array.type == type_:
        return array
    if isinstance(array, pa.ExtensionArray):
        return _narrowed(array.storage, type_)
    if isinstance(type_, pa.StructType):
        children = [_narrowed(array.field(field.name), field.type) for field in type_]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    item = type_.field(0).type
    buffers = array.buffers()[: 1 if isinstance(type_, pa.FixedSizeListType) else 2]
    children = [_narrowed(array.values, item)]
    return pa.Array.from_buffers(type_, len(array), buffers, array.null_count, array.offset, children)
