"""`commit_fragments`, `discard_fragments`: one version of the data files of many writers, or the files removed.

Unlike a write in one call, a commit that fails keeps the files: writing them may have taken hours. So it can be
repeated.
"""

from __future__ import annotations

import os
import posixpath
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.choices import Durability
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import AnyFileSystem, Location, list_names, remove_files
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.version_files import version_files
from lance_arrow.manifests.versions import VersionChoice, list_manifests, open_version, table_location
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.runtime import default_runtime
from lance_arrow.table.commit import commit
from lance_arrow.table.distributed.written_fragments import WrittenFragments
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.table.method_arguments import checked_message
from lance_arrow.table.operations.base import Append, Operation, Overwrite, schema_metadata
from lance_arrow.table.table_handle import line_of
from lance_arrow.table.transactions import MESSAGE_KEY
from lance_arrow.table.written_files import WrittenFiles, file_places

_LISTED = 3


def commit_fragments(
    uri: str | os.PathLike[str],
    fragments: Iterable[WrittenFragments],
    *,
    enable_stable_row_ids: bool = False,
    message: str | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    durability: Durability = "fsync",
) -> LanceTable:
    """Make one version of a table from the fragments that writers wrote. Readers see all of them, or none.

    A commit that fails leaves the table and the files as they were, so it can be repeated. A commit of fragments that
    a version has already returns that version.

    Parameters
    ----------
    uri, filesystem, storage_options, unsafe_single_writer, durability
        The table, as for `LanceTable.open`.
    fragments
        Results of `write_fragments`, in the order that rows are to have. All have one `mode`.
    enable_stable_row_ids, message
        As for `LanceTable.create`; row ids for new tables.

    Returns
    -------
    LanceTable
        The version that was made.

    Raises
    ------
    InvalidArgumentError
        There are no fragments, they do not fit together, one is given twice, or a file of them is gone.
    TableExistsError
        There is a table already, and fragments were written with ``mode="create"``.
    CommitConflictError
        Another writer replaced the table, or changed its columns, since the first writer began.
    UnsupportedError, CorruptManifestError
        This library cannot write the table.

    Examples
    --------
    >>> parts = [lance_arrow.write_fragments(pyarrow.table({"id": [n]}), "new", mode="create") for n in (1, 2)]
    >>> lance_arrow.commit_fragments("new", parts).to_table()["id"].to_pylist()
    [1, 2]
    """
    root = table_location(uri, filesystem, storage_options)
    given = _fitting_together(fragments)
    first = given[0]
    target = line_of(root, first.branch, unsafe_single_writer=unsafe_single_writer, durability=durability)
    messages = [message for one in given for message in one.fragments]
    _check_present(target.line, messages)
    limits = target.settings.limits
    seen = [one.read_version for one in given if one.read_version is not None]
    # What others committed since the first writer began may conflict with its files.
    base = open_version(root, VersionChoice(version=min(seen), branch=first.branch), limits) if seen else None
    if enable_stable_row_ids and base is not None and not base.facts.has_stable_row_ids:
        raise InvalidArgumentError("the table has no stable row ids, and cannot get any", path=root.name)
    operation: Operation = Append(messages)
    if first.mode != "append":
        operation = Overwrite(
            fragments=messages,
            fields=first.fields,
            schema_metadata=schema_metadata(first.schema),
            file_version=first.file_version,
            stable_row_ids=bool(enable_stable_row_ids),
            is_new=first.mode == "create",
        )
    text = checked_message(message)
    with WrittenFiles() as files:
        files.keep(file_places(target.line, messages))
        made = commit(
            target.line,
            operation,
            base,
            files,
            strategy=target.strategy,
            settings=target.settings,
            durability=durability,
            properties={} if text is None else {MESSAGE_KEY: text},
            transaction_id=_transaction_id(given),
        )
    return LanceTable(
        root, first.branch, made, ReadOptions(), unsafe_single_writer=unsafe_single_writer, durability=durability
    )


def discard_fragments(
    uri: str | os.PathLike[str],
    fragments: Iterable[WrittenFragments],
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Remove the data files of fragments that are not to be committed.

    Parameters
    ----------
    uri, filesystem, storage_options
        The table, as for `LanceTable.open`.
    fragments
        Results of `write_fragments`.

    Raises
    ------
    InvalidArgumentError
        A version names one of the files: the fragments were committed. Nothing is removed.
    LanceError, OSError
        A version since cannot be read; errors of the filesystem.

    Examples
    --------
    >>> part = lance_arrow.write_fragments(pyarrow.table({"id": [100]}), "flights")
    >>> lance_arrow.discard_fragments("flights", [part])
    >>> lance_arrow.LanceTable.open("flights").count_rows()
    100
    """
    root = table_location(uri, filesystem, storage_options)
    given = _listed(fragments)
    limits = default_runtime().settings.limits
    names = {branch: [f"{DATA}/{name}" for one in given if one.branch == branch for name in one.files] for branch in
             dict.fromkeys(one.branch for one in given)}  # fmt: skip
    for branch, own in names.items():
        line = branch_root(root, branch)
        # A version that names a file was made after its writer began.
        first = 1 + min(one.read_version or 0 for one in given if one.branch == branch)
        for manifest in list_manifests(line, since=first):
            if not version_files(line, manifest, limits).names.isdisjoint(own):
                raise InvalidArgumentError(
                    f"version {manifest.version} of the table has these fragments: they were committed", path=root.name
                )
    for branch, own in names.items():
        line = branch_root(root, branch)
        remove_files(line.given, line.path, own)


def _listed(fragments: Iterable[WrittenFragments]) -> list[WrittenFragments]:
    if isinstance(fragments, WrittenFragments):
        raise InvalidArgumentError("fragments is one result of write_fragments, expected a list of them")
    given = list(fragments)
    for one in given:
        if not isinstance(one, WrittenFragments):
            raise InvalidArgumentError(
                f"fragments have {type(one).__name__}, expected results of write_fragments", detail=one
            )
    return given


def _fitting_together(fragments: Iterable[WrittenFragments]) -> list[WrittenFragments]:
    """Return fragments that one version can have.

    Raises
    ------
    InvalidArgumentError
        There are none, writers were told different things, or one is there twice.
    """
    given = _listed(fragments)
    if not given:
        raise InvalidArgumentError("there are no fragments to commit: a writer without rows returns some, too")
    first = given[0]
    for name in ("mode", "branch", "file_version"):
        values = list(dict.fromkeys(getattr(one, name) for one in given))
        if len(values) > 1:
            raise InvalidArgumentError(f"fragments were written with {name} {values[0]!r} and {values[1]!r}")
    if first.mode != "append":
        other = next((one for one in given if one.fields != first.fields), None)
        if other is not None:
            raise InvalidArgumentError(
                f"fragments of one table have different columns: {_columns(first)} and {_columns(other)}"
            )
    seen: set[str] = set()
    for name in (name for one in given for name in one.files):
        if name in seen:
            raise InvalidArgumentError(f"the file {name!r} is given twice", detail=name)
        seen.add(name)
    return given


def _columns(one: WrittenFragments) -> str:
    return ", ".join(f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in one.schema)


def _check_present(line: Location, messages: Sequence[DataFragment]) -> None:
    """Refuse files that were removed since: a version without its files cannot be read."""
    wanted = [file.path for one in messages for file in one.files]
    if not wanted:
        return
    present = set(list_names(line.given, posixpath.join(line.path, DATA)))
    gone = [name for name in wanted if name not in present]
    if gone:
        more = f" and {len(gone) - _LISTED:,} more" if len(gone) > _LISTED else ""
        raise InvalidArgumentError(
            f"data files of the fragments are gone: {', '.join(gone[:_LISTED])}{more}; write them again", path=line.name
        )


def _transaction_id(given: Sequence[WrittenFragments]) -> str | None:
    """Return one name for all commits of the same files, so that a repeated commit makes no second version."""
    names = sorted(name for one in given for name in one.files)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\n".join(names))) if names else None
