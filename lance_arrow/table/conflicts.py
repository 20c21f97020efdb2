"""Conflict rules: which operations may follow each other although they started from the same version.

Source: table-format 7.3. A row of the table is our operation; a column is one that another writer committed meanwhile.
If the table has no answer, the whole operation runs again, which is always safe.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from google.protobuf.message import DecodeError

from lance_arrow.errors import CorruptManifestError
from lance_arrow.proto.transaction_pb2 import Transaction


class Outcome(enum.Enum):
    """Whether our operation can be committed after another one."""

    COMPATIBLE = "compatible"
    RETRYABLE = "retryable"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether our operation can be committed, and the reason.

    Parameters
    ----------
    outcome
        Result of the comparison.
    reason
        Text for people; empty when compatible.
    """

    outcome: Outcome
    reason: str = ""


COMPATIBLE = Verdict(Outcome.COMPATIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Fragments, fields and keys that a transaction touches, for conflict checks.

    Parameters
    ----------
    operation
        Its name, as `TransactionMeta.operation`; None for an unknown one.
    fragments
        Ids of fragments it changes or removes; None for all of them.
    removed
        Those of them that it removes.
    fields
        Ids of fields whose values it replaces.
    index_names
        Indices it makes or drops.
    config_keys
        Keys of the configuration, and of other metadata, that it sets or deletes; of the latter with what they are of.
    replaces_config
        Whether it replaces all keys of something.
    schema_metadata
        Whether it changes metadata of the schema or of fields.
    keeps_nullability
        Whether a change of the schema promises that no column became nullable or stopped being so.
    adds_rows
        Whether it may have added rows whose keys another operation looked for.
    finds_keys
        Whether it relies on which keys there are. Transactions do not record this, so it is only known of our own.
    """

    operation: str | None
    fragments: frozenset[int] | None = frozenset()
    removed: frozenset[int] = frozenset()
    fields: frozenset[int] = frozenset()
    index_names: frozenset[str] = frozenset()
    config_keys: frozenset[str] = frozenset()
    replaces_config: bool = False
    schema_metadata: bool = False
    keeps_nullability: bool = False
    adds_rows: bool = False
    finds_keys: bool = False

    def shares_fragments(self, other: Footprint) -> bool:
        """Whether both touch one fragment."""
        if self.fragments is None or other.fragments is None:
            return True
        return bool(self.fragments & other.fragments)


_Check = Callable[[Footprint, Footprint], Verdict]


def _retry(reason: str) -> Verdict:
    return Verdict(Outcome.RETRYABLE, reason)


def _no(reason: str) -> Verdict:
    return Verdict(Outcome.CONFLICT, reason)


def _same_fragment(ours: Footprint, theirs: Footprint) -> Verdict:
    return _retry("both change the same fragment") if ours.shares_fragments(theirs) else COMPATIBLE


def _same_rows(ours: Footprint, theirs: Footprint) -> Verdict:
    if ours.finds_keys and theirs.adds_rows:
        return _retry("rows were added that may have keys of the merge")
    return _same_fragment(ours, theirs)


def _keys(ours: Footprint, theirs: Footprint) -> Verdict:
    return _same_rows(ours, theirs) if ours.finds_keys else COMPATIBLE


def _nullability(ours: Footprint, theirs: Footprint) -> Verdict:
    project = ours if ours.operation == "project" else theirs
    return COMPATIBLE if project.keeps_nullability else _retry("a column may have changed whether it allows nulls")


def _same_key(ours: Footprint, theirs: Footprint) -> Verdict:
    shared = sorted(ours.config_keys & theirs.config_keys)
    if shared:
        return _no(f"both set the configuration key {shared[0]!r}")
    if (ours.replaces_config and theirs.config_keys) or (theirs.replaces_config and ours.config_keys):
        return _no("one replaces the configuration that the other changes")
    if "overwrite" in (ours.operation, theirs.operation) and (ours.schema_metadata or theirs.schema_metadata):
        return _no("one replaces the schema, the other its metadata")
    return COMPATIBLE


def _same_index(ours: Footprint, theirs: Footprint) -> Verdict:
    shared = sorted(ours.index_names & theirs.index_names)
    return _retry(f"both make the index {shared[0]!r}") if shared else COMPATIBLE


def _same_field(ours: Footprint, theirs: Footprint) -> Verdict:
    if ours.fields & theirs.fields and ours.shares_fragments(theirs):
        return _retry("both concern the values of the same column")
    return COMPATIBLE


def _replaced_in_deleted(ours: Footprint, theirs: Footprint) -> Verdict:
    if ours.fragments is not None and ours.fragments & theirs.removed:
        return _no("the fragment whose file would be replaced was deleted")
    return COMPATIBLE


def _always(outcome: Outcome, reason: str) -> _Check:
    verdict = Verdict(outcome, reason)
    return lambda ours, theirs: verdict


_MARKS: Mapping[str, _Check] = MappingProxyType(
    {
        ".": _always(Outcome.COMPATIBLE, ""),
        "R": _always(Outcome.RETRYABLE, "the data that it was computed from has changed"),
        "X": _always(Outcome.CONFLICT, "the content that it changes was replaced"),
        "f": _same_fragment,
        "r": _same_rows,
        "a": _keys,
        "n": _nullability,
        "k": _same_key,
        "i": _same_index,
        "v": _same_field,
        "d": _replaced_in_deleted,
    }
)

_COLUMNS = (
    "append", "delete", "update", "overwrite", "create_index", "rewrite", "merge", "project", "restore",
    "update_config", "data_replacement", "reserve_fragments", "clone", "update_bases",
)  # fmt: skip

# ours \ theirs     App Del Upd Ovw CIx Rwr Mrg Prj Rst UpC DRp Rsv Cln Bas
_TABLE = """
append               .   .   .   X   .   .   R   n   X   .   .   .   .   .
delete               .   f   f   X   .   f   R   .   X   .   f   .   .   .
update               a   f   r   X   .   f   R   n   X   .   f   .   .   .
overwrite            .   .   .   R   .   .   .   .   .   k   .   .   .   .
create_index         .   .   v   X   i   f   .   .   X   .   v   .   .   .
rewrite              .   f   f   X   f   f   R   .   X   .   f   .   .   .
merge                R   R   R   X   .   R   R   X   X   .   R   .   .   .
project              n   .   n   X   .   .   R   R   X   .   n   .   .   .
restore              .   .   .   .   .   .   .   .   .   .   .   .   .   .
update_config        .   .   .   k   .   .   .   .   .   k   .   .   .   .
data_replacement     .   d   f   X   v   f   R   n   X   .   v   .   .   .
reserve_fragments    .   .   .   X   .   .   .   .   X   .   .   .   .   .
update_bases         .   .   .   .   .   .   .   .   .   .   .   .   .   R
"""

CONFLICTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        row[0]: MappingProxyType(dict(zip(_COLUMNS, row[1:], strict=True)))
        for row in (line.split() for line in _TABLE.strip().splitlines())
    }
)
"""Our operation, then theirs, to a mark."""


def judge(ours: Footprint, theirs: Footprint) -> Verdict:
    """Tell whether our operation may be committed after theirs.

    Parameters
    ----------
    ours
        An operation we know.
    theirs
        Any.
    """
    assert ours.operation is not None
    mark = CONFLICTS[ours.operation].get(theirs.operation or "")
    if mark is None:
        return COMPATIBLE if ours.operation == "restore" else _retry("its changes are unknown")
    return _MARKS[mark](ours, theirs)


def footprint_of(message_bytes: bytes) -> Footprint:
    """Read what a transaction touches from its stored form.

    Raises
    ------
    CorruptManifestError
        It is no transaction.
    """
    try:
        message = Transaction.FromString(message_bytes)
    except DecodeError as error:
        raise CorruptManifestError(f"not a transaction: {error}") from error
    operation = message.WhichOneof("operation")
    reader = _READERS.get(operation or "")
    return Footprint(operation=operation) if reader is None else reader(message)


def _append(message: Transaction) -> Footprint:
    return Footprint(operation="append", adds_rows=bool(message.append.fragments))


def _delete(message: Transaction) -> Footprint:
    changed = frozenset(fragment.id for fragment in message.delete.updated_fragments)
    removed = frozenset(message.delete.deleted_fragment_ids)
    return Footprint(operation="delete", fragments=changed | removed, removed=removed)


def _update(message: Transaction) -> Footprint:
    update = message.update
    changed = frozenset(fragment.id for fragment in update.updated_fragments)
    removed = frozenset(update.removed_fragment_ids)
    fields = frozenset(update.fields_modified)
    return Footprint(
        operation="update",
        fragments=changed | removed,
        removed=removed,
        fields=fields,
        adds_rows=bool(update.new_fragments),
    )


def _overwrite(message: Transaction) -> Footprint:
    keys = frozenset(message.overwrite.config_upsert_values)
    return Footprint(operation="overwrite", fragments=None, config_keys=keys)


def _create_index(message: Transaction) -> Footprint:
    indices = [*message.create_index.new_indices, *message.create_index.removed_indices]
    return Footprint(
        operation="create_index",
        # Which fragments an index covers is not always told.
        fragments=None,
        fields=frozenset(number for index in indices for number in index.fields),
        index_names=frozenset(index.name for index in indices),
    )


def _rewrite(message: Transaction) -> Footprint:
    rewrite = message.rewrite
    old = [*rewrite.old_fragments, *(fragment for group in rewrite.groups for fragment in group.old_fragments)]
    ids = frozenset(fragment.id for fragment in old)
    return Footprint(operation="rewrite", fragments=ids, removed=ids)


def _project(message: Transaction) -> Footprint:
    return Footprint(operation="project", keeps_nullability=message.project.preserves_nullability)


def _update_config(message: Transaction) -> Footprint:
    config = message.update_config
    maps = {
        "": config.config_updates,
        "table metadata ": config.table_metadata_updates,
        "schema metadata ": config.schema_metadata_updates,
    } | {f"field {number} metadata ": config.field_metadata_updates[number] for number in config.field_metadata_updates}
    keys = {f"{of}{entry.key}" for of, one in maps.items() for entry in one.update_entries}
    keys |= {*config.upsert_values, *config.delete_keys, *(f"schema metadata {key}" for key in config.schema_metadata)}
    keys |= {f"field {i} metadata {key}" for i in config.field_metadata for key in config.field_metadata[i].metadata}
    return Footprint(
        operation="update_config",
        config_keys=frozenset(keys),
        replaces_config=any(one.replace for one in maps.values()),
        schema_metadata=any(key.startswith(("schema metadata ", "field ")) for key in keys),
    )


def _data_replacement(message: Transaction) -> Footprint:
    groups = message.data_replacement.replacements
    return Footprint(
        operation="data_replacement",
        fragments=frozenset(group.fragment_id for group in groups),
        fields=frozenset(number for group in groups for number in group.new_file.fields),
    )


_READERS: Mapping[str, Callable[[Transaction], Footprint]] = MappingProxyType(
    {
        "append": _append,
        "delete": _delete,
        "update": _update,
        "overwrite": _overwrite,
        "create_index": _create_index,
        "rewrite": _rewrite,
        "project": _project,
        "update_config": _update_config,
        "data_replacement": _data_replacement,
    }
)
