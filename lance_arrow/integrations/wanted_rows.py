"""`WantedRows`: columns and rows of a dataset for an engine, opened and checked in the same way for all engines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.opening import dataset as open_dataset
from lance_arrow.choices import Strings
from lance_arrow.scan.predicates import Predicate, as_expression

Source = LanceDataset | str | os.PathLike[str]
"""A dataset, or a path or URL as for `lance_arrow.dataset`."""


def opened(source: Source, *, strings: Strings = "plain") -> LanceDataset:
    """Return a dataset, opened so if a path or URL is given; errors are those of `lance_arrow.dataset`."""
    return source if isinstance(source, LanceDataset) else open_dataset(source, strings=strings)


@dataclass(frozen=True, slots=True)
class WantedRows:
    """A dataset, and the columns and filter of its reads: None for all."""

    dataset: LanceDataset
    columns: list[str] | None
    filter: pc.Expression | None

    @classmethod
    def of(cls, source: Source, columns: Sequence[str] | None, filter: Predicate | None) -> WantedRows:
        """Open a source; raises `InvalidArgumentError` for an invalid filter."""
        dataset = opened(source)
        expression = None if filter is None else as_expression(filter, dataset.schema)
        return cls(dataset, None if columns is None else list(columns), expression)

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for scans of the dataset, and of its shares."""
        return {"columns": self.columns, "filter": self.filter}

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result; raises `InvalidArgumentError` if a column or the filter does not fit."""
        return self.dataset.scanner(**self.options).projected_schema

    def shares(self, max_rows: int) -> list[LanceDataset]:
        """Divide the dataset as `LanceDataset.split` does, into at least one share."""
        return self.dataset.split(max_rows) or [self.dataset]
