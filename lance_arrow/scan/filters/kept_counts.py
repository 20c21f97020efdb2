"""`KeptCounts`: fragments as filters were asked to count them, for the next count by an equal filter."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.open_files import is_current

_KEPT_READINGS = 64


class KeptCounts:
    """What zone maps leave of local fragments to filters, and the readings of the rest.

    Readings hold their files open. Each is looked at before a reading is used again: another file may lie in its place.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int], tuple[object, FilteredReading]] = OrderedDict()
        self._lock = Lock()

    def of(self, filter: FilterPlan, number: int, make: Callable[[], FilteredReading]) -> FilteredReading:
        """Return the reading of a fragment for counts, made at its first use.

        Parameters
        ----------
        filter
            The same rows satisfy it each time.
        number
            Number of the fragment.
        make
            Opens the fragment; its errors are raised.
        """
        held = self.get(filter, number)
        if held is not None:
            return held
        made = make()
        if all(map(is_current, made.looked_at)):
            with self._lock:
                self._held[number, id(filter.identity)] = filter.identity, made
                while len(self._held) > _KEPT_READINGS:
                    self._held.popitem(last=False)
        return made

    def get(self, filter: FilterPlan, number: int) -> FilteredReading | None:
        """Return the reading of a fragment, if there is one, and its files are still there."""
        with self._lock:
            held = self._held.get((number, id(filter.identity)))
        if held is None or held[0] is not filter.identity or not all(map(is_current, held[1].looked_at)):
            return None
        return held[1]
