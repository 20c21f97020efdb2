"""`kept_plan`: plans of the filters that were asked last, for all datasets, tables and files of one schema."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from threading import Lock
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.scan.filters.filter_plan import FilterPlan

_MOST_PLANS = 16
_MOST_KEY_BYTES = 64 << 10
"""Lists of values may have any length; binding a longer one takes little of the time that looking them up does."""
_Entry: TypeAlias = tuple[bytes, pa.Schema, FilterPlan]


class KeptPlans:
    """The plans that were used last; a process has one."""

    def __init__(self) -> None:
        self._held: Sequence[_Entry] = ()
        self._lock = Lock()

    def of(self, expression: pc.Expression, schema: pa.Schema) -> FilterPlan:
        """Return the plan of a filter, made at its first use; see `kept_plan`."""
        key = _key(expression)
        if key is None:
            return FilterPlan(expression, schema)
        found = next((one for one in self._held if one[0] == key and _is_same(one[1], schema)), None)
        if found is None:
            plan = FilterPlan(expression, schema)
            if not plan.is_repeatable:
                return plan
            found = key, schema, plan
        with self._lock:
            self._held = (found, *[one for one in self._held if one is not found][: _MOST_PLANS - 1])
        return found[2].for_scan()


def kept_plan(expression: pc.Expression, schema: pa.Schema) -> FilterPlan:
    """Return the plan of a filter: what was bound, and judged of dictionaries, serves scans of equal schemas again.

    Parameters and errors are those of `FilterPlan`. Nothing of the rows of a scan is kept, and no file.
    """
    return _kept.of(expression, schema)


def _key(expression: pc.Expression) -> bytes | None:
    """Return what tells filters apart, values and options among it; None where that is long, or unknown."""
    try:
        key = pickle.dumps(expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return key if len(key) <= _MOST_KEY_BYTES else None


def _is_same(one: pa.Schema, other: pa.Schema) -> bool:
    return one is other or bool(one.equals(other, check_metadata=True))


_kept = KeptPlans()
