"""`compact_table`: rewrite small fragments, and those with many deleted rows, into large ones; rows keep their ids.

fragments in order ─► runs of neighbours worth rewriting ─► groups of about one file's rows ─► new files ─► two commits

Groups are read and written as streams, as many at once as the memory budget allows. If others delete or update rows of
the same fragments meanwhile, the commit fails, and the compaction starts again from the newest version. Fragments of an
index by address are left out. Groups are cut so that an index covers all fragments of a group, or none
(`indices/movable.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.fragments import fragment_ids
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.manifests.zone_indices import REUSE_TYPE, details_type
from lance_arrow.proto.table_pb2 import DataFragment, IndexSection
from lance_arrow.scan.fragments.field_sources import expanded
from lance_arrow.scan.fragments.table_columns import VirtualColumn
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.clustered_rows import check_cluster_columns, clustered_fragments, give_rows
from lance_arrow.table.group_threads import GroupMeter, Progress, side_by_side
from lance_arrow.table.indices.movable import MovableGroups, kept_out_lines, movable_groups
from lance_arrow.table.indices.remaking import IndexRemaking
from lance_arrow.table.operations.base import Operation
from lance_arrow.table.operations.rewriting import ReserveFragments, RewriteGroup
from lance_arrow.table.rewritten_rows import rewritten_fragments
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """Which fragments are worth rewriting.

    Parameters
    ----------
    target_rows
        Rows that a fragment should have.
    deleted_part
        A fragment of any size is rewritten if a larger part of its rows than this is deleted.
    cluster_by
        Columns to sort rows by. All fragments are rewritten then: those that no index keeps apart make one group.
    """

    target_rows: int
    deleted_part: float
    cluster_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.target_rows, int) or isinstance(self.target_rows, bool) or self.target_rows < 1:
            raise InvalidArgumentError(
                f"target_rows_per_fragment is {self.target_rows!r}, expected an integer, at least 1"
            )
        if not isinstance(self.deleted_part, (int, float)) or not 0 <= self.deleted_part <= 1:
            raise InvalidArgumentError(
                f"materialize_deletions_threshold is {self.deleted_part!r}, expected a number from 0 to 1"
            )

    def groups(
        self, physical: Sequence[int], live: Sequence[int], keys: Sequence[tuple[int, ...]] | None = None
    ) -> list[range]:
        """Choose groups of neighbours.

        Parameters
        ----------
        physical, live
            Rows of each fragment, with deleted ones and without.
        keys
            Fragments of different keys are not put together; None when all may be.

        Returns
        -------
        list of range
            Numbers of fragments; each group saves a fragment, or has many deleted rows.
        """
        if self.cluster_by:
            return _runs(len(live), keys)
        needs = [all_ and (all_ - left) / all_ > self.deleted_part for all_, left in zip(physical, live, strict=True)]
        found: list[range] = []
        start = rows = 0

        def close(stop: int) -> None:
            nonlocal start, rows
            if stop > start and (any(needs[start:stop]) or -(-rows // self.target_rows) < stop - start):
                found.append(range(start, stop))
            start, rows = stop, 0

        for number, left in enumerate(live):
            if keys is not None and number and keys[number] != keys[number - 1]:
                close(number)
            if left >= self.target_rows and not needs[number]:
                close(number)
                start = number + 1
                continue
            rows += left
            if rows >= self.target_rows:
                close(number + 1)
        close(len(live))
        return found

    def choose(
        self, target: WritableBranch, base: ManifestMeta, reader: TableReader, *, drop_indices: bool
    ) -> MovableGroups:
        """Choose groups of a version, and tell what its indices have to say of them.

        Raises
        ------
        UnsupportedError
            As `indices_to_move`.
        """
        rows = [reader.fragment(number) for number in range(len(base.fragments))]
        physical, live = [one.num_physical for one in rows], [one.num_rows for one in rows]
        if not self.groups(physical, live):
            return MovableGroups(groups=())
        section = indices_to_move(target, base)
        # An index is made again from where rows move to when they stay in their order.
        remaking = IndexRemaking(IndexSection() if self.cluster_by else section, base, reader, target.line)
        return movable_groups(
            section, base, lambda keys: self.groups(physical, live, keys), remaking, drop_indices=drop_indices
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """Result of a compaction.

    Parameters
    ----------
    version_before, version_after
        The version whose fragments were rewritten, and the one that was made; equal where nothing was rewritten.
    fragments_rewritten, fragments_made
        Ids of the fragments that were replaced, and of those that replaced them.
    kept_out
        By name of an index, the ids of fragments that were not rewritten because of it. Such an index names rows by
        address, and an address changes when a row moves.
    carried_indices
        Names of the indices that cover new fragments as they covered the old ones.
    dropped_indices
        Names of the indices that were dropped.
    """

    version_before: int
    version_after: int
    fragments_rewritten: tuple[int, ...] = ()
    fragments_made: tuple[int, ...] = ()
    kept_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    carried_indices: tuple[str, ...] = ()
    dropped_indices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.fragments_rewritten:
            rewritten, made = len(self.fragments_rewritten), len(self.fragments_made)
            parts = [f"{rewritten:,} fragments became {made:,}, version {self.version_after}"]
        else:
            parts = ["no fragment was rewritten"]
        if self.carried_indices:
            parts.append(f"indices carried along: {', '.join(self.carried_indices)}")
        if self.dropped_indices:
            parts.append(f"indices dropped: {', '.join(self.dropped_indices)}")
        return "; ".join([*parts, *kept_out_lines(self.kept_out)])


def compact_table(
    target: WritableBranch,
    base: ManifestMeta,
    reader_of: ReaderOf,
    plan: CompactionPlan,
    *,
    drop_indices: bool,
    options: Callable[[str], WriteOptions],
    message: str | None,
    on_progress: Progress | None = None,
) -> tuple[ManifestMeta, CompactionReport]:
    """Compact a table; arguments are those of `LanceTable.compact`.

    Returns
    -------
    ManifestMeta
        The newest version, made here or not.
    CompactionReport
        What was done.
    """
    told: dict[str, Any] = {}

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Operation | None:
        reader = reader_of(base)
        check_cluster_columns(plan.cluster_by, arrow_schema(base.fields, base.facts.schema_metadata))
        found = plan.choose(target, base, reader, drop_indices=drop_indices)
        told.clear()
        told.update(version_before=base.version, kept_out=found.kept_out)
        if not found.groups:
            return None
        refuse_blob_structs(base.fields)
        chosen = options(writable_version(base))
        meter = GroupMeter(sum(reader.fragment(number).num_rows for one in found.groups for number in one), on_progress)
        messages = [[_known(base, number) for number in group] for group in found.groups]

        def rewritten(group: range) -> list[DataFragment]:
            if plan.cluster_by:
                return clustered_fragments(
                    target.line,
                    base.facts,
                    reader,
                    group,
                    files,
                    cluster_by=plan.cluster_by,
                    options=chosen,
                    max_rows_per_file=plan.target_rows,
                    memory_bytes=target.settings.memory_budget_bytes,
                    on_rows=meter.add,
                )
            new = rewritten_fragments(
                target.line,
                base.facts,
                reader,
                group,
                files,
                options=chosen,
                max_rows_per_file=plan.target_rows,
                on_rows=meter.add,
            )
            if base.facts.has_stable_row_ids:
                carry_rows(reader, group, new)
            return new

        written = side_by_side(rewritten, found.groups, meter, target.settings)
        made = [RewriteGroup(old, new) for old, new in zip(messages, written, strict=True)]
        number_fragments(target, base, made)
        told.update(
            fragments_rewritten=tuple(one.id for group in made for one in group.old),
            fragments_made=tuple(one.id for group in made for one in group.new),
            carried_indices=found.carried,
            dropped_indices=tuple(sorted(found.dropped)),
        )
        return found.operation(made, files)

    after = target.retried(base, attempt, message)
    return after, CompactionReport(version_after=after.version, **told)


def _runs(count: int, keys: Sequence[tuple[int, ...]] | None) -> list[range]:
    """Return the longest runs of neighbours of one key."""
    borders = [at for at in range(1, count) if keys is not None and keys[at] != keys[at - 1]]
    return [range(start, stop) for start, stop in zip([0, *borders], [*borders, count], strict=True) if stop > start]


def number_fragments(target: WritableBranch, base: ManifestMeta, made: Sequence[RewriteGroup]) -> None:
    """Give new fragments ids, which are reserved by a commit of their own."""
    count = sum(len(group.new) for group in made)
    with WrittenFiles() as reserved:
        number = first_reserved(target.commit(ReserveFragments(count), base, reserved, None), count)
    for group in made:
        for fragment in group.new:
            fragment.id = number
            number += 1


def first_reserved(made: ManifestMeta, count: int) -> int:
    """Return the first of the ids that a commit of `ReserveFragments` took."""
    assert made.max_fragment_id is not None
    return made.max_fragment_id + 1 - count


def indices_to_move(target: WritableBranch, base: ManifestMeta) -> IndexSection:
    """Read the indices of a version whose rows are to move.

    Raises
    ------
    UnsupportedError
        An earlier compaction has not updated its indices yet.
    """
    section = read_indices(target.line, base, target.settings.limits)
    if any(details_type(index) == REUSE_TYPE for index in section.indices):
        raise UnsupportedError(
            "an earlier compaction by another library has not updated its indices yet; only that library can do so",
            path=base.facts.root,
        )
    return section


def _known(base: ManifestMeta, number: int) -> DataFragment:
    """Return the message of a fragment, of which nothing is unknown."""
    fragment = editable(base).fragments.get(int(fragment_ids(base.fragments)[number]))
    check_fragment_known(fragment, base.facts.manifest_path)
    return fragment


def carry_rows(reader: TableReader, group: range, new: Sequence[DataFragment]) -> None:
    """Give rows in their new fragments what they were before."""
    carried = []
    for kind in (VirtualColumn.ROW_ID, VirtualColumn.CREATED_AT, VirtualColumn.UPDATED_AT):
        parts = [np.empty(0, np.uint64)]
        for rows in reader.with_deletions(group):
            offsets = expanded(rows.live.starts, rows.live.stops)
            parts.append(rows.virtual(kind.value, offsets, None).to_numpy())
        carried.append(np.concatenate(parts))
    give_rows(new, *carried)
