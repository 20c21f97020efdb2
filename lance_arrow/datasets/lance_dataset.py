"""`LanceDataset`, what pyarrow's dataset of files lacks where the format is ours."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset

from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.dataset_parts import all_fragments, put_together, take_apart
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
        return all_fragments(self)

    def _get_fragments(self, filter: pyarrow.compute.Expression | None) -> Iterator[bridge.LanceFileFragment]:
        for fragment in super()._get_fragments(filter):
            yield bridge.LanceFileFragment.from_fragment(fragment)

    def replace_schema(self, schema: pyarrow.Schema) -> LanceDataset:
        """Return the same files seen with another schema."""
        return type(self).from_dataset(super().replace_schema(schema))

    def __reduce__(self) -> tuple[object, ...]:
        return put_together, (type(self), take_apart(self))
