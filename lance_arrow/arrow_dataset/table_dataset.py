"""From a version of a table to a `LanceDataset` of its fragments."""

from __future__ import annotations

from collections.abc import Sequence

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_format import LanceFormat
from lance_arrow.arrow_dataset.places import as_arrow
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.io import AnyFileSystem
from lance_arrow.manifests.fragments import FragmentMeta, first_files
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.runtime import making_objects
from lance_arrow.scan.fragments.table_reader import TableReader


def table_dataset(
    facts: TableFacts, fragments: Sequence[FragmentMeta], filesystem: AnyFileSystem | None, options: ReadOptions
) -> LanceDataset:
    """Make a dataset of the live rows of one version: a fragment for each of its fragments, in order.

    Parameters
    ----------
    facts, fragments
        The version.
    filesystem
        The table's.
    options
        How columns are read.

    Raises
    ------
    CorruptManifestError, UnsupportedError
        The schema contradicts itself, or has no Arrow form. Files lie outside of the allowed folders.
    """
    file_format = LanceFormat(read_options=options)
    columns = file_format.handler.columns_of(facts)
    with making_objects(len(fragments)):
        parts = [TablePart.of(facts, fragments, number) for number in range(len(fragments))]
        made: LanceDataset = bridge.dataset_of(
            LanceDataset, file_format, columns.schema, as_arrow(filesystem), *_files(facts, fragments, options), parts
        )
    made.know_table(TableReader(columns, fragments, filesystem, file_format.handler.files))
    return made


def _files(facts: TableFacts, fragments: Sequence[FragmentMeta], options: ReadOptions) -> tuple[list[str], list[int]]:
    """Return path and bytes (-1: unknown) of the file that stands for each fragment: its first one."""
    paths, sizes = first_files(fragments, facts.data_prefix)
    for number in [number for number, path in enumerate(paths) if path is None]:
        files = fragments[number].files
        if not files:
            # A fragment whose columns are all null lies in no file; the manifest stands for it.
            paths[number], sizes[number] = facts.manifest_path, -1
            continue
        paths[number] = facts.data_path(files[0], allow_external_bases=options.allow_external_bases)
        sizes[number] = -1 if files[0].size_bytes is None else files[0].size_bytes
    return [path for path in paths if path is not None], sizes
