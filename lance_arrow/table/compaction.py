"""`compact_table`: small fragments, and those with many deleted rows, become large ones without; rows keep their ids.

fragments in order ─► runs of neighbours worth rewriting ─► groups of about one file's rows ─► new files ─► two commits

One group is read and written at a time, as a stream. What others delete or update meanwhile in the same fragments makes
the commit fail, and all begins again from the newest version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lance_arrow.container.schema import arrow_schema
from lance_arrow.datasets.field_sources import expanded
from lance_arrow.datasets.table_columns import VirtualColumn
from lance_arrow.datasets.table_reader import TableReader
from lance_arrow.datasets.write_options import WriteOptions
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.row_id_writing import encode_row_ids, encode_row_versions
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.index_section import read_indices
from lance_arrow.table.operations import Operation
from lance_arrow.table.rewrite_operations import ReserveFragments, Rewrite, RewriteGroup
from lance_arrow.table.table_line import ReaderOf, TableLine, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles

_REUSE = "fragmentreuseindexdetails"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """Which fragments are worth rewriting.

    Parameters
    ----------
    target_rows
        Rows that a fragment should have.
    deleted_part
        Fragments of which a larger part than this is deleted are rewritten whatever their size.
    """

    target_rows: int
    deleted_part: float

    def __post_init__(self) -> None:
        if not isinstance(self.target_rows, int) or isinstance(self.target_rows, bool) or self.target_rows < 1:
            raise InvalidArgumentError(
                f"target_rows_per_fragment is {self.target_rows!r}, expected an integer, at least 1"
            )
        if not isinstance(self.deleted_part, (int, float)) or not 0 <= self.deleted_part <= 1:
            raise InvalidArgumentError(
                f"materialize_deletions_threshold is {self.deleted_part!r}, expected a number from 0 to 1"
            )

    def groups(self, physical: Sequence[int], live: Sequence[int]) -> list[range]:
        """Choose groups of neighbours.

        Parameters
        ----------
        physical, live
            Rows of each fragment, with deleted ones and without.

        Returns
        -------
        list of range
            Numbers of fragments; each group saves a fragment, or has many deleted rows.
        """
        needs = [all_ and (all_ - left) / all_ > self.deleted_part for all_, left in zip(physical, live, strict=True)]
        found: list[range] = []
        start = rows = 0

        def close(stop: int) -> None:
            nonlocal start, rows
            if stop > start and (any(needs[start:stop]) or -(-rows // self.target_rows) < stop - start):
                found.append(range(start, stop))
            start, rows = stop, 0

        for number, left in enumerate(live):
            if left >= self.target_rows and not needs[number]:
                close(number)
                start = number + 1
                continue
            rows += left
            if rows >= self.target_rows:
                close(number + 1)
        close(len(live))
        return found


def compact_table(
    target: TableLine,
    base: ManifestMeta,
    reader_of: ReaderOf,
    plan: CompactionPlan,
    *,
    options: Callable[[str], WriteOptions],
    message: str | None,
) -> ManifestMeta:
    """Compact a table; arguments are those of `LanceTable.compact`. Returns the newest version, made here or not."""

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Operation | None:
        reader = reader_of(base)
        rows = [reader.fragment(number) for number in range(len(base.fragments))]
        groups = plan.groups([one.num_physical for one in rows], [one.num_rows for one in rows])
        if not groups:
            return None
        refuse_blob_structs(base.fields)
        refuse_reuse(target, base)
        chosen = options(writable_version(base))
        made = [_rewritten(target, base, reader, group, plan.target_rows, chosen, files) for group in groups]
        count = sum(len(group.new) for group in made)
        with WrittenFiles() as reserved:
            number = first_reserved(target.commit(ReserveFragments(count), base, reserved, None), count)
        for group in made:
            for fragment in group.new:
                fragment.id = number
                number += 1
        return Rewrite(made)

    return target.retried(base, attempt, message)


def first_reserved(made: ManifestMeta, count: int) -> int:
    """Return the first of the ids that a commit of `ReserveFragments` took."""
    assert made.max_fragment_id is not None
    return made.max_fragment_id + 1 - count


def refuse_reuse(target: TableLine, base: ManifestMeta) -> None:
    """Refuse a table of which an earlier compaction left indices to be mended later."""
    for index in read_indices(target.line, base, target.settings.limits).indices:
        if index.index_details.type_url.rpartition(".")[2].lower() == _REUSE:
            raise UnsupportedError(
                "an earlier compaction has left its indices for later: only its writer can go on", path=base.facts.root
            )


def _rewritten(
    target: TableLine,
    base: ManifestMeta,
    reader: TableReader,
    group: range,
    max_rows: int,
    options: WriteOptions,
    files: WrittenFiles,
) -> RewriteGroup:
    message = editable(base)
    old = [message.fragments[number] for number in group]
    for fragment in old:
        check_fragment_known(fragment, base.facts.manifest_path)
    schema = arrow_schema(base.fields, base.facts.schema_metadata)
    part = reader.part(group)
    rows = part.batches(part.projection(schema.names), schema.names, None, None)
    new = write_fragments(
        target.line,
        schema,
        base.fields,
        (batch.replace_schema_metadata(schema.metadata) for batch in rows),
        files,
        options=options,
        max_rows_per_file=max_rows,
    )
    if base.facts.has_stable_row_ids:
        carry_rows(reader, group, new)
    return RewriteGroup(old, new)


def carry_rows(reader: TableReader, group: range, new: Sequence[DataFragment]) -> None:
    """Give rows in their new fragments what they were before."""
    carried = []
    for kind in (VirtualColumn.ROW_ID, VirtualColumn.CREATED_AT, VirtualColumn.UPDATED_AT):
        parts = [np.empty(0, np.uint64)]
        for number in group:
            rows = reader.fragment(number)
            offsets = expanded(rows.live.starts, rows.live.stops)
            parts.append(rows.virtual(kind.value, offsets, None).to_numpy())
        carried.append(np.concatenate(parts))
    start = 0
    for fragment in new:
        stop = start + fragment.physical_rows
        ids, created, updated = (one[start:stop] for one in carried)
        fragment.inline_row_ids = encode_row_ids(ids)
        fragment.inline_created_at_versions = encode_row_versions(created)
        fragment.inline_last_updated_at_versions = encode_row_versions(updated)
        start = stop
