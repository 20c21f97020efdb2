"""`merge_rows`: does a merge: updated rows are written as the table is read, inserted ones at last.

A source that fits in memory takes one pass over the table, another one a pass for each part of its keys.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.statistics.zone_types import is_variable
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.merges.merge_pass import MergePass, inserted_rows
from lance_arrow.table.merges.merging import MergeClauses
from lance_arrow.table.moved_rows import MovedRows
from lance_arrow.table.operations.rows import Update
from lance_arrow.table.row_addresses import RowAddresses
from lance_arrow.table.row_deletion import write_deleted
from lance_arrow.table.row_fitting import fitted_rows
from lance_arrow.table.row_parts import RowPart, parted_rows, parts_rows
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, writable_version
from lance_arrow.table.written_files import WrittenFiles

_PARTS_IN_BUDGET = 4
_HASHED_PARTS_IN_BUDGET = 8
"""A part of a source is held with its keys, which take more if they are hashed, beside rows of the table and pages."""


def merge_rows(
    target: WritableBranch,
    base: ManifestMeta,
    reader_of: ReaderOf,
    clauses: MergeClauses,
    source: Any,
    schema: pa.Schema | None,
    *,
    options: Callable[[str], WriteOptions],
    max_rows_per_file: int,
    message: str | None,
    casts: bool = False,
) -> tuple[ManifestMeta, dict[str, int]]:
    """Merge rows; where others changed the same fragments or added rows since, again from the newest version.

    Parameters
    ----------
    reader_of
        Makes a reader of a version.
    clauses, source, schema
        What `TableMerge` was told. A source that takes more than a quarter of the memory budget is held in temporary
        files, and merged part by part.
    options
        Makes the options for the file version of the table.
    max_rows_per_file, message
        As for `TableMerge.execute`.
    casts
        As for `LanceTable.merge`.

    Returns
    -------
    ManifestMeta
        The version that was made.
    dict
        Rows inserted, updated, deleted.
    """
    counts: dict[str, int] = {}
    memory_bytes = target.settings.memory_budget_bytes

    with ExitStack() as held:
        source_rows: list[_Source] = []

        def attempt(base: ManifestMeta, files: WrittenFiles) -> Update:
            chosen = options(writable_version(base))
            reader = reader_of(base)
            moved = MovedRows(base, reader, clauses.on)
            if not source_rows:
                given, rows = fitted_rows(
                    source,
                    moved.table_schema,
                    chosen.version,
                    schema=schema,
                    may_lack=not clauses.inserts,
                    casts=casts,
                )
                _check_keys(clauses, given)
                parts = held.enter_context(parted_rows(rows, given, *_parting(clauses, given, memory_bytes)))
                source_rows.append(_Source(given.names, parts))
            merge = _Merge(clauses, source_rows[0].parts, moved, reader, memory_bytes)
            added = write_fragments(
                target.line,
                moved.table_schema,
                moved.fields,
                merge.rows(),
                files,
                options=chosen,
                max_rows_per_file=max_rows_per_file,
            )
            moved.keep(added)
            counts.update(
                num_inserted_rows=merge.num_inserted,
                num_updated_rows=len(moved.addresses),
                num_deleted_rows=len(merge.deleted),
            )
            merge.deleted.update(moved.addresses)
            updated, removed = write_deleted(target.line, base, reader, merge.deleted, files)
            names = source_rows[0].names
            return Update(
                updated=updated,
                removed=removed,
                added=added,
                fields=[field.id for top in base.fields if top.name in names for field in top.walk()],
                depends_on_keys=clauses.inserts or clauses.deletes_others or clauses.fails,
            )

        return target.retried(base, attempt, message), counts


@dataclass(frozen=True, slots=True)
class _Source:
    names: Sequence[str]
    parts: Sequence[RowPart]


def _check_keys(clauses: MergeClauses, given: pa.Schema) -> None:
    for name in clauses.on:
        if name not in given.names:
            raise InvalidArgumentError(
                f"the key column {name!r} is not in the source, or not in the table", column=name
            )


def _parting(clauses: MergeClauses, given: pa.Schema, memory_bytes: int) -> tuple[str | None, int]:
    """Return the key column whose ranges part rows, and the bytes of a part.

    Floating point numbers part nothing: no range holds NaN, which may be a key. Numbers and times come before text:
    tables are more often in their order, so that passes skip zones.
    """
    types = ((name, given.field(name).type) for name in clauses.on)
    names = [
        (is_variable(type_), name) for name, type_ in types if parts_rows(type_) and not pa.types.is_floating(type_)
    ]
    are_hashed = any(not pa.types.is_integer(given.field(name).type) for name in clauses.on)
    part_bytes = memory_bytes // (_HASHED_PARTS_IN_BUDGET if are_hashed else _PARTS_IN_BUDGET)
    return min(names, key=lambda one: one[0])[1] if names else None, part_bytes


class _Merge:
    """The passes for the parts of a source; `rows` yields what is to be written, and the rest is known afterwards."""

    def __init__(
        self,
        clauses: MergeClauses,
        parts: Sequence[RowPart],
        moved: MovedRows,
        reader: TableReader,
        memory_bytes: int,
    ) -> None:
        self._clauses, self._parts, self._moved = clauses, parts, moved
        self._reader, self._memory_bytes = reader, memory_bytes
        self.deleted = RowAddresses()
        self.num_inserted = 0

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield updated rows of all parts first: the ids that they keep are those of the first rows of new files."""
        new: list[NDArray[np.uint8]] = []
        for part in self._parts:
            new.append((yield from self._updated(part)))
        if not self._clauses.inserts:
            return
        for part, bits in zip(self._parts, new, strict=True):
            source = part.rows()
            is_new = np.unpackbits(bits, count=source.num_rows).astype(bool)
            self.num_inserted += int(np.count_nonzero(is_new))
            yield from inserted_rows(source, is_new, self._moved.table_schema)

    def _updated(self, part: RowPart) -> Generator[pa.RecordBatch, None, NDArray[np.uint8]]:
        """Yield updated rows; return a bit for each row of the source that says whether it is new."""
        found = MergePass(
            self._clauses, part.rows(), part.within, self._moved, self._reader, self.deleted, self._memory_bytes
        )
        yield from found.updated()
        return np.packbits(found.is_new())
