"""`TableHandle`: state that the parts of `LanceTable` share, and how it moves to another version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lance_arrow.choices import Durability, Preset
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import branch_root, line_name
from lance_arrow.runtime import default_runtime
from lance_arrow.table.late_changes import strategies, writable_branch
from lance_arrow.table.method_arguments import check_durability

if TYPE_CHECKING:
    from lance_arrow.arrays.read_options import ReadOptions
    from lance_arrow.files.salvaging.reports import LostRows
    from lance_arrow.scan.fragments.table_reader import TableReader
    from lance_arrow.table.writable_branch import WritableBranch


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of data files, except their version."""

    preset: Preset
    rows_per_zone: int | None
    checksums: bool
    column_options: Mapping[str, Mapping[str, Any]] | None
    allow_private_encodings: bool
    page_bytes: int

    def of(self, file_version: str) -> WriteOptions:
        """Return the options for a file version."""
        return WriteOptions(
            file_version=file_version,
            preset=self.preset,
            rows_per_zone=self.rows_per_zone,
            checksums=self.checksums,
            column_options=self.column_options or {},
            allow_private_encodings=self.allow_private_encodings,
            page_bytes=self.page_bytes,
        )


PLAIN = FileOptions("default", DEFAULT_ROWS_PER_ZONE, True, None, False, DEFAULT_PAGE_BYTES)


def line_of(
    root: Location, branch: str | None, *, unsafe_single_writer: bool, durability: Durability = "fsync"
) -> WritableBranch:
    """Return a line of versions as something to write; errors are those of `choose_strategy`."""
    runtime = default_runtime()
    check_durability(durability)
    return writable_branch.WritableBranch(
        root=root,
        line=branch_root(root, branch),
        branch=line_name(branch),
        strategy=strategies.choose_strategy(
            root, runtime, unsafe_single_writer=unsafe_single_writer, durability=durability
        ),
        settings=runtime.settings,
        durability=durability,
    )


class TableHandle:
    """A version of a table that changes move forward."""

    _root: Location
    _branch: str | None
    _manifest: ManifestMeta
    _options: ReadOptions
    _reader: TableReader
    _unsafe_single_writer: bool
    _durability: Durability
    _lost: tuple[LostRows, ...] = ()

    def _target(self) -> WritableBranch:
        return line_of(
            self._root,
            self._branch,
            unsafe_single_writer=self._unsafe_single_writer,
            durability=self._durability,
        )

    def _reader_of(self, manifest: ManifestMeta) -> TableReader:
        raise NotImplementedError

    def _stored_reader_of(self, manifest: ManifestMeta) -> TableReader:
        raise NotImplementedError

    def _opened(
        self,
        root: Location,
        manifest: ManifestMeta,
        options: ReadOptions,
        *,
        unsafe_single_writer: bool,
        durability: Durability,
    ) -> Self:
        """Return another table, at its main branch."""
        raise NotImplementedError

    def _move(self, manifest: ManifestMeta) -> None:
        raise NotImplementedError

    def _find(self, version: int | str) -> ManifestMeta:
        raise NotImplementedError
