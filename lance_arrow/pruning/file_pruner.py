"""`FilePruner`: the filter of a scan for the native file pruner, which excludes small files without Python.

opened files ─► bytes of their schema, encodings and zone maps, by which it recognises similar files
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion
from lance_arrow.engine import NativeFilePruner
from lance_arrow.pruning.described_file import DescribedFile
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_programs import compiled
from lance_arrow.pruning.zone_values import casts_between
from lance_arrow.statistics.zone_streams import StreamLayout, stream_layout
from lance_arrow.statistics.zone_types import bounds_type, form_of, is_repeated

_VERSIONS = (FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)
_MOST_FILES = 256
_NO_COUNT = (-1, 0)
_ANYTHING = compiled(("call", "", (), None, None))


class FilePruner:
    """Excludes small files of one scan.

    Parameters
    ----------
    predicate
        Filter of the scan.
    has_checks
        Whether files are compared with their checksums.
    """

    def __init__(self, predicate: ZonePredicate, *, has_checks: bool) -> None:
        self._predicate = predicate
        self._num_registered = 0
        self.native = NativeFilePruner(predicate.program.native, has_checks)

    def register(self, rows: DescribedFile, leaves: Mapping[Path, LeafNode] | None = None) -> None:
        """Register a file, so that the pruner recognises similar ones.

        Parameters
        ----------
        rows
            The file.
        leaves
            Its leaves for fields of the filter; when None, those of the same names.

        Raises
        ------
        LanceError
            Errors of reading zone maps.
        """
        reader = rows.file
        if self.native.is_idle or self._num_registered >= _MOST_FILES or reader.version not in _VERSIONS:
            return
        self._num_registered += 1
        if leaves is None:
            leaves = self._predicate.leaves(rows.roots)
        fields = self._predicate.program.fields
        columns = [-1] * len(fields)
        for number, field in enumerate(fields):
            leaf = leaves.get(field.path)
            bounds = None if leaf is None or is_repeated(leaf) else bounds_type(leaf)
            # Only fields that are compared without a cast.
            if leaf is not None and bounds is not None and casts_between(bounds, field.types) == ():
                columns[number] = leaf.column
                self._register_column(rows, number, leaf)
        _register_schema(self.native, reader, columns)

    def _register_column(self, rows: DescribedFile, number: int, leaf: LeafNode) -> None:
        reader = rows.file
        (meta,) = rows.described([leaf])
        bound = rows.runtime.binder.column(meta.message, meta.description, len(meta.buffer_sizes))
        metadata = reader.stored_metadata(leaf.column)
        if bound.zone_map is None or bound.holds_descriptors:
            self.native.register_encoding(metadata, 0, 0)
            return
        buffer = bound.zone_map.column_buffer
        self.native.register_encoding(metadata, bound.zone_map.rows_per_zone, buffer)
        start = int(meta.buffer_offsets[buffer])
        (stored,) = reader.buffers([(start, start + int(meta.buffer_sizes[buffer]))])
        raw = stored.tobytes()
        bounds = bounds_type(leaf)
        found = None if bounds is None else stream_layout(raw, bounds)
        if found is not None:
            self._register_stream(number, len(raw), *found)

    def _register_stream(self, number: int, size: int, head: bytes, layout: StreamLayout) -> None:
        form = form_of(layout.bounds)
        assert form is not None  # others have no bounds
        places = {name: buffers for name, _, buffers in layout.arrays}
        counts = {name: (start, type_.itemsize) for name, type_, start in layout.counts}
        if layout.num_zones:
            self.native.register_stream(
                number,
                head,
                size,
                layout.num_zones,
                *form,
                [_bound_places(places[name]) for name in ("min", "max")],
                [counts.get(name, _NO_COUNT) for name in ("row_count", "value_count", "null_count", "nan_count")],
            )


class FileCounter:
    """Counts rows of files with known schemas without opening them, for a count without a filter.

    Parameters
    ----------
    has_checks
        Whether files are compared with their checksums.
    """

    def __init__(self, *, has_checks: bool) -> None:
        self.native = NativeFilePruner(_ANYTHING.native, has_checks)

    def register(self, rows: DescribedFile) -> None:
        """Register a file, so that similar ones are counted natively."""
        if rows.file.version in _VERSIONS and not self.native.is_idle:
            _register_schema(self.native, rows.file, [])


def _register_schema(native: NativeFilePruner, reader: LanceFileReader, columns: Sequence[int]) -> None:
    minor_version = int.from_bytes(reader.tail[-6:-4].tobytes(), "little")
    native.register_schema(reader.global_buffers.read(0), minor_version, reader.footer.num_columns, columns)


def _bound_places(buffers: tuple[tuple[int, int] | None, ...]) -> tuple[int, int, int, int]:
    """Return the buffers of validity, offsets and values (-1: none), and the bytes of the values."""
    validity, *others = buffers
    offsets = others[0] if len(others) == 2 else None
    values = others[-1] or (0, 0)
    return validity[0] if validity else -1, offsets[0] if offsets else -1, *values


def file_pruner(predicate: ZonePredicate, *, has_checks: bool) -> FilePruner | None:
    """Return the file pruner of a filter; None if it supports no part of the filter."""
    return FilePruner(predicate, has_checks=has_checks) if predicate.program.fields else None
