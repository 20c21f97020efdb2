"""`LanceDataset`, what pyarrow's dataset of files lacks where the format is ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset
from pyarrow.fs import FileSystem

from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.errors import InvalidArgumentError


class LanceDataset(FileSystemDataset):
    """A `pyarrow.dataset.FileSystemDataset` of Lance files that knows its format and its fragments.

    Made as any `FileSystemDataset`, of `LanceFileFragment`s, or from an existing dataset by `from_dataset`.
    """

    @classmethod
    def from_dataset(cls, dataset: FileSystemDataset) -> LanceDataset:
        """Show a dataset, made by `pyarrow.dataset.dataset(..., format=LanceFormat())`, as this class.

        Raises
        ------
        InvalidArgumentError
            It is not a dataset of files of Lance format.
        """
        if bridge.format_of(dataset) is None:
            raise InvalidArgumentError(f"not a dataset of files of Lance format: {dataset!r}")
        shown: LanceDataset = bridge.show_as(cls, dataset)
        return shown

    @property
    def format(self) -> bridge.BridgeFormat:
        """The format all fragments were made by."""
        return bridge.format_of(self)

    @property
    def fragments(self) -> list[bridge.LanceFileFragment]:
        """All fragments, a filter of the dataset notwithstanding, in order."""
        unfiltered = bridge.show_as(FileSystemDataset, self)
        unfiltered._scan_options = {}
        return [bridge.LanceFileFragment.from_fragment(fragment) for fragment in unfiltered.get_fragments()]

    def _get_fragments(self, filter: pyarrow.compute.Expression | None) -> Iterator[bridge.LanceFileFragment]:
        for fragment in super()._get_fragments(filter):
            yield bridge.LanceFileFragment.from_fragment(fragment)

    def replace_schema(self, schema: pyarrow.Schema) -> LanceDataset:
        """Return the same files seen with another schema."""
        return type(self).from_dataset(super().replace_schema(schema))

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild_dataset, (type(self), dataset_parts(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetParts:
    """All that makes a dataset, picklable."""

    fragments: list[bridge.LanceFileFragment]
    schema: pyarrow.Schema
    format: bridge.BridgeFormat
    filesystem: FileSystem | None
    partition_expression: pyarrow.compute.Expression
    filter: pyarrow.compute.Expression | None


def dataset_parts(dataset: FileSystemDataset) -> DatasetParts:
    """Take a dataset apart."""
    return DatasetParts(
        fragments=bridge.show_as(LanceDataset, dataset).fragments,
        schema=dataset.schema,
        format=bridge.format_of(dataset),
        filesystem=bridge.filesystem_of(dataset),
        partition_expression=dataset.partition_expression,
        filter=dataset._scan_options.get("filter"),
    )


def rebuild_dataset(cls: type[FileSystemDataset], parts: DatasetParts) -> FileSystemDataset:
    """Make the dataset that was taken apart."""
    dataset = cls(parts.fragments, parts.schema, parts.format, parts.filesystem, parts.partition_expression)
    return dataset if parts.filter is None else dataset.filter(parts.filter)
