"""A source that remembers which bytes were asked of another one."""

from __future__ import annotations

from typing import Any

from lance_arrow.io import MeteredSource


class WatchedSource(MeteredSource):
    """Counts as `MeteredSource` does, and keeps every requested range in `ranges`."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.ranges: list[tuple[int, int]] = []

    def read_joined(self, starts: Any, stops: Any, *, ranges_wanted: int, bytes_wanted: int) -> Any:
        self._remember(starts, stops)
        return super().read_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)

    def read_arena_joined(self, starts: Any, stops: Any, *, ranges_wanted: int, bytes_wanted: int) -> Any:
        self._remember(starts, stops)
        return super().read_arena_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)

    def read_into(self, starts: Any, stops: Any, out: Any, out_starts: Any) -> None:
        self._remember(starts, stops)
        super().read_into(starts, stops, out, out_starts)

    def _remember(self, starts: Any, stops: Any) -> None:
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        self.ranges.extend((start, stop) for start, stop in pairs if stop > start)
