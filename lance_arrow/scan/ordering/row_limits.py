"""`RowLimits`: `limit` and `offset` of a read, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class RowLimits:
    """Which rows of a result are wanted.

    Parameters
    ----------
    limit
        The most rows; all when None.
    offset
        How many rows before them are left out.
    """

    limit: int | None = None
    offset: int = 0

    @classmethod
    def of(cls, limit: Any, offset: Any) -> RowLimits:
        """Check what a caller gave; raises `InvalidArgumentError` unless both are at least 0; None is no limit."""
        return cls(None if limit is None else _checked("limit", limit), _checked("offset", offset or 0))

    @property
    def are_all(self) -> bool:
        """Whether every row is wanted."""
        return self.limit is None and not self.offset

    @property
    def stop(self) -> int | None:
        """How many rows must be found; None for all."""
        return None if self.limit is None else self.offset + self.limit

    def within(self, num_rows: int) -> tuple[int, int]:
        """Return the first wanted row of `num_rows`, and the one after the last."""
        start = min(self.offset, num_rows)
        return start, num_rows if self.stop is None else min(self.stop, num_rows)

    def applied(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted rows of batches; no batch is asked for after the last of them."""
        skipped, missing = self.offset, self.limit
        if missing == 0:
            return
        for batch in batches:
            rows = batch.slice(skipped, missing)
            skipped = max(0, skipped - batch.num_rows)
            if not rows.num_rows:
                continue
            yield rows
            if missing is not None:
                missing -= rows.num_rows
                if not missing:
                    return


def _checked(name: str, given: Any) -> int:
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 0:
        raise InvalidArgumentError(f"{name} is {given!r}, expected an integer, at least 0", detail=given)
    return int(given)
