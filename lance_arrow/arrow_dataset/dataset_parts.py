"""Datasets of files taken apart into what pickles, and put together again."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset
from pyarrow.fs import FileSystem

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetParts:
    """All that makes a dataset; `filter` is the one of `Dataset.filter`."""

    fragments: list[LanceFileFragment]
    schema: pyarrow.Schema
    format: bridge.BridgeFormat
    filesystem: FileSystem | None
    partition_expression: pyarrow.compute.Expression
    filter: pyarrow.compute.Expression | None


def all_fragments(dataset: FileSystemDataset) -> list[LanceFileFragment]:
    """Return the fragments of a dataset, its filter notwithstanding, in order."""
    unfiltered = bridge.show_as(FileSystemDataset, dataset)
    unfiltered._scan_options = {}
    return [LanceFileFragment.from_fragment(fragment) for fragment in unfiltered.get_fragments()]


def take_apart(dataset: FileSystemDataset) -> DatasetParts:
    """Take apart a dataset of Lance format."""
    return DatasetParts(
        fragments=all_fragments(dataset),
        schema=dataset.schema,
        format=bridge.format_of(dataset),
        filesystem=bridge.filesystem_of(dataset),
        partition_expression=dataset.partition_expression,
        filter=dataset._scan_options.get("filter"),
    )


def put_together(cls: type[FileSystemDataset], parts: DatasetParts) -> FileSystemDataset:
    """Make the dataset that was taken apart."""
    dataset = cls(parts.fragments, parts.schema, parts.format, parts.filesystem, parts.partition_expression)
    return dataset if parts.filter is None else dataset.filter(parts.filter)
