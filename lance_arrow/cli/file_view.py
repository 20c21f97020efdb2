"""Reports about one file: its container and encodings, its schema, its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode, column_tree, storage_type
from lance_arrow.cli.row_values import plain_rows
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.pages import PageMeta
from lance_arrow.container.schema import AncestorKind
from lance_arrow.errors import InvalidArgumentError, LanceError, did_you_mean
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import locate, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.spi import COMPRESSIVE, PRIVATE_CODEC
from lance_arrow.structure.description import EncodingReport, describe

_LEVEL_ROLES = ("rep_compression", "def_compression")
# Ancestors whose items only decoding counts.
_LISTS = (AncestorKind.LIST, AncestorKind.LARGE_LIST, AncestorKind.MAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferReport:
    """One buffer: what it is for (None where no plugin tells), first byte in the file, and bytes."""

    role: str | None
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReport:
    """One page.

    Parameters
    ----------
    codecs
        That its values are stored by, outermost first; levels have others.
    problem
        Why it cannot be read, None when nothing is known against it.
    """

    number: int
    first_row: int
    num_rows: int
    size_bytes: int
    buffers: list[BufferReport]
    codecs: list[str]
    encoding: EncodingReport
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """One physical column.

    Parameters
    ----------
    column
        Its number.
    path, type, nullable
        Of the leaf it holds; a header column of a 2.0 file holds none: type and nullable are None.
    num_rows
        Rows of all pages, as the column counts them.
    size_bytes
        Page and column buffers together.
    bytes_per_value
        `size_bytes` divided by the values; None below lists, whose items only decoding counts, and without values.
    compression_ratio
        Bytes of the values in Arrow, validity left out, divided by `size_bytes`; None unless values have a fixed width.
    encoding, buffers
        Of the column as a whole.
    pages
        In row order.
    """

    column: int
    path: str | None
    type: str | None
    nullable: bool | None
    num_rows: int
    size_bytes: int
    bytes_per_value: float | None
    compression_ratio: float | None
    encoding: EncodingReport
    buffers: list[BufferReport]
    pages: list[PageReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterReport:
    """The file's last 40 bytes: counts, and where its tables begin."""

    num_columns: int
    num_global_buffers: int
    first_column_position: int
    column_table_position: int
    buffer_table_position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """Everything in a file but its values; `data_bytes` are the buffers of the columns shown."""

    path: str
    version: str
    size_bytes: int
    num_rows: int
    data_bytes: int
    footer: FooterReport
    global_buffers: list[BufferReport]
    columns: list[ColumnReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReport:
    """One field of a schema and the fields below it; binary metadata is shown with escapes."""

    name: str
    type: str
    nullable: bool
    metadata: dict[str, str]
    children: list[FieldReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReport:
    """The Arrow schema of a file, a version of a table, or a folder of files.

    Parameters
    ----------
    path
        The file or folder.
    version
        File version; None where files are of several.
    num_rows
        Rows; in a table those that are not deleted.
    fields, metadata
        Of the schema.
    table_version
        Of a table; None otherwise.
    """

    path: str
    version: str | None
    num_rows: int
    fields: list[FieldReport]
    metadata: dict[str, str]
    table_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadReport:
    """The first rows of a file, a version of a table, or a folder of files, values as `row_values` makes them plain."""

    path: str
    num_rows: int
    columns: list[str]
    rows: list[dict[str, Any]]
    table_version: int | None = None


def view_file(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    problems: list[LanceError] | None = None,
) -> FileReport:
    """Report on the container and encodings of a file; reads metadata only.

    Parameters
    ----------
    source
        What `open_source` takes.
    columns
        Dotted paths: columns at or below them are shown; all when None.
    storage_options
        For the filesystem of a URL.
    problems
        Where to put errors of damaged columns, which are then left out; they are raised when None.

    Raises
    ------
    LanceError, OSError
        The file cannot be opened, or a column's metadata is damaged. What only hinders decoding is in the report.
    InvalidArgumentError
        A path names no column.
    """
    runtime = default_runtime()
    place = locate(source, storage_options=storage_options)
    with closing(open_source(source if place is None else place)) as opened:
        file = LanceFileReader(opened, limits=runtime.settings.limits)
        viewer = _Viewer(file, runtime)
        shown = viewer.columns(viewer.chosen(columns), problems)
        footer = file.footer
        return FileReport(
            path=file.name,
            version=str(file.version),
            size_bytes=footer.file_size,
            num_rows=file.num_rows,
            data_bytes=sum(column.size_bytes for column in shown),
            footer=FooterReport(
                num_columns=footer.num_columns,
                num_global_buffers=footer.num_global_buffers,
                first_column_position=footer.first_column_position,
                column_table_position=footer.column_table_position,
                buffer_table_position=footer.buffer_table_position,
            ),
            global_buffers=[_global_buffer(file, index) for index in range(len(file.global_buffers))],
            columns=shown,
        )


def view_schema(source: Any, *, storage_options: Mapping[str, Any] | None = None) -> SchemaReport:
    """Report on the schema of a file; reads no column. Errors as `LanceFile`."""
    with LanceFile(source, storage_options=storage_options) as file:
        return schema_report(file.schema, path=file.name, version=file.version, num_rows=file.num_rows)


def view_head(
    source: Any,
    *,
    num_rows: int,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> HeadReport:
    """Read the first `num_rows` rows of some columns; errors as `LanceFile.take`."""
    with LanceFile(source, storage_options=storage_options) as file:
        table = file.take(np.arange(min(num_rows, file.num_rows)), columns=columns)
        return HeadReport(path=file.name, num_rows=file.num_rows, columns=table.column_names, rows=plain_rows(table))


def schema_report(
    schema: pa.Schema, *, path: str, version: str | None, num_rows: int, table_version: int | None = None
) -> SchemaReport:
    """Describe a schema; the other parameters are those of `SchemaReport`."""
    return SchemaReport(
        path=path,
        version=version,
        num_rows=num_rows,
        fields=[_field(field) for field in schema],
        metadata=_metadata(schema.metadata),
        table_version=table_version,
    )


class _Viewer:
    """What the columns of one file have in common: schema leaves by physical column, and the plugins."""

    def __init__(self, file: LanceFileReader, runtime: Runtime) -> None:
        self._file = file
        self._runtime = runtime
        self._leaves = {leaf.column: leaf for leaf in file.leaves}
        roots = column_tree(file.schema, file.leaves)
        self._nodes = {node.column: node for root in roots for node in root.leaves()}

    def chosen(self, paths: Sequence[str] | None) -> list[int]:
        """Numbers of the physical columns at or below some paths."""
        if paths is None:
            return list(range(self._file.footer.num_columns))
        chosen: set[int] = set()
        for path in paths:
            found = [n for n, leaf in self._leaves.items() if leaf.path == path or leaf.path.startswith(f"{path}.")]
            if not found:
                known = [leaf.path for leaf in self._file.leaves]
                raise InvalidArgumentError(
                    f"there is no column {path!r}, expected one of {', '.join(known)}{did_you_mean(path, known)}",
                    path=self._file.name,
                    detail=path,
                )
            chosen.update(found)
        return sorted(chosen)

    def columns(self, numbers: Sequence[int], problems: list[LanceError] | None) -> list[ColumnReport]:
        """Report on columns. With `problems`, halves are tried until the damaged ones are found."""
        try:
            return [self.column(meta) for meta in self._file.columns(numbers)]
        except LanceError as error:
            if problems is None:
                raise
            if len(numbers) == 1:
                problems.append(error)
                return []
        middle = len(numbers) // 2
        return [*self.columns(numbers[:middle], problems), *self.columns(numbers[middle:], problems)]

    def column(self, meta: ColumnMeta) -> ColumnReport:
        leaf = self._leaves.get(meta.column)
        pages = [self._page(page, self._nodes.get(meta.column)) for page in meta.pages]
        size = int(meta.buffer_sizes.sum()) + sum(page.size_bytes for page in pages)
        values = None if leaf is None or any(above.kind in _LISTS for above in leaf.ancestors) else meta.num_rows
        width = None if leaf is None else _width_bits(leaf.type)
        return ColumnReport(
            column=meta.column,
            path=None if leaf is None else leaf.path,
            type=None if leaf is None else str(leaf.type),
            nullable=None if leaf is None else leaf.nullable,
            num_rows=meta.num_rows,
            size_bytes=size,
            bytes_per_value=size / values if values else None,
            compression_ratio=values * width / 8 / size if values and width and size else None,
            encoding=describe(meta.message, meta.description, self._runtime.table),
            buffers=_buffers(meta.buffer_offsets, meta.buffer_sizes, self._column_roles(meta)),
            pages=pages,
        )

    def _column_roles(self, meta: ColumnMeta) -> list[str | None]:
        """What the buffers of a column, as opposed to those of its pages, are for."""
        roles: list[str | None] = ["column"] * len(meta.buffer_sizes)
        try:
            bound = self._runtime.binder.column(meta.message, meta.description, len(roles))
        except LanceError:
            # The description is shown as it is, with what is wrong with it.
            return roles
        if bound.zone_map is not None:
            roles[bound.zone_map.column_buffer] = "zone map"
        return roles

    def _page(self, page: PageMeta, node: LeafNode | None) -> PageReport:
        roles: list[str | None] = [None] * len(page.buffer_sizes)
        problem = None if node is None else node.refusal and f"{node.refusal} cannot be read yet"
        if node is not None and problem is None:
            try:
                layout = self._runtime.binder.page(page.message, page.description, node.leaf, page.distribution)
                roles = [role.value for role in layout.roles(page.facts)]
            except LanceError as error:
                problem = "; ".join([error.message, *getattr(error, "__notes__", [])])
        encoding = describe(page.message, page.description, self._runtime.table, page.distribution)
        return PageReport(
            number=page.number,
            first_row=page.first_row,
            num_rows=page.num_rows,
            size_bytes=int(page.buffer_sizes.sum()),
            buffers=_buffers(page.buffer_offsets, page.buffer_sizes, roles),
            codecs=codecs_of(encoding),
            encoding=encoding,
            problem=problem,
        )


def _width_bits(type_: pa.DataType) -> int | None:
    """Bits of one value in Arrow, None where values differ."""
    storage = storage_type(type_)
    if isinstance(storage, pa.DictionaryType):
        return None
    if isinstance(storage, pa.FixedSizeListType):
        items = _width_bits(storage.value_type)
        return None if items is None else items * storage.list_size
    try:
        return storage.bit_width
    except ValueError:
        return None


def _buffers(offsets: np.ndarray, sizes: np.ndarray, roles: Sequence[str | None]) -> list[BufferReport]:
    return [
        BufferReport(role=role, offset=int(offset), size_bytes=int(size))
        for role, offset, size in zip(roles, offsets, sizes, strict=True)
    ]


def _global_buffer(file: LanceFileReader, index: int) -> BufferReport:
    place = file.global_buffers.place(index)
    role = None
    if index == 0:
        # Source: number 0 holds lance.file.FileDescriptor, the others have no fixed meaning.
        role = "file descriptor"
    elif file.checks is not None and index == len(file.global_buffers) - 1:
        role = "checksums"
    return BufferReport(role=role, offset=place.start, size_bytes=place.stop - place.start)


def codecs_of(encoding: EncodingReport) -> list[str]:
    """Name the codecs and schemes of a page's values (and dictionary), each once, outermost first."""
    found: dict[str, None] = {}
    waiting = [encoding]
    while waiting:
        node = waiting.pop(0)
        message, slash, case = node.key.partition("/")
        if slash and (message in (COMPRESSIVE, PRIVATE_CODEC) or message.endswith("CompressionScheme")):
            found[case] = None
        waiting[:0] = [child for role, child in node.children if role not in _LEVEL_ROLES]
    return list(found)


def _field(field: pa.Field) -> FieldReport:
    storage = storage_type(field.type)
    return FieldReport(
        name=field.name,
        type=str(field.type),
        nullable=field.nullable,
        metadata=_metadata(field.metadata),
        children=[_field(storage.field(at)) for at in range(storage.num_fields)],
    )


def _metadata(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in (metadata or {}).items()}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
