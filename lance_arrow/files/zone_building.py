"""`build_zones`: write zone maps beside files that have none, after reading these once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.leaf_arrays import arrays_by_leaf
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io import AnyFileSystem, Location, VerifiedSource, open_sink, open_source, resolve
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.scan.zone_reader import ZoneReader, is_lacking
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_sidecar import FileBinding, StoredMap, encode_sidecar, sidecar_location
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE, bounds_type

Progress = Callable[[int, int | None], None]
"""Called with the number of rows that were read of a file, and the number of all its rows."""

# Blobs have no bounds: their places are enough. JSON has those of its bytes.
_AS_STORED = ReadOptions(blobs="descriptors", json="bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltZones:
    """Result of `build_zones` for one file.

    Parameters
    ----------
    path
        Path of the file.
    sidecar
        Path of the new zone maps; None if no column lacked them.
    columns
        Leaves whose zone maps were built.
    present
        Leaves that have a complete zone map in the file.
    unbounded
        Leaves without a zone map, because their type has no order or their column cannot be read.
    num_rows
        Rows of the file.
    size_bytes
        Size of the sidecar.
    """

    path: str
    sidecar: str | None
    columns: tuple[str, ...]
    present: tuple[str, ...]
    unbounded: tuple[str, ...]
    num_rows: int
    size_bytes: int


def build_zones(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    rows_per_zone: int = DEFAULT_ROWS_PER_ZONE,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> list[BuiltZones]:
    """Write zone maps beside files that lack them: ``_<file>.zones``, used by filtered reads from then on.

    Parameters
    ----------
    paths
        A file, or a list of files; paths or URLs.
    columns
        Dotted paths of columns; all when None. An existing sidecar is replaced as a whole.
    rows_per_zone
        Rows of every zone except the last. Zones are joined if the map would exceed a thousandth of the column.
    filesystem, storage_options
        fsspec or pyarrow filesystem of the paths, or store of obstore; options for the filesystem of a URL.
    on_progress
        Called after every batch.

    Returns
    -------
    list
        A `BuiltZones` for each file.

    Raises
    ------
    LanceError
        A file cannot be read, a column does not exist, or `rows_per_zone` is not a positive integer.
    OSError
        The filesystem fails.

    Notes
    -----
    Readers ignore a sidecar that is older than its file, as the filesystem reports it.

    Examples
    --------
    >>> (built,) = lance_arrow.build_zones("plain.lance", columns=["id"])
    >>> built.columns, built.num_rows
    (('id',), 100)
    """
    many = isinstance(paths, Sequence) and not isinstance(paths, (str, bytes))
    locations = [resolve(one, filesystem, storage_options) for one in (paths if many else [paths])]
    return [_build(location, columns, rows_per_zone, on_progress) for location in locations]


def _build(
    location: Location, columns: Sequence[str] | None, rows_per_zone: int, on_progress: Progress | None
) -> BuiltZones:
    runtime = default_runtime()
    with closing(VerifiedSource(open_source(location))) as source:
        file = LanceFileReader(source, limits=runtime.settings.limits)
        rows = row_reader(file, runtime, _AS_STORED)
        projection = Projection.of(rows.roots, rows.metadata, columns)
        leaves = [leaf for node in projection.nodes for leaf in node.leaves()]
        unreadable = {leaf.column for node in projection.nodes for leaf in node.leaves() if _is_unreadable(node)}
        bounded = [leaf for leaf in leaves if bounds_type(leaf) is not None and leaf.column not in unreadable]
        in_file = dict(zip((leaf.path for leaf in bounded), ZoneReader(rows).get(bounded), strict=True))
        missing = [leaf for leaf in bounded if is_lacking(in_file[leaf.path])]
        maps = _maps(source, rows, missing, rows_per_zone, on_progress) if missing else []
        place, size_bytes = sidecar_location(location), 0
        if maps:
            data = encode_sidecar(FileBinding.of(file), maps)
            size_bytes = len(data)
            with open_sink(place) as sink:
                sink.write(data)
        return BuiltZones(
            path=file.name,
            sidecar=place.name if maps else None,
            columns=tuple(leaf.path for leaf in missing),
            present=tuple(path for path, found in in_file.items() if not is_lacking(found)),
            unbounded=tuple(leaf.path for leaf in leaves if leaf.path not in in_file),
            num_rows=rows.num_rows,
            size_bytes=size_bytes,
        )


def _is_unreadable(node: ColumnNode) -> bool:
    return any(leaf.refusal is not None for leaf in node.leaves())


def _maps(
    source: VerifiedSource,
    rows: RowReader,
    leaves: Sequence[LeafNode],
    rows_per_zone: int,
    on_progress: Progress | None,
) -> list[StoredMap]:
    """Read columns once, and bound the values of their leaves."""
    tops = {leaf.column: root.field.name for root in rows.roots for leaf in root.leaves()}
    builders = [(leaf, ZoneBuilder(leaf, rows_per_zone)) for leaf in leaves]
    # Columns are read whole: a map without its values would be another type.
    names = dict.fromkeys(tops[leaf.column] for leaf in leaves)
    projection = Projection.covering(rows.roots, rows.metadata, [(name,) for name in names])
    batches = FileBatches(OpenFile(source, rows))
    done = 0
    for batch in batches.stream(projection, None, None, RowRanges.one(0, rows.num_rows)):
        arrays = arrays_by_leaf(projection.nodes, batch)
        for leaf, builder in builders:
            builder.add(arrays[leaf.column])
        done += batch.num_rows
        if on_progress is not None:
            on_progress(done, rows.num_rows)
    stored = []
    for (leaf, builder), meta in zip(builders, rows.metas(leaves), strict=True):
        page_bytes = int(sum(np.sum(page.buffer_sizes) for page in meta.pages))
        data = builder.encode(page_bytes)
        stored.append(StoredMap(leaf.column, builder.rows_per_zone, data))
    return stored
