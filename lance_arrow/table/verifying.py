"""`verify`: check a file, a folder of files, or each file that the manifest of a table's version names.

Of a data file: its size, its number of rows and its columns are those of the manifest, checksums match, every page
decodes. Of a deletion file: it decodes and deletes as many rows as the manifest says. Row ids are as many as rows.

Files of ZONEMAP indices, by which reads prune, are verified as files alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.errors import InvalidArgumentError, LanceError, MissingFileError, UnsupportedError
from lance_arrow.files.verification import Finding, VerifyCounts, VerifyReport
from lance_arrow.files.verification import verify as verify_file
from lance_arrow.io import AnyFileSystem, Location, locate
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.path_kinds import PathKind, files_in, kind_of
from lance_arrow.manifests.versions import VersionChoice, open_version, table_location
from lance_arrow.manifests.zone_indices import zone_indices
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.open_files import OpenFiles

Progress = Callable[[int, int | None], None]
"""Gets how many bytes of files were verified, and of how many; None where the manifest does not tell."""

_AS_STORED = ReadOptions()
_FAR_AT_ONCE = 8

T = TypeVar("T")


def verify(
    source: Any,
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    runtime: Runtime | None = None,
    on_progress: Progress | None = None,
) -> VerifyReport:
    """Compare checksums and decode every page of a file, of a table's version, or of all files in a folder.

    Parameters
    ----------
    source
        A file as for `LanceFile`; the folder of a table; a folder of Lance files.
    version, tag, branch
        Version of a table, as for `LanceTable.open`; the newest one when all are None.
    filesystem, storage_options, runtime
        As for `LanceFile`.
    on_progress
        Called after each file.

    Returns
    -------
    VerifyReport
        Findings of tables and folders name their file. A file without checksums is in order if it decodes without
        contradictions; `has_checksums` is False if any file has none.

    Raises
    ------
    CorruptFileError
        `source` is not a Lance file, or the manifest cannot be read.
    VersionNotFoundError
        The table has no such version, tag or branch.
    TableNotFoundError
        The folder is not a table and holds no Lance file.
    InvalidArgumentError
        A version was given for a path that is not a table.
    FileNotFoundError, OSError
        As the filesystem says.

    Examples
    --------
    >>> report = lance_arrow.verify("flights")
    >>> report.ok, report.checked.rows, report.version
    (True, 100, 1)
    """
    choice = VersionChoice(version=version, tag=tag, branch=branch)
    place = locate(source, filesystem=filesystem, storage_options=storage_options)
    kind = PathKind.FILE if place is None else kind_of(place)
    if kind is PathKind.TABLE:
        root = table_location(source, filesystem, storage_options)
        manifest = open_version(root, choice, default_runtime().settings.limits)
        return verify_version(root, manifest, runtime=runtime, on_progress=on_progress)
    if choice != VersionChoice():
        raise InvalidArgumentError(
            f"version, tag and branch choose a version of a table; this is a {kind.value}",
            path=None if place is None else place.name,
        )
    if place is not None and kind is PathKind.FOLDER:
        return _verify_folder(place, runtime, on_progress)
    return verify_file(place if place is not None else source, runtime=runtime)


def verify_version(
    root: Location, manifest: ManifestMeta, *, runtime: Runtime | None = None, on_progress: Progress | None = None
) -> VerifyReport:
    """Verify all files of one version of a table; other parameters and the report are those of `verify`.

    Parameters
    ----------
    root
        Folder of the table.
    manifest
        The version.
    """
    columns, files = TableColumns(manifest.facts, _AS_STORED), OpenFiles(_AS_STORED)
    sizes = [file.size_bytes for fragment in manifest.fragments for file in fragment.files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    found = []
    done = 0

    def verified(fragment: FragmentMeta) -> VerifyReport:
        return verify_fragment(FragmentRows(columns, fragment, files, root.filesystem), root.filesystem, runtime)

    reports = _each(verified, manifest.fragments, root)
    for fragment, report in zip(manifest.fragments, reports, strict=True):
        found.append(report)
        done += sum(file.size_bytes or 0 for file in fragment.files)
        if on_progress is not None:
            on_progress(done, total)
    found += _verify_indices(root, manifest, runtime)
    return dataclasses.replace(_joined(root.name, found), version=manifest.version)


def _verify_indices(root: Location, manifest: ManifestMeta, runtime: Runtime | None) -> list[VerifyReport]:
    facts, limits = manifest.facts, default_runtime().settings.limits
    try:
        indices = zone_indices(read_indices(root.at(facts.root), manifest, limits))
    except LanceError as error:
        return [_failed(Location(root.filesystem, facts.manifest_path), error)]
    found = []
    for index in indices:
        try:
            place = root.at(facts.index_path(index))
        except UnsupportedError:
            # It lies where reads do not follow, and is not used.
            continue
        except LanceError as error:
            found.append(_failed(Location(root.filesystem, facts.manifest_path), error))
            continue
        try:
            report = _placed(verify_file(place, runtime=runtime), place)
            # Its rows are zones.
            found.append(dataclasses.replace(report, checked=dataclasses.replace(report.checked, rows=0)))
        except FileNotFoundError:
            gone = MissingFileError(f"the file of the index {index.name!r} is not there", path=place.name)
            found.append(_failed(place, gone))
        except LanceError as error:
            found.append(_failed(place, error))
    return found


def verify_fragment(rows: FragmentRows, filesystem: AnyFileSystem, runtime: Runtime | None = None) -> VerifyReport:
    """Verify the files of a fragment, and that they are what the manifest says.

    Parameters
    ----------
    rows
        The fragment, columns as files hold them.
    filesystem
        The table's.
    runtime
        As for `verify`.

    Returns
    -------
    VerifyReport
        Each finding names its file; rows are counted that are live.
    """
    facts = rows.columns.facts
    reports = [_verify_data_file(rows, number, filesystem, runtime) for number in range(len(rows.meta.files))]
    errors = [finding for one in reports for finding in one.errors]
    num_rows = 0
    try:
        num_rows = rows.live.num_rows
        if rows.row_ids is not None:
            rows.row_ids.at(rows.live.starts)
        if not errors:
            # The mapping of fields to columns of files, which needs intact files.
            FragmentReading(rows, rows.columns.roots)
    except LanceError as error:
        errors.append(_finding(error, facts.manifest_path))
    joined = _joined(facts.root, reports)
    counts = dataclasses.replace(joined.checked, rows=num_rows, deletion_files=int(rows.meta.deletion is not None))
    is_ok = joined.ok and not errors
    return dataclasses.replace(joined, ok=is_ok, errors=list(dict.fromkeys(errors)), checked=counts)


def _verify_data_file(
    rows: FragmentRows, number: int, filesystem: AnyFileSystem, runtime: Runtime | None
) -> VerifyReport:
    facts = rows.columns.facts
    try:
        place = Location(filesystem, facts.data_path(rows.meta.files[number]))
    except LanceError as error:
        return _failed(Location(filesystem, facts.manifest_path), error)
    mismatch: LanceError | None = None
    try:
        # Opening compares what the manifest says of size and rows.
        rows.open_file(number)
    except MissingFileError as error:
        return _failed(place, error)
    except LanceError as error:
        mismatch = error
    try:
        report = verify_file(place, runtime=runtime)
    except LanceError as error:
        return _failed(place, error)
    report = _placed(report, place)
    if mismatch is None or report.errors:
        return report
    return dataclasses.replace(report, ok=False, errors=[_finding(mismatch, place.name)])


def _verify_folder(folder: Location, runtime: Runtime | None, on_progress: Progress | None) -> VerifyReport:
    def verified(place: Location) -> VerifyReport:
        try:
            return _placed(verify_file(place, runtime=runtime), place)
        except LanceError as error:
            return _failed(place, error)

    reports = []
    for report in _each(verified, files_in(folder), folder):
        reports.append(report)
        if on_progress is not None:
            on_progress(sum(one.checked.checked_bytes for one in reports), None)
    return _joined(folder.name, reports)


def _each(verify: Callable[[T], VerifyReport], items: Sequence[T], place: Location) -> Iterator[VerifyReport]:
    """Verify files one after another; in a store a few at a time, since each takes waves of requests, and memory."""
    return default_runtime().each(verify, items, is_far=not place.is_local, num_ahead=_FAR_AT_ONCE)


def _finding(error: LanceError, path: str) -> Finding:
    """Note an error, in the file where it is, or else in the one at `path`."""
    return dataclasses.replace(Finding.of(error), path=error.path or path)


def _placed(report: VerifyReport, place: Location) -> VerifyReport:
    """Name the file in each finding of a report."""
    without = int(not report.has_checksums)
    return dataclasses.replace(
        report,
        checked=dataclasses.replace(report.checked, files_without_checksums=without),
        errors=[dataclasses.replace(one, path=place.name) for one in report.errors],
        unchecked=[dataclasses.replace(one, path=place.name) for one in report.unchecked],
    )


def _failed(place: Location, error: LanceError) -> VerifyReport:
    """Report a file that cannot be opened at all."""
    return VerifyReport(
        path=place.name,
        ok=False,
        has_checksums=False,
        errors=[_finding(error, place.name)],
        unchecked=[],
        checked=VerifyCounts(),
    )


def _joined(path: str, reports: Sequence[VerifyReport]) -> VerifyReport:
    """Put the reports of several files into one."""
    counts = [dataclasses.asdict(one.checked) for one in reports]
    names = [field.name for field in dataclasses.fields(VerifyCounts)]
    checked = VerifyCounts(**{name: sum(count[name] for count in counts) for name in names})
    return VerifyReport(
        path=path,
        ok=all(one.ok for one in reports),
        has_checksums=checked.files > 0 and not checked.files_without_checksums,
        errors=[finding for one in reports for finding in one.errors],
        unchecked=[finding for one in reports for finding in one.unchecked],
        checked=checked,
    )
