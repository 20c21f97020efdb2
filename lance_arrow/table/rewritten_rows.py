"""`rewritten_fragments`: live rows of fragments in new files; pages that need no change are copied.

A fragment is copied column by column: those whose pages `copied_columns` takes, as they are; the others are decoded and
encoded. Fragments with deleted rows, and small ones, are read together and encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS, arrow_schema, column_mapping
from lance_arrow.files.batch_inputs import Rows
from lance_arrow.files.copied_rows import CopiedColumn, CopiedRows, are_large_pages, copied_columns
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.written_files import WrittenFiles


def rewritten_fragments(
    line: Location,
    facts: TableFacts,
    reader: TableReader,
    numbers: Sequence[int],
    files: WrittenFiles,
    *,
    options: WriteOptions,
    max_rows_per_file: int,
    prefix: str = "",
    copies: bool = True,
    on_rows: Callable[[int], None] | None = None,
) -> list[DataFragment]:
    """Write live rows of fragments to new files.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    facts
        The version.
    reader
        Reads it, columns as files hold them.
    numbers
        Which of its fragments, in the order of rows.
    files, options, max_rows_per_file, prefix
        As for `write_fragments`.
    copies
        Whether pages are copied that need no change; all rows are encoded, as `options` say, when False.
    on_rows
        Told of rows when they were written.

    Returns
    -------
    list of DataFragment
        In row order, without ids.

    Raises
    ------
    CorruptPageError
        Bytes of a page that is copied contradict their checksum; file, column, page and byte range are named.
    LanceError, OSError
        As `write_fragments` and `TableReader.batches`.
    """
    schema = arrow_schema(facts.fields, facts.schema_metadata)
    copies = copies and options.version not in LEGACY_VERSIONS
    rows = _rows(reader, numbers, schema, facts.fields, options.version, copies=copies)
    return write_fragments(
        line,
        schema,
        facts.fields,
        rows if on_rows is None else _told(rows, on_rows),
        files,
        options=options,
        max_rows_per_file=max_rows_per_file,
        prefix=prefix,
    )


def _rows(
    reader: TableReader,
    numbers: Sequence[int],
    schema: pa.Schema,
    fields: Sequence[SchemaField],
    version: FileVersion,
    *,
    copies: bool,
) -> Iterator[Rows | CopiedRows]:
    """Yield rows to encode and, if `copies`, fragments to copy, in order."""

    def copied(number: int) -> dict[int, CopiedColumn]:
        return _copied_columns(reader.fragment(number), fields, version)

    run: list[int] = []
    large = {number for number in numbers if copies and _may_be_copied(reader.fragments[number])}
    # Their files are opened ahead.
    found = default_runtime().ahead(copied, [number for number in numbers if number in large])
    for number in numbers:
        columns = next(found) if number in large else {}
        if not columns:
            run.append(number)
            continue
        yield from _decoded(reader, run, schema, None)
        run = []
        yield CopiedRows(reader.fragment(number).num_rows, columns, partial(_decoded, reader, [number], schema))
    yield from _decoded(reader, run, schema, None)


def _told(rows: Iterator[Rows | CopiedRows], on_rows: Callable[[int], None]) -> Iterator[Rows | CopiedRows]:
    for one in rows:
        yield one
        on_rows(one.num_rows)


def _may_be_copied(fragment: FragmentMeta) -> bool:
    """Whether some pages may be large enough, as far as the manifest tells."""
    rows, sizes = fragment.physical_rows, [file.size_bytes for file in fragment.files]
    if fragment.deletion is not None or rows is None or None in sizes:
        return False
    return are_large_pages(1, rows, sum(size or 0 for size in sizes))


def _copied_columns(
    fragment: FragmentRows, fields: Sequence[SchemaField], version: FileVersion
) -> dict[int, CopiedColumn]:
    """Return by number the table's columns that lie in one file each, whose pages can be copied."""
    numbers = {id(file): number for number, file in enumerate(fragment.meta.files)}
    wanted: dict[int, dict[int, SchemaField]] = {}
    columns: dict[int, list[int]] = {}
    for top, field in enumerate(fields):
        ids = [leaf.field_id for leaf in column_mapping([field], version)] if field.children else [field.id]
        places = [fragment.meta.file_of(one) for one in ids]
        known = [place for place in places if place is not None]
        if len(known) == len(places) and all(file is known[0][0] for file, _ in known):
            wanted.setdefault(numbers[id(known[0][0])], {})[top] = field
            columns[top] = [place for _, place in known]
    return {
        top: column
        for number, some in wanted.items()
        for top, column in copied_columns(fragment.open_file(number), some, version).items()
        if [leaf.column for leaf in column.node.leaves()] == columns[top]
    }


def _decoded(
    reader: TableReader, numbers: Sequence[int], schema: pa.Schema, names: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """Yield live rows of fragments, all columns or some."""
    if not numbers:
        return
    part = reader.part(numbers)
    projection = part.projection(schema.names if names is None else names)
    for batch in part.batches(projection, None, None, wants_all=True, is_written=True):
        yield batch.replace_schema_metadata(schema.metadata)
