"""Loads the bridge for tables on stores of pyarrow, whose files of known size are then opened without a request."""

from __future__ import annotations

import contextlib
import importlib

from lance_arrow.io import Location
from lance_arrow.late_arrow import arrow_fs


def load_for_store(place: Location) -> None:
    """Load the bridge if a place is on a store of pyarrow; without a build for this pyarrow, nothing is loaded."""
    if not place.is_local and isinstance(place.filesystem, arrow_fs.FileSystem):
        with contextlib.suppress(ImportError):
            importlib.import_module("lance_arrow.arrow_dataset.bridge.loading")
