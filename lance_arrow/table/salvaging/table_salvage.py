"""`TableSalvage`: the rows of a damaged table that can be read, and a report of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pyarrow as pa

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.choices import FileVersionName, Lost, check_choice, names
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, LanceError, TableNotFoundError, VersionNotFoundError
from lance_arrow.files.salvaging.file_salvage import may_be_null
from lance_arrow.files.salvaging.rows_salvage import RowCount, SavedRows, whole_columns
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.versions import list_manifests, manifest_place, read_listed, table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.table.salvaging.fragments_salvage import FragmentsSalvage
from lance_arrow.table.salvaging.proofs import has_manifest_checksum
from lance_arrow.table.salvaging.reports import TableSalvageReport, UnreadableVersion
from lance_arrow.table.salvaging.salvaged_files import SalvagedFiles

_DEFAULT_VERSION = "2.2"
_WRITABLE = ("2.0", "2.1", "2.2", "2.3")


class TableSalvage(SavedRows):
    """Rows of the newest version of a table that can be read.

    Parameters
    ----------
    uri, filesystem, storage_options, allow_external_bases, allow_external_blobs
        As for `LanceTable.open`.
    version, branch
        Number of the version, on a branch; the newest one that can be read, of the main branch, when None.
    lost, allow_unchecked
        As for `FileSalvage`. Without `allow_unchecked`, files without checksums count as lost.
    on_rows
        Called with the rows read so far, and those there are, while everything is read for the first time.
    with_deleted
        Whether rows of a fragment are returned if the file that tells which are deleted is lost. Deleted rows come back
        then. By default the fragment is left out.

    Attributes
    ----------
    report
        What is lost; complete from the start.
    schema
        Schema of the rows. A column that cannot be read at all is left out, unless it may be null.
    file_version
        Version of the files that the table writes.

    Raises
    ------
    TableNotFoundError
        There is no manifest.
    VersionNotFoundError
        There is no manifest of this version, or no such branch.
    CorruptManifestError
        No manifest can be read, or not that of `version`.
    InvalidArgumentError
        The manifest has no checksum, and `allow_unchecked` is False.
    """

    def __init__(
        self,
        uri: Any,
        *,
        version: int | None = None,
        branch: str | None = None,
        lost: Lost = "null",
        allow_unchecked: bool = False,
        with_deleted: bool = False,
        allow_external_bases: bool = False,
        allow_external_blobs: bool = False,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        on_rows: Callable[[int, int | None], None] | None = None,
    ) -> None:
        check_choice("lost", names(Lost), lost)
        self._root = table_location(uri, filesystem, storage_options)
        manifest, fragments, unreadable = _newest_readable(branch_root(self._root, branch), version)
        place = Location(self._root.given, manifest.facts.manifest_path)
        is_proven = has_manifest_checksum(place)
        if not is_proven and not allow_unchecked:
            raise InvalidArgumentError(
                "the manifest has no checksum, so that no row can be proven; allow_unchecked=True saves what does not "
                "contradict itself",
                path=place.name,
            )
        self.report = TableSalvageReport(
            path=self._root.name, version=manifest.version, is_proven=is_proven, unreadable=unreadable
        )
        options = ReadOptions(allow_external_bases=allow_external_bases, allow_external_blobs=allow_external_blobs)
        self._columns = TableColumns(manifest.facts, options)
        files = SalvagedFiles(options, allow_unchecked=allow_unchecked)
        known = manifest.data_format
        self.file_version = cast(FileVersionName, known if known in _WRITABLE else _DEFAULT_VERSION)
        saved = FragmentsSalvage(
            self._root,
            self._columns,
            whole_columns(self._columns.roots),
            files,
            self.report,
            allow_unchecked=allow_unchecked,
            with_deleted=with_deleted,
        )
        sizes = [one.physical_rows for one in fragments]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        saved.survey(fragments, RowCount(total, on_rows))
        self._saved = saved
        self._decide(lost, saved)

    def _decide(self, lost: Lost, saved: FragmentsSalvage) -> None:
        """Decide which columns and rows are left out."""
        roots = self._columns.roots
        version = FileVersion(self.file_version)
        numbers = range(len(roots))
        nullable = [number for number in numbers if lost == "null" and may_be_null(roots[number], version)]
        gone = saved.gone()
        kept = [number for number in numbers if number in nullable or number not in gone]
        self.report.columns_left_out = [roots[number].path for number in numbers if number not in kept]
        saved.decide(kept, nullable)
        schema = self._columns.schema
        self.schema = pa.schema([schema.field(number) for number in kept], schema.metadata)


def _newest_readable(
    line: Location, version: int | None
) -> tuple[ManifestMeta, list[FragmentMeta], list[UnreadableVersion]]:
    """Return the newest version that can be read, its fragments, and the newer ones that cannot; or only `version`."""
    listed = list_manifests(line)
    if not listed:
        raise TableNotFoundError(
            "there is no manifest in _versions: nothing says which files are the table's", path=line.name
        )
    wanted = [one for one in listed if version in {None, one.version}]
    if not wanted:
        raise VersionNotFoundError(f"there is no manifest of version {version}", path=line.name, detail=version)
    unreadable: list[UnreadableVersion] = []
    newest: LanceError | None = None
    for one in reversed(wanted):
        try:
            manifest = read_listed(line, one, default_runtime().settings.limits)
            # Fragments are parsed when they are asked for.
            return manifest, list(manifest.fragments), unreadable
        except LanceError as error:
            newest = newest or error
            place = manifest_place(line, one.name)
            unreadable.append(
                UnreadableVersion(
                    version=one.version, type=type(error).__name__, message=f"{error.message} [file {place.name!r}]"
                )
            )
    assert newest is not None
    newest.add_note(f"none of {len(wanted)} versions can be read")
    raise newest
