"""`LanceFormat`, what users pass to `pyarrow.dataset.dataset(path, format=LanceFormat())`."""

from __future__ import annotations

from typing import Any

import lance_arrow.datasets.pickling  # noqa: F401 - registers how pyarrow's own classes pickle with this format
from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.scan import FileScanHandler


class LanceFormat(bridge.BridgeFormat):
    """The Lance file format as a `pyarrow.dataset.FileFormat`.

    Hashable and picklable; two are equal when their options are. `default_extname` is ``lance``.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table directory to read; at most one. Without a table they are refused when a file is opened.

    Raises
    ------
    InvalidArgumentError
        More than one of them.
    """

    def __init__(self, *, version: int | None = None, tag: str | None = None, as_of: Any = None) -> None:
        super().__init__(FileScanHandler(version, tag, as_of))

    def __repr__(self) -> str:
        return repr(self.handler).replace("FileScanHandler", type(self).__name__)
