"""From addresses of rows to the fragments without them: a deletion file each, before any version names it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyroaring

from lance_arrow.arrays.plain_numbers import as_numbers
from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.bitmaps import bitmap_of
from lance_arrow.manifests.fragments import fragment_ids
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.deletion_files import write_deletions
from lance_arrow.table.row_addresses import RowAddresses
from lance_arrow.table.written_files import WrittenFiles

ADDRESS = NAME_OF[VirtualColumn.ROW_ADDRESS]


def check_addresses_shown(reader: TableReader) -> None:
    """Refuse a table whose columns hide the addresses of rows; errors as `check_addresses_free`."""
    check_addresses_free(reader.columns.schema.names)


def check_addresses_free(names: Sequence[str]) -> None:
    """Refuse columns that hide the addresses of rows.

    Raises
    ------
    UnsupportedError
        A column of the table has the name of the addresses.
    """
    if ADDRESS in names:
        raise UnsupportedError(f"the table has a column {ADDRESS!r}, which hides the addresses of rows", column=ADDRESS)


def live_addresses(reader: TableReader, predicate: Predicate | None) -> RowAddresses:
    """Return the addresses of live rows that satisfy a predicate.

    Raises
    ------
    UnsupportedError
        A column of the table has the name of the addresses.
    LanceError
        As `TableReader.batches`.
    """
    check_addresses_shown(reader)
    found = RowAddresses()
    for batch in reader.batches(reader.projection([ADDRESS]), predicate, None, wants_all=True):
        found.add(as_numbers(batch.column(0)))
    return found


def write_deleted(
    line: Location, base: ManifestMeta, reader: TableReader, rows: RowAddresses, files: WrittenFiles
) -> tuple[list[DataFragment], list[int]]:
    """Write which rows are gone, fragment by fragment.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    base, reader
        The version, and what reads it.
    rows
        Rows to be deleted.
    files
        Writes the files.

    Returns
    -------
    updated
        Fragments as they are to be, with their new deletion files.
    removed
        Ids of fragments that have no rows left.

    Raises
    ------
    UnsupportedError
        Something of a fragment is unknown, so that it cannot be changed.
    """
    if not rows:
        return [], []
    messages = editable(base).fragments
    numbers = {number: at for at, number in enumerate(fragment_ids(base.fragments).tolist())}
    changed: list[DataFragment] = []
    removed: list[int] = []
    found = list(rows.by_fragment())
    fragments = reader.with_deletions([numbers[fragment_id] for fragment_id, _ in found])
    for (fragment_id, offsets), held in zip(found, fragments, strict=True):
        gone = with_deleted(held, offsets)
        if len(gone) == held.num_physical:
            removed.append(fragment_id)
            continue
        fragment = messages.get(fragment_id)
        check_fragment_known(fragment, base.facts.manifest_path)
        entry, place = write_deletions(line, fragment.id, base.version, gone, files)
        fragment.deletion_file.CopyFrom(entry)
        if not place.is_local:
            held.keep_deletions(place, np.array(gone.to_array(), np.int64))
        changed.append(fragment)
    return changed, removed


def with_deleted(rows: FragmentRows, offsets: pyroaring.BitMap) -> pyroaring.BitMap:
    """Return some rows of a fragment and those that are deleted already."""
    if rows.deletions is None:
        return offsets
    return offsets | bitmap_of(rows.deletions.offsets)
