"""`RowRestriction`: the rows that a fragment is cut down to; travels with the fragment, beside its payload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import joined_ranges


@dataclass(frozen=True, slots=True)
class RowRestriction:
    """Ascending, disjoint ranges of rows of one file.

    Parameters
    ----------
    starts, stops
        Half-open; plain numbers, so that restrictions compare and pickle by value.
    """

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @classmethod
    def of(cls, rows: RowRanges) -> RowRestriction:
        """Restrict to some rows."""
        return cls(tuple(rows.starts.tolist()), tuple(rows.stops.tolist()))

    def ranges(self, num_rows: int) -> RowRanges:
        """Return the rows of a file that has `num_rows`.

        Raises
        ------
        InvalidArgumentError
            The file has not so many rows: it is another file than the one the fragment was cut from.
        """
        if self.stops and self.stops[-1] > num_rows:
            raise InvalidArgumentError(
                f"the fragment is cut down to rows up to {self.stops[-1]}, the file has {num_rows}",
                detail=self.stops[-1],
            )
        return joined_ranges(np.array(self.starts, np.int64), np.array(self.stops, np.int64))


@dataclass(frozen=True, slots=True)
class RestrictedPayload:
    """Payload of a fragment that is cut down.

    Parameters
    ----------
    rows
        To which rows.
    whole
        Payload of the fragment it was cut from.
    """

    rows: RowRestriction
    whole: object | None


def unrestricted(payload: object | None) -> tuple[object | None, RowRestriction | None]:
    """Take the restriction off a payload."""
    return (payload.whole, payload.rows) if isinstance(payload, RestrictedPayload) else (payload, None)


def rows_within(rows: RowRestriction | None, num_rows: int) -> RowRanges:
    """Return the rows of a file that a fragment has."""
    return RowRanges.one(0, num_rows) if rows is None else rows.ranges(num_rows)
