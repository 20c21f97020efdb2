"""`FilePruner`: the filter of a scan for the native file pruner, which leaves out small files without Python.

filter's tree ─► postfix instructions over columns (what the file pruner does not understand may give anything)
opened files  ─► what their schema, encodings and zone maps look like in bytes, so that it recognises others
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion
from lance_arrow.engine import NativeFilePruner
from lance_arrow.pruning.described_file import DescribedFile
from lance_arrow.pruning.zone_predicates import Tree, ZonePredicate
from lance_arrow.statistics.zone_bounds import successor
from lance_arrow.statistics.zone_streams import StreamLayout, stream_layout
from lance_arrow.statistics.zone_types import bounds_type, is_repeated, is_variable

_UNKNOWN, _CONSTANT, _LESS, _LESS_EQUAL, _EQUAL, _AND, _NOT, _IS_NULL, _IS_VALID, _IS_NAN, _IS_IN = range(11)
_HAS_NAN, _HAS_NULL = 1, 2
_MATCH_NULLS, _SKIP_NULLS = 0, 1
_VERSIONS = (FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)
_MOST_MEMBERS = 1024
_MOST_FILES = 256
_NO_COUNT = (-1, 0)


class FilePruner:
    """What one scan leaves out of many files.

    Parameters
    ----------
    predicate
        Its filter.
    has_checks
        Whether files are compared with their checksums.
    """

    def __init__(self, predicate: ZonePredicate, *, has_checks: bool) -> None:
        program = _Program()
        program.add(predicate.tree)
        self._predicate = predicate
        self._columns = program.columns
        self._num_registered = 0
        self.native = NativeFilePruner(program.instructions, program.literals, len(self._columns), has_checks)

    def register(self, rows: DescribedFile) -> None:
        """Have the file pruner recognise files like this one.

        Raises
        ------
        LanceError
            As reading zone maps goes.
        """
        reader = rows.file
        if self.native.is_idle or self._num_registered >= _MOST_FILES or reader.version not in _VERSIONS:
            return
        self._num_registered += 1
        leaves = self._predicate.leaves(rows.roots)
        columns = [-1] * len(self._columns)
        for number, (path, type_) in enumerate(self._columns.items()):
            leaf = leaves.get(path)
            if leaf is not None and bounds_type(leaf) == type_ and not is_repeated(leaf):
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
        kind, width = _stored_kind(layout.bounds)
        places = {name: buffers for name, _, buffers in layout.arrays}
        counts = {name: (start, type_.itemsize) for name, type_, start in layout.counts}
        if layout.num_zones:
            self.native.register_stream(
                number,
                head,
                size,
                layout.num_zones,
                kind,
                width,
                [_bound_places(places[name]) for name in ("min", "max")],
                [counts.get(name, _NO_COUNT) for name in ("row_count", "value_count", "null_count", "nan_count")],
            )


class FileCounter:
    """What one count without a filter need not open: other files of the schemas it has opened.

    Parameters
    ----------
    has_checks
        Whether files are compared with their checksums.
    """

    def __init__(self, *, has_checks: bool) -> None:
        self.native = NativeFilePruner([(_UNKNOWN, 0, 0, 0, 0)], [], 0, has_checks)

    def register(self, rows: DescribedFile) -> None:
        """Have files like this one counted natively."""
        if rows.file.version in _VERSIONS and not self.native.is_idle:
            _register_schema(self.native, rows.file, [])


def _register_schema(native: NativeFilePruner, reader: LanceFileReader, columns: Sequence[int]) -> None:
    minor_version = int.from_bytes(reader.tail[-6:-4].tobytes(), "little")
    native.register_schema(reader.global_buffers.read(0), minor_version, reader.footer.num_columns, columns)


def _bound_places(buffers: tuple[tuple[int, int] | None, ...]) -> tuple[int, int, int, int]:
    """Where validity, offsets and values are (-1: nowhere), and the bytes of the values."""
    validity, *others = buffers
    offsets = others[0] if len(others) == 2 else None
    values = others[-1] or (0, 0)
    return validity[0] if validity else -1, offsets[0] if offsets else -1, *values


def _kind(type_: pa.DataType) -> str | None:
    """How the file pruner compares values of a type; None for those it does not."""
    types = pa.types
    if types.is_unsigned_integer(type_):
        return "u"
    is_counted = types.is_temporal(type_) and not types.is_interval(type_)
    if types.is_integer(type_) or is_counted:
        return "i"
    if types.is_float32(type_) or types.is_float64(type_):
        return "f"
    return "b" if is_variable(type_) else None


def _stored_kind(type_: pa.DataType) -> tuple[str, int]:
    """How values of a type are compared, and the bytes of each, or of its offset."""
    kind = _kind(type_)
    assert kind is not None
    if kind != "b":
        return kind, type_.bit_width // 8
    return kind, 8 if pa.types.is_large_string(type_) or pa.types.is_large_binary(type_) else 4


def _plain(scalar: pa.Scalar, kind: str) -> int | float | bytes | None:
    """A literal as the file pruner takes it; None for null and NaN, which compare in a way of their own."""
    if not scalar.is_valid:
        return None
    if kind == "b":
        return bytes(scalar.as_buffer().to_pybytes())
    value = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
    return None if kind == "f" and math.isnan(value) else value


class _Program:
    """Instructions, literals and columns of a filter."""

    def __init__(self) -> None:
        self.instructions: list[tuple[int, int, int, int, int]] = []
        self.literals: list[tuple[str, int | float | bytes]] = []
        self.columns: dict[Path, pa.DataType] = {}

    def add(self, node: Tree) -> None:
        """Add what leaves one outcome."""
        if node[0] == "call" and node[1] in ("and_kleene", "or_kleene"):
            is_or = node[1] == "or_kleene"
            for one in node[2]:
                self.add(one)
                if is_or:
                    self._emit(_NOT)
            self._emit(_AND, len(node[2]))
            if is_or:
                self._emit(_NOT)
            return
        write = _WRITERS.get(node[1]) if node[0] == "call" else None
        if write is None or not write(self, node):
            self._emit(_UNKNOWN)

    def _emit(self, step: int, argument: int = 0, literal: int = 0, stop: int = 0, flag: int = 0) -> None:
        self.instructions.append((step, argument, literal, stop, flag))

    def _column(self, node: Tree) -> int | None:
        """The number of a column that can be judged."""
        if node[0] != "field" or _kind(node[2]) is None:
            return None
        self.columns.setdefault(node[1], node[2])
        return list(self.columns).index(node[1])

    def _literal(self, kind: str, value: int | float | bytes) -> int:
        self.literals.append((kind, value))
        return len(self.literals) - 1

    def compare(self, node: Tree, step: int, *, swapped: bool = False, inverted: bool = False) -> bool:
        """Compare a column with a literal, whichever comes first."""
        left, right = node[2][::-1] if swapped else node[2]
        is_reversed = left[0] == "literal"
        of, with_ = (right, left) if is_reversed else (left, right)
        if of[0] != "field" or with_[0] != "literal" or of[-1] != with_[-1] or not isinstance(with_[1], pa.Scalar):
            return False
        kind = _kind(of[-1])
        value = None if kind is None or with_[1].type != of[-1] else _plain(with_[1], kind)
        if kind is None or value is None:
            return False
        column = self._column(of)
        assert column is not None
        self._emit(step, column, self._literal(kind, value), 0, int(is_reversed))
        if inverted:
            self._emit(_NOT)
        return True

    def invert(self, node: Tree) -> bool:
        self.add(node[2][0])
        self._emit(_NOT)
        return True

    def look(self, node: Tree, step: int) -> bool:
        """Ask whether a column is null, or valid, or NaN."""
        column = self._column(node[2][0])
        if column is None:
            return False
        self._emit(step, column, flag=int(bool(node[3])) if step == _IS_NULL else 0)
        return True

    def find(self, node: Tree) -> bool:
        """Look a column up in a set."""
        of, given = node[2][0], node[3]
        kind = _kind(of[-1]) if of[0] == "field" else None
        if kind is None or not isinstance(given, tuple):
            return False
        wanted, null_matching = given
        wanted = wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted
        if not isinstance(wanted, pa.Array) or null_matching not in (_MATCH_NULLS, _SKIP_NULLS):
            return False
        if wanted.type != of[-1] or len(wanted) > _MOST_MEMBERS:
            return False
        flag = _HAS_NULL if wanted.null_count and null_matching == _MATCH_NULLS else 0
        if kind == "f" and pc.any(pc.is_nan(wanted)).as_py():
            flag |= _HAS_NAN
        column, first = self._column(of), len(self.literals)
        assert column is not None
        for scalar in wanted:
            value = _plain(scalar, kind)
            if value is not None:
                self._literal(kind, value)
        self._emit(_IS_IN, column, first, len(self.literals), flag)
        return True

    def begin(self, node: Tree) -> bool:
        """Compare the beginning of a text column with a prefix: it lies between that and what follows all of these."""
        of, (prefix, ignores_case) = node[2][0], node[3]
        if of[0] != "field" or _kind(of[-1]) != "b" or ignores_case:
            return False
        column, stop = self._column(of), successor(prefix, False)
        assert column is not None
        self._emit(_LESS_EQUAL, column, self._literal("b", prefix), 0, 1)
        if stop is not None:
            self._emit(_LESS, column, self._literal("b", stop))
            self._emit(_AND, 2)
        return True


_WRITERS: Mapping[str, Callable[[_Program, Tree], bool]] = {
    "less": lambda program, node: program.compare(node, _LESS),
    "less_equal": lambda program, node: program.compare(node, _LESS_EQUAL),
    "greater": lambda program, node: program.compare(node, _LESS, swapped=True),
    "greater_equal": lambda program, node: program.compare(node, _LESS_EQUAL, swapped=True),
    "equal": lambda program, node: program.compare(node, _EQUAL),
    "not_equal": lambda program, node: program.compare(node, _EQUAL, inverted=True),
    "invert": _Program.invert,
    "is_null": lambda program, node: program.look(node, _IS_NULL),
    "is_valid": lambda program, node: program.look(node, _IS_VALID),
    "is_nan": lambda program, node: program.look(node, _IS_NAN),
    "is_in": _Program.find,
    "starts_with": _Program.begin,
}


def file_pruner(predicate: ZonePredicate, *, has_checks: bool) -> FilePruner | None:
    """Return the file pruner of a filter; None for one of which it would understand nothing."""
    found = FilePruner(predicate, has_checks=has_checks)
    return found if found.native.num_columns else None
