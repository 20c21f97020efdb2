"""Which file a column of a table comes from, fragment by fragment, and how its array is made of what was read.

A column of the table is found by the ids of its leaves; names and order in the files mean nothing:

    table      st: {a #1, b #5}, c #3           files     0: st {x #1}, c #2        1: old {b #5}
    sources    st = struct of 0:st.x and 1:old.b, validity of 0;   c = nulls        (#2 was dropped)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_paths import Steps, node_at, pruned
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type, type_over
from lance_arrow.arrays.view_arrays import as_views, is_view
from lance_arrow.errors import CorruptFileError, CorruptManifestError
from lance_arrow.late_arrow import pc
from lance_arrow.spi.leaf_type import NodeKind


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """Place of a leaf of the table.

    Parameters
    ----------
    file
        Number of the file among those of the fragment.
    root
        Number of the top-level column in that file.
    steps
        From there to the leaf.
    """

    file: int
    root: int
    steps: Steps


@dataclass(frozen=True, slots=True, eq=False)
class FieldSource:
    """How an array of a node of the table is made.

    Parameters
    ----------
    node
        The node of the table, with blobs as the files store them.
    parts
        The matching nodes of files, as they are read: file number and node. The first one gives validity and lengths;
        none: all is null.
    children
        Sources of the children, and for each which part has it at which place.
    is_same
        Whether the one part is already the array.
    """

    node: ColumnNode
    parts: tuple[tuple[int, ColumnNode], ...]
    children: tuple[tuple[FieldSource, tuple[tuple[int, int], ...]], ...] = ()
    is_same: bool = False

    def array(self, arrays: Sequence[pa.Array], num_rows: int, pool: pa.MemoryPool | None) -> pa.Array:
        """Make the array of arrays of the parts.

        Parameters
        ----------
        arrays
            One per part, of `num_rows` each.
        num_rows
            Slots wanted.
        pool
            Where nulls are allocated.

        Raises
        ------
        CorruptFileError
            Files disagree about lengths, or a value does not fit the table's type.
        """
        if self.is_same:
            return arrays[0]
        type_ = self.node.field.type
        if not arrays:
            return pa.nulls(num_rows, type_, pool)
        if isinstance(self.node, LeafNode) and self.node.judge is not None and pa.types.is_boolean(arrays[0].type):
            return arrays[0]
        if not self.children:
            return _cast(arrays[0], type_, self.node.path)
        plain = [array.storage if isinstance(array, pa.ExtensionArray) else array for array in arrays]
        first = plain[0]
        below = [_children(array) for array in plain]
        buffers = [first.is_valid().buffers()[1] if first.null_count else None]
        length = num_rows
        if self.node.kind is NodeKind.LIST:
            offsets = _offsets(plain, self.node)
            buffers.append(offsets.buffers()[1])
            length = len(below[0][0])
        elif self.node.kind is NodeKind.FIXED_SIZE_LIST:
            length = len(below[0][0])
        children = [
            child.array([below[part][place] for part, place in places], length, pool) for child, places in self.children
        ]
        storage = storage_type(type_)
        made = pa.Array.from_buffers(storage, num_rows, buffers, first.null_count, children=children)
        return made if storage is type_ else pa.ExtensionArray.from_storage(type_, made)


@dataclass(frozen=True, slots=True, eq=False)
class FileNodes:
    """Pruned top-level columns to read from one file, by their number in the file."""

    file: int
    roots: tuple[int, ...]
    nodes: tuple[ColumnNode, ...]


def bind_fields(
    nodes: Sequence[ColumnNode],
    place_of: Callable[[LeafNode], LeafPlace | None],
    roots_of: Callable[[int], Sequence[ColumnNode]],
    *,
    has_forms: bool = False,
) -> tuple[tuple[FieldSource, ...], tuple[FileNodes, ...]]:
    """Find the files and their columns that hold (pruned) columns of the table.

    Parameters
    ----------
    nodes
        Columns of the table.
    place_of
        Where a leaf lies; None where no file has it.
    roots_of
        The column tree of a file.
    has_forms
        Whether columns of the table, or of files, may be read as dictionaries or views.

    Returns
    -------
    tuple
        Sources of the columns, and the columns to read of each file that has some, by file number.

    Raises
    ------
    CorruptManifestError
        The ids of a column's leaves lead to nodes of files that are no such column.
    """
    places = {leaf.column: place_of(leaf) for node in nodes for leaf in node.leaves()}
    wanted: dict[int, dict[int, list[Steps]]] = {}
    for place in places.values():
        if place is not None:
            wanted.setdefault(place.file, {}).setdefault(place.root, []).append(place.steps)
    kept: dict[tuple[int, int], ColumnNode] = {}
    files = []
    for file, steps_of in sorted(wanted.items()):
        roots = roots_of(file)
        for root, steps in sorted(steps_of.items()):
            kept[file, root] = pruned(roots[root], steps)
        numbers = tuple(sorted(steps_of))
        files.append(FileNodes(file, numbers, tuple(kept[file, root] for root in numbers)))
    if has_forms:
        _take_forms(nodes, places, roots_of, kept)
        files = [replace(file, nodes=tuple([kept[file.file, root] for root in file.roots])) for file in files]
    binder = _Binder(places, kept, {file.file: roots_of(file.file) for file in files})
    return tuple(binder.source(node, 0) for node in nodes), tuple(files)


def _take_forms(
    nodes: Sequence[ColumnNode],
    places: Mapping[int, LeafPlace | None],
    roots_of: Callable[[int], Sequence[ColumnNode]],
    kept: dict[tuple[int, int], ColumnNode],
) -> None:
    """Read leaves of files in the forms of the table's, as dictionaries or views: names in files may differ."""
    from lance_arrow.arrays.coded_leaves import formed  # noqa: PLC0415 - for columns read as dictionaries alone

    forms: dict[tuple[int, int], dict[int, LeafNode]] = {key: {} for key in kept}
    for leaf in [leaf for node in nodes for leaf in node.leaves()]:
        place = places[leaf.column]
        if place is not None and leaf.has_form:
            own = node_at(roots_of(place.file)[place.root], place.steps)
            if isinstance(own, LeafNode):
                forms[place.file, place.root][own.column] = leaf
    for key, node in kept.items():
        kept[key] = formed(node, forms[key])


@dataclass(frozen=True, slots=True, eq=False)
class _Binder:
    places: Mapping[int, LeafPlace | None]
    kept: Mapping[tuple[int, int], ColumnNode]
    roots: Mapping[int, Sequence[ColumnNode]]

    def source(self, node: ColumnNode, depth: int) -> FieldSource:
        """Match a node of the table, `depth` levels below its column, with those of the files that hold its leaves."""
        if isinstance(node, LeafNode) and depth == 0:
            place = self.places[node.column]
            return _leaf_source(node, () if place is None else ((place.file, self._kept(node, place, 0)),))
        above: dict[int, LeafPlace] = {}
        for leaf in node.leaves():
            place = self.places[leaf.column]
            if place is None:
                continue
            known = above.setdefault(place.file, place)
            if (known.root, known.steps[:depth]) != (place.root, place.steps[:depth]):
                raise CorruptManifestError(
                    f"fields of {node.path!r} lie in several columns of one file", column=node.path
                )
        parts = tuple((file, self._kept(node, place, depth)) for file, place in sorted(above.items()))
        if isinstance(node, LeafNode) or not parts:
            return _leaf_source(node, parts)
        children = tuple(self._child(child, parts, depth + 1) for child in node.children)
        node = _over(node, [child.node for child, _ in children])
        is_same = (
            len(parts) == 1
            and parts[0][1].field.type == node.field.type
            and all(child.is_same and places == ((0, number),) for number, (child, places) in enumerate(children))
        )
        return FieldSource(node, parts, children, is_same)

    def _child(
        self, node: ColumnNode, parts: Sequence[tuple[int, ColumnNode]], depth: int
    ) -> tuple[FieldSource, tuple[tuple[int, int], ...]]:
        source = self.source(node, depth)
        numbers = {file: number for number, (file, _) in enumerate(parts)}
        places = []
        for file, kept in source.parts:
            number = numbers[file]
            places.append((number, parts[number][1].child_named(kept.field.name)))
        return source, tuple(places)

    def _kept(self, node: ColumnNode, place: LeafPlace, depth: int) -> ColumnNode:
        """Return what is read of a file for a node of the table."""
        if isinstance(node, LeafNode) != (len(place.steps) == depth):
            raise CorruptManifestError(f"{node.path!r} lies at another depth in its data file", column=node.path)
        full = node_at(self.roots[place.file][place.root], ())
        kept = self.kept[place.file, place.root]
        for step in place.steps[:depth]:
            # Siblings have different names, and pruning keeps them.
            name = full.children[step].field.name
            kept = kept.children[kept.child_named(name)]
            full = full.children[step]
        if not isinstance(node, LeafNode) and _shape(kept) != _shape(node):
            raise CorruptManifestError(
                f"{node.path!r} is {kept.field.type} in its data file, {node.field.type} in the table", column=node.path
            )
        return kept


def _leaf_source(node: ColumnNode, parts: tuple[tuple[int, ColumnNode], ...]) -> FieldSource:
    """Return the source of a leaf, or of a node that no file has."""
    node = _as_stored(node, parts[0][1] if parts else None)
    is_same = bool(parts) and parts[0][1].field.type == node.field.type
    return FieldSource(node, parts, (), is_same)


def _as_stored(node: ColumnNode, stored: ColumnNode | None) -> ColumnNode:
    """Return a leaf with descriptors where the file has a blob, and without where it has none, or no such leaf."""
    found = stored.bytes_field if isinstance(stored, LeafNode) else None
    if stored is not None and found is not None:
        if not isinstance(node, LeafNode) or storage_type(node.shown.type) not in (pa.binary(), pa.large_binary()):
            raise _other_type(found.type, node.shown.type, node.path)
        field = node.field.with_type(stored.field.type)
        return replace(node, field=field, is_blob=True, bytes_field=node.shown)
    if node.shown is node.field:
        return node
    if isinstance(node, LeafNode):
        return replace(node, field=node.shown, is_blob=False, bytes_field=None)
    return _over(node, [_as_stored(child, None) for child in node.children])


def _over(node: ColumnNode, children: Sequence[ColumnNode]) -> ColumnNode:
    """Return a node with other children."""
    if all(child is own for child, own in zip(children, node.children, strict=True)):
        return node
    type_ = type_over(node.storage, [child.field for child in children])
    return replace(node, field=node.field.with_type(type_), children=tuple(children))


def _shape(node: ColumnNode) -> tuple[NodeKind, bool, int]:
    storage = node.storage
    size = storage.list_size if isinstance(storage, pa.FixedSizeListType) else 0
    return node.kind, pa.types.is_large_list(storage), size


def _children(array: pa.Array) -> list[pa.Array]:
    """Fields of a struct, or the items of lists, of these slots alone."""
    if isinstance(array, pa.StructArray):
        return [array.field(number) for number in range(array.type.num_fields)]
    if isinstance(array, pa.FixedSizeListArray):
        size = array.type.list_size
        return [array.values.slice(array.offset * size, len(array) * size)]
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return [array.values.slice(first, last - first)]


def _offsets(arrays: Sequence[pa.Array], node: ColumnNode) -> pa.Array:
    offsets = [pc.subtract(array.offsets, array.offsets[0]) for array in arrays]
    if any(not other.equals(offsets[0]) for other in offsets[1:]):
        raise CorruptFileError("data files of one fragment have lists of different lengths", column=node.path)
    return offsets[0]


def _family(type_: pa.DataType) -> object:
    """What a value is whatever it is stored as: only within a family one type stands for another."""
    types = pa.types
    type_ = storage_type(type_)
    if isinstance(type_, pa.DictionaryType):
        return _family(type_.value_type)
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    is_bytes = types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
    if is_bytes or types.is_fixed_size_binary(type_):
        return "bytes"
    if types.is_timestamp(type_) or types.is_date(type_):
        return "moment"
    if isinstance(type_, pa.FixedSizeListType):
        return type_.list_size, _family(type_.value_type)
    return "time" if types.is_time(type_) else type_.id


def _cast(array: pa.Array, type_: pa.DataType, path: str) -> pa.Array:
    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    storage = storage_type(type_)
    if plain.type != storage:
        if _family(plain.type) != _family(storage):
            raise _other_type(array.type, type_, path)
        try:
            plain = _in_form(plain, storage)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise CorruptFileError(
                f"the data file holds {array.type}, the table says {type_}: {error}", column=path
            ) from error
    return plain if storage is type_ else pa.ExtensionArray.from_storage(type_, plain)


def _in_form(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast to another type, or form, of values."""
    if isinstance(type_, pa.DictionaryType):
        return _encoded(array, type_)
    if not is_view(type_):
        return (array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array).cast(type_)
    return as_views(array.cast(pa.binary()) if pa.types.is_fixed_size_binary(array.type) else array)


def _encoded(array: pa.Array, type_: pa.DictionaryType) -> pa.Array:
    """Encode values, or those of a dictionary, as a dictionary of some type."""
    if isinstance(array.type, pa.DictionaryType) and array.type.value_type == type_.value_type:
        return array.cast(type_)
    from lance_arrow.arrays.coded_leaves import encoded  # noqa: PLC0415 - for other types than the table's alone

    return encoded(array.cast(type_.value_type), type_)


def _other_type(found: pa.DataType, type_: pa.DataType, path: str) -> CorruptFileError:
    return CorruptFileError(f"the data file holds {found}, the table says {type_}", column=path)


def expanded(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return every row of ranges, ``(num_rows,) int64``."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
