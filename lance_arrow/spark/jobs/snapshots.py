"""A version of a table as jobs need it: opened on the driver, parts of it sent to tasks, a change committed."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.spark.options import TableAddress
from lance_arrow.table.table_handle import line_of
from lance_arrow.table.writable_branch import WritableBranch

# Columns as files hold them: jobs write them again.
STORED = ReadOptions(json="bytes")


@dataclass(frozen=True, eq=False)
class TableSnapshot:
    """A version of a table, without its fragments; travels to tasks.

    Parameters
    ----------
    address
        The table.
    facts
        The version.
    """

    address: TableAddress
    facts: TableFacts

    def reader(self, fragments: Sequence[FragmentMeta]) -> TableReader:
        """Return a reader of fragments, with columns as files hold them."""
        return TableReader(self._columns, fragments, self.address.location().filesystem, OpenFiles(STORED))

    @functools.cached_property
    def _columns(self) -> TableColumns:
        return TableColumns(self.facts, STORED)

    def __reduce__(self) -> tuple[type[TableSnapshot], tuple[TableAddress, TableFacts]]:
        return TableSnapshot, (self.address, self.facts)


def address_of(uri: str, storage_options: Mapping[str, Any] | None) -> TableAddress:
    """Return the address of a table for the arguments of a caller."""
    return TableAddress(str(uri), dict(storage_options or {}))


def newest(address: TableAddress, version: int | None = None) -> ManifestMeta:
    """Read the newest version, or one by number; errors are those of `LanceTable.open`."""
    return open_version(address.location(), VersionChoice(version=version), default_runtime().settings.limits)


def opened(
    uri: str, storage_options: Mapping[str, Any] | None, *, unsafe_single_writer: bool
) -> tuple[TableAddress, ManifestMeta, WritableBranch]:
    """Return the address of a table, its newest version, and its main line as something to write."""
    address = address_of(uri, storage_options)
    return address, newest(address), writable_branch(address, unsafe_single_writer=unsafe_single_writer)


def writable_branch(address: TableAddress, *, unsafe_single_writer: bool) -> WritableBranch:
    """Return the main line of a table as something to write; errors are those of `choose_strategy`."""
    return line_of(address.location(), None, unsafe_single_writer=unsafe_single_writer)


def data_files(root: Location, fragments: Iterable[DataFragment]) -> Iterator[Location]:
    """Yield the places of the data files of new fragments."""
    for fragment in fragments:
        for file in fragment.files:
            yield root.at(f"{root.path}/{DATA}/{file.path}")
