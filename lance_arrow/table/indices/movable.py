"""`movable_groups`: which groups of fragments may be rewritten, and which of them an index keeps where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.table.indices.coverage import IndexCoverage

GroupsOf = Callable[[Sequence[tuple[int, ...]]], Sequence[range]]
"""Chooses groups of neighbours, as numbers of fragments; fragments of different keys are not put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovableGroups:
    """What may be rewritten.

    Parameters
    ----------
    groups
        Numbers of fragments.
    kept_out
        By name of an index, the ids of fragments that would be rewritten without it.
    dropped
        Names of indices that must be dropped along with the rewriting.
    """

    groups: tuple[range, ...]
    kept_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


def movable_groups(
    section: IndexSection, base: ManifestMeta, groups_of: GroupsOf, *, drop_indices: bool
) -> MovableGroups:
    """Choose groups of fragments whose rows may move.

    Parameters
    ----------
    section, base
        Indices of the version, and the version.
    groups_of
        Chooses groups by what covers the fragments.
    drop_indices
        Whether an index that names rows by address is dropped; otherwise the fragments that it covers stay.

    Raises
    ------
    CorruptManifestError
        A fragment bitmap is damaged.
    """
    ids = [fragment.id for fragment in base.fragments]
    stable = base.facts.has_stable_row_ids
    coverage = IndexCoverage(section, ids, stable_row_ids=stable)
    if drop_indices:
        ignored = coverage.broken_by_moving(ids)
        chosen = groups_of(IndexCoverage(section, ids, stable_row_ids=stable, ignored=ignored).keys())
        moved = [ids[number] for group in chosen for number in group]
        return MovableGroups(groups=tuple(chosen), dropped=frozenset(coverage.broken_by_moving(moved)))
    kept: list[range] = []
    kept_out: dict[str, list[int]] = {}
    for group in groups_of(coverage.keys()):
        own = [ids[number] for number in group]
        names = coverage.broken_by_moving(own)
        if not names:
            kept.append(group)
        for name in names:
            kept_out.setdefault(name, []).extend(own)
    return MovableGroups(groups=tuple(kept), kept_out={name: tuple(kept_out[name]) for name in sorted(kept_out)})


def kept_out_lines(kept_out: Mapping[str, Sequence[int]]) -> list[str]:
    """Say which indices kept which fragments out, a line for each index."""
    return [
        f"fragments {', '.join(map(str, ids))} were not rewritten: index {name!r} names their rows by address; "
        "drop_indices drops it"
        for name, ids in kept_out.items()
    ]
