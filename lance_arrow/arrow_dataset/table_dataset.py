"""From a version of a table to a `LanceDataset` of its fragments."""

from __future__ import annotations

import pyarrow.compute as pc
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_format import LanceFormat
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.io import AnyFileSystem
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_reader import TableReader


def table_dataset(manifest: ManifestMeta, filesystem: AnyFileSystem, options: ReadOptions) -> LanceDataset:
    """Make a dataset of the live rows of one version: a fragment for each of its fragments, in order.

    Parameters
    ----------
    manifest
        The version.
    filesystem
        The table's.
    options
        How callers see columns.

    Raises
    ------
    CorruptManifestError, UnsupportedError
        The schema contradicts itself, or cannot be shown; files lie where nobody may look.
    """
    facts = manifest.facts
    file_format = LanceFormat(read_options=options)
    columns = file_format.handler.columns_of(facts)
    schema = columns.schema
    arrow_filesystem = as_arrow(filesystem)
    fragments = []
    for fragment in manifest.fragments:
        first = fragment.files[0] if fragment.files else None
        # A fragment whose columns are all null lies in no file; the manifest stands for it.
        path = (
            facts.manifest_path
            if first is None
            else facts.data_path(first, allow_external_bases=options.allow_external_bases)
        )
        fragments.append(
            file_format.make_fragment(
                path,
                arrow_filesystem,
                file_size=None if first is None else first.size_bytes,
                physical_schema=schema,
                payload=TablePart(facts, fragment),
            )
        )
    made = LanceDataset(fragments, schema, file_format, arrow_filesystem, pc.scalar(True))
    made.know_table(TableReader(columns, manifest.fragments, filesystem, file_format.handler.files))
    return made


def as_arrow(filesystem: AnyFileSystem) -> arrow_fs.FileSystem:
    """Return a filesystem as pyarrow's datasets want it."""
    if isinstance(filesystem, arrow_fs.FileSystem):
        return filesystem
    if isinstance(filesystem, LocalFileSystem):
        return arrow_fs.LocalFileSystem()
    return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(filesystem))
