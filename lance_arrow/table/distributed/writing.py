"""`write_fragments`: rows into data files of a table, for a commit in another process.

rows ─► columns and field ids of the newest version, or of a new table ─► data files ─► `WrittenFragments`
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_arrow.choices import CreateMode, FileVersionName, Preset, check_choice, names
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, TableExistsError
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import branch_root, line_name
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version, table_location
from lance_arrow.manifests.writing import editable
from lance_arrow.runtime import default_runtime
from lance_arrow.table.changes import fields_of, fresh_rows, further_rows
from lance_arrow.table.data_files import write_fragments as write_data_files
from lance_arrow.table.distributed.written_fragments import WrittenFragments
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.table_handle import FileOptions
from lance_arrow.table.writable_branch import overwriting_version, writable_version
from lance_arrow.table.written_files import WrittenFiles

_NEW_TABLE_VERSION = "2.2"


def write_fragments(
    data: Any,
    uri: str | os.PathLike[str],
    *,
    mode: CreateMode = "append",
    schema: pa.Schema | None = None,
    cast: bool = False,
    file_version: FileVersionName | None = None,
    preset: Preset = "default",
    rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
    checksums: bool = True,
    column_options: Mapping[str, Mapping[str, Any]] | None = None,
    allow_private_encodings: bool = False,
    page_bytes: int = DEFAULT_PAGE_BYTES,
    max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
    branch: str | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> WrittenFragments:
    """Write rows to data files of a table, without a new version. `commit_fragments` makes one version of the files.

    Any number of processes can write at once, on any machine that reaches the table under the same path or URL. Files
    that are never committed do no harm: `LanceTable.cleanup` removes them after 7 days.

    Parameters
    ----------
    data
        Rows, as for `write_table`; there may be none.
    uri, filesystem, storage_options
        The table, as for `LanceTable.open`.
    mode
        ``"append"``: the rows are added to a table that exists. ``"create"``: they are a new table. ``"overwrite"``:
        they are a new table, or replace all rows and the schema of the existing one. All writers of a commit name the
        same one.
    schema
        Schema of an iterable of batches that may be empty. In a new table, all writers must have the same schema.
    cast
        As for `LanceTable.append`, or for `LanceTable.create` with `schema`.
    file_version, preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
        As for `LanceTable.create`.
    max_rows_per_file
        As for `LanceTable.create`.
    branch
        Name of a branch that exists; the main branch when None.

    Returns
    -------
    WrittenFragments
        What `commit_fragments` needs. It can be pickled.

    Raises
    ------
    InvalidArgumentError
        As for `LanceTable.append`; `mode` has another value, or the table's files have another version.
    TableNotFoundError
        There is no table to append to.
    TableExistsError
        There is a table, and `mode` is ``"create"``.
    UnsupportedError
        This library cannot write the table, or a type cannot be stored.
    LanceError, OSError
        As `LanceWriter`; no file is left behind.

    Examples
    --------
    >>> parts = [lance_arrow.write_fragments(pyarrow.table({"id": [n]}), "flights") for n in (100, 101)]
    >>> table = lance_arrow.commit_fragments("flights", parts)
    >>> table.version, table.count_rows()
    (2, 102)
    """
    check_choice("mode", names(CreateMode), mode)
    root = table_location(uri, filesystem, storage_options)
    given = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
    base = _base(root, mode, branch)
    columns: Sequence[SchemaField]
    options: WriteOptions
    if mode == "append":
        assert base is not None
        options = given.of(_appended_version(base, file_version))
        columns = base.fields
        stored = arrow_schema(columns, base.facts.schema_metadata)
        rows_schema, _, rows = further_rows(base, data, options, casts=cast)
    else:
        options = given.of(file_version or (_NEW_TABLE_VERSION if base is None else overwriting_version(base)))
        rows_schema, stored, columns, rows = fresh_rows(data, schema, options, casts=cast)
    line = branch_root(root, branch)
    with WrittenFiles() as files:
        fragments = write_data_files(
            line,
            rows_schema,
            fields_of(columns, rows_schema),
            rows,
            files,
            options=options,
            max_rows_per_file=max_rows_per_file,
        )
    return WrittenFragments(
        mode=mode,
        read_version=None if base is None else base.version,
        branch=line_name(branch),
        schema=stored,
        fields=tuple(columns),
        file_version=options.file_version,
        messages=tuple(one.SerializeToString(deterministic=True) for one in fragments),
    )


def _base(root: Location, mode: CreateMode, branch: str | None) -> ManifestMeta | None:
    """Return the newest version, checked for `mode`; None where there is no table and need not be one."""
    if mode != "append" and line_name(branch) is None and not is_table(root):
        return None
    if mode == "create":
        raise TableExistsError(
            'there is a table here already; mode="append" adds rows to it, mode="overwrite" replaces its rows',
            path=root.name,
        )
    base = open_version(root, VersionChoice(branch=branch), default_runtime().settings.limits)
    editable(base)
    return base


def _appended_version(base: ManifestMeta, wanted: FileVersionName | None) -> str:
    found = writable_version(base)
    if wanted not in (None, found):
        raise InvalidArgumentError(f"the table's files are of version {found}, not {wanted}", path=base.facts.root)
    return found
