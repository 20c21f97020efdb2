"""From addresses of rows to the fragments without them: a deletion file each, before any version names it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.fragments import fragment_ids
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.deletion_files import write_deletions
from lance_arrow.table.written_files import WrittenFiles

_ROWS_PER_OFFSET = 64
ADDRESS = NAME_OF[VirtualColumn.ROW_ADDRESS]


def check_addresses_shown(reader: TableReader) -> None:
    """Refuse a table of which nobody can ask where rows lie.

    Raises
    ------
    UnsupportedError
        A column of the table has the name of the addresses.
    """
    if ADDRESS in reader.columns.schema.names:
        raise UnsupportedError(f"the table has a column {ADDRESS!r}, which hides the addresses of rows", column=ADDRESS)


def write_deleted(
    line: Location, base: ManifestMeta, reader: TableReader, addresses: NDArray[np.uint64], files: WrittenFiles
) -> tuple[list[DataFragment], list[int]]:
    """Write which rows are gone, fragment by fragment.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    base, reader
        The version, and what reads it.
    addresses
        ``(n,) uint64`` of rows to be deleted, in any order.
    files
        Told of each file before it is made.

    Returns
    -------
    updated
        Fragments as they are to be, with their new deletion files.
    removed
        Ids of fragments of which no row is left.

    Raises
    ------
    UnsupportedError
        Something of a fragment is unknown, so that it cannot be changed.
    """
    if not len(addresses):
        return [], []
    owners = (addresses >> np.uint64(32)).astype(np.int64)
    offsets = (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if (owners[1:] < owners[:-1]).any():
        order = np.argsort(owners, kind="stable")
        owners, offsets = owners[order], offsets[order]
    messages = editable(base).fragments
    numbers = {number: at for at, number in enumerate(fragment_ids(base.fragments).tolist())}
    updated: list[DataFragment] = []
    removed: list[int] = []
    starts = np.flatnonzero(np.concatenate([np.ones(1, bool), owners[1:] != owners[:-1]]))
    for fragment_id, part in zip(owners[starts].tolist(), np.split(offsets, starts[1:]), strict=True):
        rows = reader.fragment(numbers[fragment_id])
        gone = _joined(part, None if rows.deletions is None else rows.deletions.offsets, rows.num_physical)
        if len(gone) == rows.num_physical:
            removed.append(fragment_id)
            continue
        fragment = messages.get(fragment_id)
        check_fragment_known(fragment, base.facts.manifest_path)
        fragment.deletion_file.CopyFrom(write_deletions(line, fragment_id, base.version, gone, files))
        updated.append(fragment)
    return updated, removed


def _joined(new: NDArray[np.int64], old: NDArray[np.int64] | None, num_rows: int) -> NDArray[np.int64]:
    """Return the offsets that are in one of two lists, each once, ascending; `old` is so already."""
    if old is None and (new[1:] > new[:-1]).all():
        return new
    old = np.empty(0, np.int64) if old is None else old
    if num_rows > _ROWS_PER_OFFSET * (len(new) + len(old)):
        return np.union1d(new, old)
    # A flag for each row is set and read in order, a list of them would be sorted.
    flags = np.zeros(num_rows, bool)
    flags[new] = flags[old] = True
    return np.flatnonzero(flags)
