"""`kept_plan`: plans of the filters that were asked last, for all datasets, tables and files of one schema."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_by_schema import KeptBySchema

_kept: KeptBySchema[FilterPlan] = KeptBySchema()


def kept_plan(expression: pc.Expression, schema: pa.Schema) -> FilterPlan:
    """Return the plan of a filter: what was bound, and judged of dictionaries, serves scans of equal schemas again.

    Parameters and errors are those of `FilterPlan`. Nothing of the rows of a scan is kept, and no file.
    """
    plan = _kept.of(_key(expression), schema, lambda: FilterPlan(expression, schema), lambda made: made.is_repeatable)
    return plan.for_scan()


def _key(expression: pc.Expression) -> bytes | None:
    """Return what tells filters apart, values and options among it; None where that is unknown."""
    try:
        return pickle.dumps(expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
