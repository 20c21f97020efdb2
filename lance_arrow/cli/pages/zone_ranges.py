"""Zone maps as ranges over rows: which zones overlap, so how many a filter must read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.cli.row_text import cell
from lance_arrow.cli.row_values import plain_values
from lance_arrow.html_repr import shown
from lance_arrow.late_arrow import pc
from lance_arrow.statistics.zone_maps import ZoneMap

_MAX_RECTANGLES = 120
_WIDTH, _HEIGHT = 1000, 100
_MAX_VERDICT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneRanges:
    """Zones of one column.

    Parameters
    ----------
    path, type
        Of the column.
    num_rows
        Rows of the file or table.
    starts, stops
        First row and row behind the last one of each zone, ``(num_zones,) int64``.
    lows, highs
        Places of the bounds among all bounds in their order, ``(num_zones,) int64``; -1 in zones without a value.
    low_text, high_text
        The least and the greatest bound.
    """

    path: str
    type: str
    num_rows: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    low_text: str
    high_text: str

    @property
    def num_zones(self) -> int:
        """Zones, also those without a value."""
        return len(self.starts)

    def zones_per_value(self) -> float:
        """Return how many zones may hold a value, on average over the values that are bounds."""
        has_values = self.lows >= 0
        if not has_values.any():
            return 0.0
        lows, highs = np.sort(self.lows[has_values]), np.sort(self.highs[has_values])
        values = np.unique(np.concatenate([lows, highs]))
        found = np.searchsorted(lows, values, "right") - np.searchsorted(highs, values, "left")
        return float(found.mean())


def zone_ranges(path: str, type_: str, num_rows: int, maps: Sequence[tuple[int, ZoneMap]]) -> ZoneRanges | None:
    """Put zone maps of a column together.

    Parameters
    ----------
    path, type_, num_rows
        As in `ZoneRanges`.
    maps
        Zone maps of one type of bounds, each with the number of its first row.

    Returns
    -------
    ZoneRanges or None
        None if Arrow cannot sort bounds of this type.
    """
    low, high = (_plain(pa.concat_arrays([getattr(one, name) for _, one in maps])) for name in ("low", "high"))
    both = pa.concat_arrays([low, high])
    try:
        ranks = pc.rank(both, sort_keys="ascending", tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    places = ranks.to_numpy(zero_copy_only=False).astype(np.int64) - 1
    is_null = both.is_null().to_numpy(zero_copy_only=False)
    top = int(places[~is_null].max(initial=0))
    lows, highs = np.where(is_null, [0] * len(low) + [top] * len(high), places).reshape(2, -1)
    has_values = np.concatenate(
        [one.counts("value_count") > one.counts("null_count") + one.counts("nan_count") for _, one in maps]
    )
    rows = [one.counts("row_count") for _, one in maps]
    stops = [first + np.cumsum(counts) for (first, _), counts in zip(maps, rows, strict=True)]
    texts = ["", ""]
    if not is_null.all():
        known = np.flatnonzero(~is_null)
        ends = known[places[known].argmin()], known[places[known].argmax()]
        texts = [cell(plain_values(both.slice(int(at), 1))[0]) for at in ends]
    return ZoneRanges(
        path=path,
        type=type_,
        num_rows=num_rows,
        starts=np.concatenate([stop - counts for stop, counts in zip(stops, rows, strict=True)]),
        stops=np.concatenate(stops),
        lows=np.where(has_values, lows, -1),
        highs=np.where(has_values, highs, -1),
        low_text=texts[0],
        high_text=texts[1],
    )


def _plain(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def draw(ranges: ZoneRanges, kept: NDArray[np.bool_] | None = None) -> str:
    """Draw zones as rectangles: rows from left to right, bounds from the least to the greatest.

    `kept`, ``(num_zones,) bool``, are zones that a filter reads; the others are pale.
    """
    step = max(1, -(-ranges.num_zones // _MAX_RECTANGLES))
    rectangles = [
        _rectangle(ranges, at, min(at + step, ranges.num_zones), kept) for at in range(0, ranges.num_zones, step)
    ]
    per_value = ranges.zones_per_value()
    verdict = _verdict(ranges.num_zones, per_value)
    if kept is not None:
        verdict = f"The filter reads {int(kept.sum()):,} of {ranges.num_zones:,} zones. {verdict}"
    return (
        f'<figure><figcaption><strong>{shown(ranges.path)}</strong> <span class="note">{shown(ranges.type)}</span>'
        f"<p>{shown(verdict, most=_MAX_VERDICT)}</p></figcaption>"
        f'<div class="note">greatest: {shown(ranges.high_text)}</div>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="zones of {shown(ranges.path)}">{"".join(rectangles)}</svg>'
        f'<div class="note">least: {shown(ranges.low_text)} · rows 0 to {ranges.num_rows:,} from left to right'
        f"{f' · each rectangle is up to {step:,} zones' if step > 1 else ''}</div></figure>"
    )


def _rectangle(ranges: ZoneRanges, start: int, stop: int, kept: NDArray[np.bool_] | None) -> str:
    has_values = ranges.lows[start:stop] >= 0
    if not has_values.any():
        return ""
    top = max(int(ranges.highs.max()), 1)
    low = int(ranges.lows[start:stop][has_values].min()) / top
    high = int(ranges.highs[start:stop][has_values].max()) / top
    left, right = int(ranges.starts[start]), int(ranges.stops[stop - 1])
    # The scale ends inside the frame, and a zone of one value is a line that can be seen.
    y, height = 2 + (1 - high) * (_HEIGHT - 5), max((high - low) * (_HEIGHT - 5), 1)
    x, width = (_WIDTH * amount / max(ranges.num_rows, 1) for amount in (left, right - left))
    zones = f"zone {start:,}" if stop - start == 1 else f"zones {start:,} to {stop - 1:,}"
    is_pale = kept is not None and not kept[start:stop].any()
    pale = ' class="pale"' if is_pale else ""
    said = "" if kept is None else ": left out" if is_pale else f": {int(kept[start:stop].sum()):,} read"
    return (
        f'<rect{pale} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
        f"<title>{zones}, rows {left:,} to {right:,}{said}</title></rect>"
    )


def _verdict(num_zones: int, per_value: float) -> str:
    zones = "1 zone" if num_zones == 1 else f"{num_zones:,} zones"
    if per_value == 0:
        return f"{zones} without a value"
    text = f"A filter for one value must read {per_value:,.1f} of {zones} on average"
    if num_zones == 1:
        return f"{text}: there is nothing to prune"
    if per_value >= 0.9 * num_zones:
        return f"{text}: the zones overlap, so filters prune nothing until rows are sorted by this column"
    return f"{text}: the less the zones overlap, the more a filter prunes"
