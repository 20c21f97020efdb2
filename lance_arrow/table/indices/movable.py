"""`movable_groups`: which groups of fragments may be rewritten, and which of them an index keeps where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.table.indices.coverage import IndexCoverage
from lance_arrow.table.indices.remaking import IndexRemaking
from lance_arrow.table.operations.rewriting import Rewrite, RewriteGroup
from lance_arrow.table.written_files import WrittenFiles

_LISTED = 20

GroupsOf = Callable[[Sequence[tuple[int, ...]]], Sequence[range]]
"""Chooses groups of neighbours, as numbers of fragments; fragments of different keys are not put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovableGroups:
    """Groups of fragments that may be rewritten, and the indices they affect.

    Parameters
    ----------
    groups
        Numbers of fragments.
    kept_out
        By name of an index, the ids of fragments that would be rewritten without it.
    dropped
        Names of indices that must be dropped along with the rewriting.
    carried
        Names of indices that cover new fragments as they cover the old ones.
    remaking
        Makes indices again; None when there is nothing to rewrite.
    """

    groups: tuple[range, ...]
    kept_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    carried: tuple[str, ...] = ()
    remaking: IndexRemaking | None = None

    def operation(self, made: Sequence[RewriteGroup], files: WrittenFiles) -> Rewrite:
        """Return the operation that puts new fragments, with their ids, in the place of the old ones.

        Parameters
        ----------
        made
            The groups, rewritten.
        files
            Told of the files of indices that are made again.
        """
        remade = {} if self.remaking is None else self.remaking.made(self.groups, made, self.dropped, files)
        return Rewrite(made, self.dropped, remade)


def movable_groups(
    section: IndexSection, base: ManifestMeta, groups_of: GroupsOf, remaking: IndexRemaking, *, drop_indices: bool
) -> MovableGroups:
    """Choose groups of fragments whose rows may move.

    Parameters
    ----------
    section, base
        Indices of the version, and the version.
    groups_of
        Chooses groups by what covers the fragments.
    remaking
        The indices that can be made again.
    drop_indices
        Whether an index is dropped that names rows by address and cannot be made again; otherwise the fragments that
        it covers stay.

    Raises
    ------
    CorruptManifestError
        A fragment bitmap is damaged.
    """
    ids = [fragment.id for fragment in base.fragments]
    stable = base.facts.has_stable_row_ids
    remakable = remaking.indices
    coverage = IndexCoverage(section, ids, stable_row_ids=stable, remakable=remakable)
    if drop_indices:
        ignored = coverage.broken_by_moving(ids)
        left = IndexCoverage(section, ids, stable_row_ids=stable, ignored=ignored, remakable=remakable)
        chosen = tuple(groups_of(left.keys()))
        moved = [ids[number] for group in chosen for number in group]
        return MovableGroups(
            groups=chosen,
            dropped=frozenset(coverage.broken_by_moving(moved)),
            carried=tuple(left.covering(moved)),
            remaking=remaking,
        )
    kept: list[range] = []
    kept_out: dict[str, list[int]] = {}
    for group in groups_of(coverage.keys()):
        own = [ids[number] for number in group]
        names = coverage.broken_by_moving(own)
        if not names:
            kept.append(group)
        for name in names:
            kept_out.setdefault(name, []).extend(own)
    return MovableGroups(
        groups=tuple(kept),
        kept_out={name: tuple(kept_out[name]) for name in sorted(kept_out)},
        carried=tuple(coverage.covering(ids[number] for group in kept for number in group)),
        remaking=remaking,
    )


def listed(numbers: Sequence[int]) -> str:
    """Return the first of many numbers as text, and how many more there are."""
    text = ", ".join(map(str, numbers[:_LISTED]))
    return text if len(numbers) <= _LISTED else f"{text} and {len(numbers) - _LISTED:,} more"


def kept_out_lines(kept_out: Mapping[str, Sequence[int]]) -> list[str]:
    """Say which indices kept which fragments out, a line for each index."""
    return [
        f"fragments {listed(ids)} were not rewritten: index {name!r} names their rows by address; drop_indices drops it"
        for name, ids in kept_out.items()
    ]
