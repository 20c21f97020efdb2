"""`ScanPlan`: what a scan would read, and why no more is skipped, from metadata and zone maps alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, parse_path, project
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrow_dataset.fragment_zones import FragmentZones
from lance_arrow.html_repr import html_table
from lance_arrow.io import requests_for
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_predicates import Tree, ZonePredicate, is_understood
from lance_arrow.pruning.zone_pruning import PruneResult, prune_rows
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.expression_text import text_of
from lance_arrow.scan.native_pages import positional_of
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_types import bounds_type, is_repeated
from lance_arrow.structure.row_selection import rows_before

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.dataset_parts import DatasetOfFragments
    from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
    from lance_arrow.scan.fragments.fragment_rows import FragmentRows

_WHOLE_BUFFER_BYTES = 64 << 10
_SHOWN_FILES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """Plan of one file.

    Parameters
    ----------
    path
        Path of the file.
    is_left_out
        Whether its partition or guarantee excludes all rows, so that it would not be opened.
    is_opaque
        Whether zones and pages are unknown, because neither a bare file nor a table is behind the fragment.
    num_rows, rows_to_read
        Rows of the fragment.
    zones, zones_pruned
        Zones of the fragment, as `ReadReport` counts them: a zone ends where one ends for any column of the filter. 0
        without a filter, or without zone maps of these columns.
    pages, pages_to_read
        Pages of the columns that are read.
    requests, bytes_to_read
        Estimates from the places of pages. The bytes of a part of a page are estimated by its share of rows.
    store
        How fast the store is taken to be, see `ReadReport`.
    """

    path: str
    is_left_out: bool = False
    is_opaque: bool = False
    num_rows: int = 0
    rows_to_read: int = 0
    zones: int = 0
    zones_pruned: int = 0
    pages: int = 0
    pages_to_read: int = 0
    requests: int = 0
    bytes_to_read: int = 0
    store: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConjunctPlan:
    """Effect of one of the conditions that are joined by AND, applied alone.

    Parameters
    ----------
    text
        The condition.
    zones_pruned
        Zones in which no row can satisfy it.
    reasons
        Why it prunes no more.
    """

    text: str
    zones_pruned: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        said = f"prunes {_count(self.zones_pruned, 'zone')}" if self.zones_pruned else "prunes nothing"
        return f"{self.text}: {said}" + (f" ({'; '.join(self.reasons)})" if self.reasons else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """Plan of a scan, from `LanceDataset.explain`; print it, or show it in a notebook.

    Parameters
    ----------
    columns
        Dotted paths that are read, those of the filter among them.
    filter
        The filter as text; None without one.
    files
        One `FilePlan` for each file of the dataset, in order.
    conjuncts
        One `ConjunctPlan` for each condition of the filter.
    """

    columns: tuple[str, ...]
    filter: str | None
    files: tuple[FilePlan, ...]
    conjuncts: tuple[ConjunctPlan, ...]

    def total(self, name: str) -> int:
        """Sum one of the numbers of `FilePlan` over all files."""
        return sum(int(getattr(file, name)) for file in self.files)

    def facts(self) -> dict[str, str]:
        """Return the totals as text, by name."""
        left_out, opaque = self.total("is_left_out"), self.total("is_opaque")
        zones, pruned = self.total("zones"), self.total("zones_pruned")
        facts = {
            "columns": ", ".join(self.columns) or "none",
            "filter": self.filter or "none",
            "files": f"{len(self.files):,}, {left_out:,} left out, {len(self.files) - left_out:,} to read",
            "zones": f"{zones:,}, {pruned:,} pruned, {zones - pruned:,} to read"
            if self.filter is not None
            else "0, without a filter no zone map is read",
            "rows": f"{self.total('num_rows'):,}, {self.total('rows_to_read'):,} to read",
            "pages": f"{self.total('pages'):,}, {self.total('pages_to_read'):,} to read",
            "requests": f"about {self.total('requests'):,}",
            "bytes": f"about {self.total('bytes_to_read'):,}",
        }
        stores = sorted({file.store for file in self.files if file.store is not None})
        if stores:
            facts["store"] = "; ".join(stores)
        if opaque:
            facts["of tables"] = f"{_count(opaque, 'file')} with unknown zones"
        return facts

    def __str__(self) -> str:
        lines = [f"{name}: {said}" for name, said in self.facts().items()]
        lines += [f"condition {conjunct}" for conjunct in self.conjuncts]
        for file in self.files[:_SHOWN_FILES]:
            lines.append(f"file {file.path}: {_said_of(file)}")
        if len(self.files) > _SHOWN_FILES:
            lines.append(f"and {len(self.files) - _SHOWN_FILES:,} more files")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        conditions = [(one.text, f"{one.zones_pruned:,}", "; ".join(one.reasons)) for one in self.conjuncts]
        files = [(file.path, _said_of(file)) for file in self.files[:_SHOWN_FILES]]
        parts = [html_table((), self.facts().items())]
        if conditions:
            parts.append(html_table(("condition", "zones pruned", "why not more"), conditions))
        return f"<div><strong>ScanPlan</strong>{''.join(parts)}{html_table(('file', 'to read'), files)}</div>"


@dataclass(slots=True)
class _Conjunct:
    tree: Tree
    zones_pruned: int = 0
    reasons: dict[str, None] = field(default_factory=dict)


class ScanExplainer:
    """Plans of one scan, file by file; threads share it.

    Parameters
    ----------
    schema
        Of the dataset.
    columns
        As for a scan: names, or expressions by name; all when None.
    filter
        As for a scan.

    Raises
    ------
    pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError
        An expression does not fit the schema.
    """

    def __init__(
        self,
        schema: pa.Schema,
        columns: Sequence[str] | dict[str, pc.Expression] | None,
        filter: pc.Expression | None,
    ) -> None:
        self._filter = None if filter is None else native_expressions.expression_tree(filter, schema)
        if columns is None:
            paths: list[Path] = [(name,) for name in schema.names]
        elif isinstance(columns, dict):
            trees = [native_expressions.expression_tree(one, schema) for one in columns.values()]
            paths = [path for tree in trees for path in ZonePredicate(tree).fields]
        else:
            paths = [parse_path(column, schema.names) for column in columns]
        if self._filter is not None:
            paths += ZonePredicate(self._filter).fields
        self._paths = tuple(dict.fromkeys(paths))
        self._conjuncts = [_Conjunct(tree) for tree in _conjuncts_of(self._filter)]
        self._lock = Lock()

    def file(self, path: str, file: OpenFile, held: RowRanges) -> FilePlan:
        """Plan what is read of one file; reads its metadata and zone maps."""
        prune_result = PruneResult(held, RowRanges.one(0, 0))
        if self._filter is not None:
            predicate = ZonePredicate(self._filter)
            prune_result = prune_rows(file.rows, file.zones, predicate, held)
            zones = FragmentZones.of(file, held, list(predicate.leaves(file.rows.roots).values()))
            for conjunct in self._conjuncts:
                alone = prune_rows(file.rows, file.zones, ZonePredicate(conjunct.tree), held)
                pruned = _pruned(zones, alone.rows) if zones.columns else 0
                self._note(conjunct, pruned, None if pruned == len(zones) else _FileColumns(file))
        nodes = project(file.rows.roots, self._paths, missing_ok=True)
        return _file_plan(path, held, prune_result, [(file, nodes)])

    def fragment(self, path: str, rows: FragmentRows) -> FilePlan:
        """Plan what is read of a fragment of a table; reads metadata, zone maps, and indices."""
        held = rows.live
        prune_result = PruneResult(held, RowRanges.one(0, 0))
        if self._filter is not None:
            prune_result = rows.prune(ZonePredicate(self._filter))
            for conjunct in self._conjuncts:
                alone = rows.prune(ZonePredicate(conjunct.tree))
                are_all = 0 < alone.zones_total == alone.zones_pruned
                self._note(conjunct, alone.zones_pruned, None if are_all else _FragmentColumns(rows))
        parts = rows.reading(project(rows.roots, self._paths, missing_ok=True)).parts
        return _file_plan(path, held, prune_result, [(part.opened[0], part.nodes) for part in parts])

    def _note(self, conjunct: _Conjunct, pruned: int, columns: _FileColumns | _FragmentColumns | None) -> None:
        """Note how many zones a condition has pruned of a file, and why no more of these columns."""
        reasons = () if columns is None else _reasons(conjunct.tree, columns)
        with self._lock:
            conjunct.zones_pruned += pruned
            conjunct.reasons.update(dict.fromkeys(reasons))

    def plan(self, files: Sequence[FilePlan]) -> ScanPlan:
        """Put the plans of all files together."""
        return ScanPlan(
            columns=tuple(".".join(path) for path in self._paths),
            filter=None if self._filter is None else text_of(self._filter),
            files=tuple(files),
            conjuncts=tuple(
                ConjunctPlan(text=text_of(one.tree), zones_pruned=one.zones_pruned, reasons=tuple(one.reasons))
                for one in self._conjuncts
            ),
        )


def plans_of(dataset: DatasetOfFragments, explainer: ScanExplainer, filter: pc.Expression | None) -> list[FilePlan]:
    """Plan what a scan reads of each fragment of a dataset.

    Raises
    ------
    LanceError, OSError
        A file cannot be opened.
    """
    left = dataset._left_by_guarantees(filter)
    left.reverse()
    parts: list[tuple[LanceFileFragment, FragmentRows | None, bool]] = []
    for fragment, rows in zip(dataset.fragments, dataset._rows_of_fragments(), strict=True):
        is_left = bool(left) and left[-1].path == fragment.path and left[-1].rows == fragment.rows
        if is_left:
            left.pop()
        parts.append((fragment, rows, is_left))

    def planned(part: tuple[LanceFileFragment, FragmentRows | None, bool]) -> FilePlan:
        fragment, rows, is_left = part
        if not is_left:
            return FilePlan(path=fragment.path, is_left_out=True)
        if rows is not None:
            return explainer.fragment(fragment.path, rows)
        opened = fragment.opened_rows()
        if opened is None:
            return FilePlan(path=fragment.path, is_opaque=True)
        return explainer.file(fragment.path, *opened)

    return list(default_runtime().each(planned, parts, is_far=dataset._is_far))


def _file_plan(
    path: str, held: RowRanges, pruned: PruneResult, parts: Iterable[tuple[OpenFile, Sequence[ColumnNode]]]
) -> FilePlan:
    """Plan what is left to read of files that lie side by side: the rows of a fragment, or of a file alone."""
    pages = pages_to_read = requests = num_bytes = 0
    store = None
    for file, nodes in parts:
        there, wanted, starts, stops = _reads(file.rows, nodes, pruned.rows)
        plan = requests_for(file.source, starts, stops)
        pages, pages_to_read = pages + there, pages_to_read + wanted
        # Native reads of local files join no ranges: each goes to its place.
        is_local = positional_of(file.source) is not None
        requests += int(np.count_nonzero(stops > starts)) if is_local else len(plan.starts)
        num_bytes += int((plan.stops - plan.starts).sum())
        pace = file.source.coalescing.pace
        store = store if pace is None else str(pace)
    return FilePlan(
        path=path,
        num_rows=held.num_rows,
        rows_to_read=pruned.rows.num_rows,
        zones=pruned.zones_total,
        zones_pruned=pruned.zones_pruned,
        pages=pages,
        pages_to_read=pages_to_read,
        requests=requests,
        bytes_to_read=num_bytes,
        store=store,
    )


def _conjuncts_of(tree: Tree | None) -> list[Tree]:
    if tree is None:
        return []
    if tree[0] == "call" and tree[1] == "and_kleene":
        return [inner for one in tree[2] for inner in _conjuncts_of(one)]
    return [tree]


def _pruned(zones: FragmentZones, kept: RowRanges) -> int:
    """Zones of which no row is kept."""
    before = rows_before(kept, zones.borders)
    return int(np.count_nonzero(np.diff(before)[zones.ids] == 0))


class _Columns(Protocol):
    """Columns that a condition may mention."""

    def leaf(self, path: Path) -> LeafNode | None:
        """Return a single column; None for structs and lists, and where there is none."""

    def has_zones(self, path: Path, leaf: LeafNode) -> bool:
        """Return whether bounds of its values are known."""


class _FileColumns:
    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def leaf(self, path: Path) -> LeafNode | None:
        return _single(self._file.rows.roots, path)

    def has_zones(self, path: Path, leaf: LeafNode) -> bool:
        return self._file.zones.get([leaf])[0] is not None


class _FragmentColumns:
    def __init__(self, rows: FragmentRows) -> None:
        self._rows = rows

    def leaf(self, path: Path) -> LeafNode | None:
        return _single(self._rows.roots, path)

    def has_zones(self, path: Path, leaf: LeafNode) -> bool:
        return self._rows.bounded_zones(path) is not None


def _reasons(tree: Tree, columns: _Columns) -> Iterator[str]:
    """Say what keeps a condition from pruning more."""
    found = list(dict.fromkeys(_obstacles(tree, columns)))
    yield from found or ["bounds overlap"]


def _obstacles(node: Tree, columns: _Columns) -> Iterator[str]:
    if node[0] == "call":
        if not is_understood(node):
            yield f"not an order-preserving expression: {text_of(node)}"
            return
        for argument in node[2]:
            yield from _obstacles(argument, columns)
    elif node[0] == "field":
        name = ".".join(node[1])
        leaf = columns.leaf(node[1])
        if leaf is None:
            yield f"{name} is no single column"
        elif bounds_type(leaf) is None:
            yield f"values of type {leaf.field.type} have no zone map: {name}"
        elif is_repeated(leaf):
            yield f"{name} lies in lists, whose items are not rows"
        elif not columns.has_zones(node[1], leaf):
            yield f"no zone map for {name}"


def _single(roots: Sequence[ColumnNode], path: Path) -> LeafNode | None:
    nodes = project(roots, [path], missing_ok=True)
    leaves = [leaf for node in nodes for leaf in node.leaves()]
    return leaves[0] if len(leaves) == 1 else None


def _reads(
    reader: RowReader, nodes: Sequence[ColumnNode], rows: RowRanges
) -> tuple[int, int, NDArray[np.int64], NDArray[np.int64]]:
    """Pages there are, pages to read, and the bytes of these that hold the rows."""
    leaves = [leaf for node in nodes for leaf in node.leaves() if leaf.refusal is None]
    pages = wanted = 0
    starts: list[NDArray[np.int64]] = []
    stops: list[NDArray[np.int64]] = []
    for leaf, meta in zip(leaves, reader.metas(leaves), strict=True):
        pages += len(meta.pages)
        for number, part in reader.pages_of(leaf, meta, rows):
            wanted += 1
            page = meta.pages[number]
            for offset, size in zip(page.buffer_offsets.tolist(), page.buffer_sizes.tolist(), strict=True):
                if size <= _WHOLE_BUFFER_BYTES:
                    starts.append(np.array([offset], np.int64))
                    stops.append(np.array([offset + size], np.int64))
                else:
                    starts.append(offset + size * part.starts // page.num_rows)
                    stops.append(offset - (-size * part.stops // page.num_rows))
    none = [np.empty(0, np.int64)]
    return pages, wanted, np.concatenate(starts or none), np.concatenate(stops or none)


def _said_of(file: FilePlan) -> str:
    if file.is_left_out:
        return "left out by what is known of all its rows"
    if file.is_opaque:
        return "part of a table"
    zones = f"{file.zones - file.zones_pruned:,} of {_count(file.zones, 'zone')}, " if file.zones else ""
    return (
        f"{file.rows_to_read:,} of {_count(file.num_rows, 'row')}, {file.pages_to_read:,} of "
        f"{_count(file.pages, 'page')}, {zones}"
        f"about {_count(file.requests, 'request')} and {_count(file.bytes_to_read, 'byte')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
