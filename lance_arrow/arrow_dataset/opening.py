"""`lance_arrow.dataset`: a `LanceDataset` over a table, a file, a list of files or a directory of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads

from lance_arrow.arrays.read_options import ReadOptions, check_paths
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.discovery import in_no_table
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_format import LanceFormat
from lance_arrow.arrow_dataset.places import as_arrow
from lance_arrow.choices import Blobs, Dictionaries, Json, Strings, Verify, fixed_strings
from lance_arrow.errors import InvalidArgumentError, TableNotFoundError
from lance_arrow.io import AnyFileSystem, Location, foreign_errors
from lance_arrow.io.location import has_query
from lance_arrow.manifests.references import line_name
from lance_arrow.manifests.versions import VersionChoice, newest_manifest, open_version, table_location
from lance_arrow.runtime import default_runtime

if TYPE_CHECKING:
    from lance_arrow.manifests.path_kinds import AskedPath


def dataset(
    uri: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    version: int | None = None,
    tag: str | None = None,
    as_of: Any = None,
    branch: str | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dictionaries: Dictionaries = "keep",
    strings: Strings = "plain",
    read_dictionary: Sequence[str] = (),
    schema: pa.Schema | None = None,
    unify_schemas: bool = False,
    partitioning: Any = None,
    exclude_invalid_files: bool | None = None,
    blobs: Blobs = "bytes",
    json: Json = "text",
    allow_external_blobs: bool = False,
    allow_external_bases: bool = False,
    verify: Verify = "touched",
    memory_map: bool = False,
) -> LanceDataset:
    """Open a table, or Lance files, as one dataset.

    Parameters
    ----------
    uri
        A table's folder, a file, a directory of files, or a list of files; local paths or URLs of one filesystem.
        Files may be named by a pattern, such as ``"2026/*.lance"`` or ``"**/*.lance"``; they are in order of paths.
    version, tag, as_of, branch
        Version of a table to read, as for `LanceTable.open`.
    filesystem, storage_options
        fsspec or pyarrow filesystem of the paths, or store of obstore; options for the filesystem of a URL.
    dictionaries
        ``"keep"`` dictionary columns as such, or ``"decode"`` them to plain values, at any depth.
    strings
        ``"plain"`` strings as such; or ``"dictionary"``: columns of strings that are stored as dictionaries come as
        dictionary arrays. The fragment of most rows of a table, or the first file, decides. Or ``"view"``: strings and
        binary values, at any depth, come as ``string_view`` and ``binary_view``: of long or repeated values no byte is
        copied after decoding. Filters are applied by our scan alone then, since Arrow cannot filter views.
    read_dictionary
        Columns of strings, or binary values, that come as dictionary arrays with 32-bit codes, as dotted paths.
        Values that lie plainly are encoded.
    unify_schemas
        Whether columns of all files are seen, not those of the first file alone. A column that a file lacks is null
        there. Where types differ, numbers and strings come in a type that holds those of all files.
    schema, partitioning, exclude_invalid_files
        As `pyarrow.dataset.dataset`; a table has no partitioning.
    blobs, json, allow_external_blobs, allow_external_bases, verify, memory_map
        As `LanceFormat`.

    Returns
    -------
    LanceDataset
        A `pyarrow.dataset.FileSystemDataset` with a working `format` and fragments.

    Raises
    ------
    VersionNotFoundError
        The table has no such version, tag or branch.
    CorruptManifestError, UnsupportedFeatureFlagError, UnsupportedError
        The table contradicts itself, or needs a feature that this release does not know.
    FileNotFoundError
        There is nothing at this path, or no file matches the pattern.
    TableNotFoundError
        Files belong to a table whose versions are lost.
    InvalidArgumentError
        With `unify_schemas`, types of a column have no type in common; column and file are named.

    Examples
    --------
    >>> flights = lance_arrow.dataset("flights")
    >>> flights.to_table(["id"], filter="price > 49").num_rows
    1
    """
    many = isinstance(uri, Sequence) and not isinstance(uri, (str, bytes))
    choice = VersionChoice(version=version, tag=tag, as_of=as_of, branch=branch)
    options = ReadOptions(
        dictionaries=dictionaries,
        blobs=blobs,
        json=json,
        allow_external_blobs=allow_external_blobs,
        allow_external_bases=allow_external_bases,
        verify=verify,
        read_dictionary=read_dictionary,
        strings=fixed_strings(strings),
        memory_map=memory_map,
    )
    if unify_schemas and schema is not None:
        raise InvalidArgumentError("schema names the columns, unify_schemas takes those of the files: give one")
    named: Sequence[Any] = uri if many else [uri]  # type: ignore[assignment]
    locations = [table_location(one, filesystem, storage_options) for one in named]
    if any(has_magic(location.path) for location in locations):
        locations, is_pattern = _matched(locations)
        many = many or is_pattern
    if not locations:
        raise InvalidArgumentError("an empty list of files has no schema; name at least one")
    is_far = filesystem is not None or "://" in locations[0].name
    # A URL with a query names one file, whose folder cannot be listed.
    many = many or (is_far and has_query(locations[0]))
    asked = _asked(locations[0]) if is_far and not many else None
    newest = None if many else newest_manifest(locations[0]) if asked is None else asked.newest
    if newest is not None:
        if partitioning is not None:
            raise InvalidArgumentError("a table has no partitioning", path=locations[0].name, detail=partitioning)
        from lance_arrow.arrow_dataset.table_dataset import table_dataset  # noqa: PLC0415 - for tables alone

        (root,) = locations
        manifest = open_version(root, choice, default_runtime().settings.limits, newest=newest)
        table = table_dataset(manifest.facts, manifest.fragments, root.given, options)
        if strings == "dictionary":
            table = with_dictionaries(table) or table
        _check_read_dictionary(table)
        return table if schema is None else table.replace_schema(schema)
    if line_name(branch) is not None:
        raise TableNotFoundError("branch needs a table, and there is no table at this path", path=locations[0].name)
    paths = [location.path for location in locations]
    # pyarrow asks what a single path is.
    is_listed = many or (asked is not None and asked.is_file)

    def found(options: ReadOptions) -> LanceDataset:
        # pyarrow raises what its filesystems do, and names paths itself.
        with foreign_errors(), in_no_table():
            dataset = pads.dataset(
                paths if is_listed else paths[0],
                format=LanceFormat(version=version, tag=tag, as_of=as_of, read_options=options),
                filesystem=as_arrow(locations[0].given, None if asked is None or is_listed else paths[0]),
                schema=schema,
                partitioning=partitioning,
                exclude_invalid_files=exclude_invalid_files,
            )
        return LanceDataset.from_dataset(dataset)

    try:
        files = found(options)
    finally:
        if asked is not None:
            asked.forget()
    if strings == "dictionary":
        seen = None if many else with_dictionaries(files, schema)
        files = found(_with_stored_dictionaries(files)) if seen is None else seen
    _check_read_dictionary(files)
    if unify_schemas:
        from lance_arrow.arrow_dataset.unified_schemas import unified  # noqa: PLC0415 - where asked for alone

        files = unified(files)
    return files


def _matched(locations: Sequence[Location]) -> tuple[list[Location], bool]:
    """Put the files that match in the place of patterns; returns whether the first is a pattern."""
    from lance_arrow.io.globs import matched_files  # noqa: PLC0415 - it imports fsspec

    matched = [matched_files(location) for location in locations]
    found = [
        one
        for location, files in zip(locations, matched, strict=True)
        for one in ([location] if files is None else files)
    ]
    return found, matched[0] is not None


def _check_read_dictionary(dataset: LanceDataset) -> None:
    paths = dataset.format.read_dictionary
    if paths:
        check_paths(dataset.schema, paths)


def with_dictionaries(dataset: LanceDataset, schema: pa.Schema | None = None) -> LanceDataset | None:
    """Return the same rows with ``strings="dictionary"``; neither a folder is listed again, nor a manifest read.

    Parameters
    ----------
    dataset
        A dataset of `dataset`.
    schema
        The schema that it was given, if any.

    Returns
    -------
    LanceDataset or None
        None if some fragment of bare files is something else than a file.

    Raises
    ------
    LanceError, OSError
        A file cannot be opened.
    """
    options, table = _with_stored_dictionaries(dataset), dataset._table
    if options == dataset.format.read_options:
        return dataset
    if table is not None:
        from lance_arrow.arrow_dataset.table_dataset import table_dataset  # noqa: PLC0415 - for tables alone

        seen = table_dataset(table.columns.facts, table.fragments, table.filesystem, options)
        seen.format.handler.files.adopt(dataset.format.handler.files)
        return seen
    own = dataset.format
    made = LanceFormat(version=own.version, tag=own.tag, as_of=own.as_of, read_options=options)
    made.handler.files.adopt(own.handler.files)
    return _seen_with(dataset, made, options.read_dictionary, schema)


def _with_stored_dictionaries(dataset: LanceDataset) -> ReadOptions:
    """Return options that read the columns as dictionaries that a dataset stores so."""
    from lance_arrow.scan.stored_dictionaries import stored_dictionaries, table_dictionaries  # noqa: PLC0415 - as above

    table = dataset._table
    if table is not None:
        paths = table_dictionaries(table)
    else:
        place = next((fragment.place for fragment in dataset.fragments), None)
        # Of a store, a file that is open already: it was opened for the schema.
        file = None if place is None else dataset.format.handler.example(place, dataset.schema)
        paths = () if file is None else stored_dictionaries(file.rows)
    options: ReadOptions = dataset.format.read_options
    return replace(options, read_dictionary=(*options.read_dictionary, *paths))


def _asked(place: Location) -> AskedPath:
    """Ask what a far path is."""
    from lance_arrow.manifests.path_kinds import AskedPath  # noqa: PLC0415 - for far paths alone

    return AskedPath(place)


def _seen_with(
    dataset: LanceDataset, made: LanceFormat, paths: Sequence[str], schema: pa.Schema | None
) -> LanceDataset | None:
    """Return the same bare files with a format that reads some columns as dictionaries; they are not listed again.

    None where a fragment is something else than a file.
    """
    files, sizes, guarantee_of, guarantees = bridge.files_of(dataset)
    if not files or -1 in guarantee_of:
        return None
    filesystem = bridge.filesystem_of(dataset)
    fragments = [
        made.make_fragment(file, filesystem, guarantees[guarantee], file_size=size if size >= 0 else None)
        for file, size, guarantee in zip(files, sizes, guarantee_of, strict=True)
    ]
    from lance_arrow.arrays.coded_leaves import with_coded_fields  # noqa: PLC0415 - for dictionaries alone

    return LanceDataset(
        fragments,
        with_coded_fields(dataset.schema, paths) if schema is None else dataset.schema,
        made,
        filesystem,
        dataset.partition_expression,
    )
