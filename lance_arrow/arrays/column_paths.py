"""Paths of callers through structs, lists and maps, and the column tree pruned to them.

A step is the name of a struct's field. Lists and maps need no step, but may have one. The item of a list has its own
name (``items.item.x``) or Parquet's (``items.list.element.x``). The entries of a map are ``entries`` or ``key_value``.
The longer path has priority if an item has a field of the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from lance_arrow.arrays.column_roots import all_roots, named_among, root_named, root_names
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type, type_over
from lance_arrow.errors import InvalidArgumentError, did_you_mean

Path: TypeAlias = tuple[str, ...]
"""Names from a column downwards; never empty."""

Steps: TypeAlias = tuple[int, ...]
"""Numbers of the children to follow."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Target of a path.

    Parameters
    ----------
    root
        Name of the column.
    fields
        Names of the struct fields to follow, up to the first list or map.
    steps
        Children to follow in the tree; fewer than `fields` if a packed struct is read completely.
    """

    root: str
    fields: tuple[str, ...]
    steps: Steps

    @property
    def inner(self) -> Steps:
        """Steps below the first list or map; empty if the path ends before or at it."""
        return self.steps[len(self.fields) :]


def parse_path(path: str, names: Collection[str]) -> Path:
    """Split a dotted path; a whole column name has priority over its parts, so names may contain dots."""
    return (path,) if path in names else tuple(path.split("."))


def reach(roots: Sequence[ColumnNode], path: Path) -> Reach | None:
    """Find the target of a path; None if it does not exist."""
    root = root_named(roots, path[0])
    steps = None if root is None else _steps(root, path[1:])
    if root is None or steps is None:
        return None
    node = root
    fields: list[str] = []
    for step in steps:
        if not isinstance(node.storage, pa.StructType):
            return Reach(path[0], tuple(fields), steps)
        node = node.children[step]
        fields.append(node.field.name)
    # The rest of the path is inside a packed struct, which is read completely.
    return Reach(path[0], path[1:], steps)


def node_at(root: ColumnNode, steps: Steps) -> ColumnNode:
    """Follow steps."""
    for step in steps:
        root = root.children[step]
    return root


def leaf_at(roots: Sequence[ColumnNode], path: Path) -> LeafNode | None:
    """Return the leaf of one of Arrow's field paths: a whole leaf, through structs only."""
    if reach(roots, path) is None:
        return None
    node = root_named(roots, path[0])
    for name in path[1:]:
        if node is None or not pa.types.is_struct(node.storage):
            return None
        number = node.child_named(name)
        node = node.children[number] if 0 <= number < len(node.children) else None
    return node if isinstance(node, LeafNode) else None


def project(roots: Sequence[ColumnNode], paths: Sequence[Path], *, missing_ok: bool = False) -> tuple[ColumnNode, ...]:
    """Prune the tree to the selected paths: each root once, in the order of first use.

    Parameters
    ----------
    roots
        The whole tree.
    paths
        Names from the root downwards.
    missing_ok
        Skip paths that the file does not have (a scan may request columns of other files and of the partitioning).

    Raises
    ------
    InvalidArgumentError
        A path names no column; the message lists the existing ones.
    """
    if len(paths) == len(roots) and list(paths) == [(name,) for name in root_names(roots)]:
        # Columns that are made together take a fraction of the time.
        return all_roots(roots)
    wanted: dict[str, tuple[ColumnNode, list[Steps]]] = {}
    named = named_among(roots, len(paths))
    for path in paths:
        root = named(path[0])
        steps = None if root is None else _steps(root, path[1:])
        if root is not None and steps is not None:
            wanted.setdefault(path[0], (root, []))[1].append(steps)
        elif not missing_ok:
            raise no_such_column(roots, path)
    return tuple(pruned(root, steps) for root, steps in wanted.values())


def no_such_column(roots: Sequence[ColumnNode], path: Path) -> InvalidArgumentError:
    """Return the error for an unknown path, with the names at the last step that exists."""
    known: list[str] = []
    for end in range(len(path), 0, -1):
        found = reach(roots, path[: end - 1]) if end > 1 else None
        if found is not None:
            root = root_named(roots, found.root)
            assert root is not None
            node = node_at(root, found.steps)
            known = [".".join((*path[: end - 1], name)) for name in _names_below(node)]
            break
    names = sorted(known or root_names(roots))
    offer = did_you_mean(".".join(path), names)
    return InvalidArgumentError(
        f"there is no column {'.'.join(path)!r}, expected one of {', '.join(names)}{offer}", detail=path
    )


def pruned(node: ColumnNode, wanted: Sequence[Steps]) -> ColumnNode:
    """Prune a tree to the targets of the steps; children keep the order of the schema.

    A map without its keys or values becomes a list of the rest of its entries, as Parquet readers return it.
    """
    if isinstance(node, LeafNode) or any(not steps for steps in wanted):
        return node
    below: dict[int, list[Steps]] = {}
    for first, *rest in wanted:
        below.setdefault(first, []).append(tuple(rest))
    children = tuple(pruned(node.children[number], below[number]) for number in sorted(below))
    type_ = type_over(node.storage, [child.field for child in children])
    return replace(node, field=node.field.with_type(type_), children=children)


def _steps(node: ColumnNode, rest: Path) -> Steps | None:
    if not rest:
        return ()
    if isinstance(node, LeafNode):
        # A packed struct is read completely, and its field is extracted; blobs have no fields, in any form of
        # descriptor.
        shown = storage_type(node.shown.type)
        is_field = isinstance(shown, pa.StructType) and shown.get_field_index(rest[0]) >= 0
        return () if is_field and len(rest) == 1 else None
    if isinstance(node.storage, pa.StructType):
        number = node.child_named(rest[0])
        below = None if number < 0 else _steps(node.children[number], rest[1:])
        return None if below is None else (number, *below)
    for skipped in _skipped(node, rest):
        below = _steps(node.children[0], rest[skipped:])
        if below is not None:
            return 0, *below
    return None


def _skipped(node: ColumnNode, rest: Path) -> Iterator[int]:
    """Yield the numbers of steps of `rest` that may name the only child of a list or map."""
    is_map = isinstance(node.storage, pa.MapType)
    if rest[0] == node.children[0].field.name or (is_map and rest[0] == "key_value"):
        yield 1
    yield 0
    if rest[:2] == ("list", "element") and not is_map:
        yield 2


def _names_below(node: ColumnNode) -> list[str]:
    shown = storage_type(node.shown.type)
    if isinstance(shown, pa.StructType):
        return [field.name for field in shown]
    return [name for child in node.children for name in _names_below(child)]


def parse_dot_path(text: str) -> tuple[str, ...]:
    """Split a path of `ScanRequest.columns` at unescaped dots; a backslash keeps the next character.

    Brackets are part of a name: the bridge has already replaced indices by names.
    """
    if "." not in text and "\\" not in text:
        return (text,)
    parts = [""]
    characters = iter(text)
    for character in characters:
        if character == "\\":
            parts[-1] += next(characters, "")
        elif character == ".":
            parts.append("")
        else:
            parts[-1] += character
    return tuple(parts)
