"""`WantedRows`: what an engine reads of a dataset, opened and checked in the same way for all engines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.opening import dataset as open_dataset
from lance_arrow.scan.predicates import Predicate, as_expression

Source = LanceDataset | str | os.PathLike[str]
"""A dataset, or what `lance_arrow.dataset` opens."""


def opened(source: Source) -> LanceDataset:
    """Return a dataset, opened where it is named; errors are those of `lance_arrow.dataset`."""
    return source if isinstance(source, LanceDataset) else open_dataset(source)


@dataclass(frozen=True, slots=True)
class WantedRows:
    """A dataset, and the columns and rows that are read of it: all of them when None."""

    dataset: LanceDataset
    columns: list[str] | None
    filter: pc.Expression | None

    @classmethod
    def of(cls, source: Source, columns: Sequence[str] | None, filter: Predicate | None) -> WantedRows:
        """Open a source; raises `InvalidArgumentError` for a filter that is not understood."""
        dataset = opened(source)
        expression = None if filter is None else as_expression(filter, dataset.schema)
        return cls(dataset, None if columns is None else list(columns), expression)

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for scans of the dataset, and of its shares."""
        return {"columns": self.columns, "filter": self.filter}

    @property
    def schema(self) -> pa.Schema:
        """Schema of what is read; raises `InvalidArgumentError` where a column or the filter does not fit."""
        return self.dataset.scanner(**self.options).projected_schema

    def shares(self, max_rows: int) -> list[LanceDataset]:
        """Divide the dataset as `LanceDataset.split` does, into one share at least."""
        return self.dataset.split(max_rows) or [self.dataset]
