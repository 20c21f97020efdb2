"""`LanceFormat`, what users pass to `pyarrow.dataset`."""

from __future__ import annotations

import datetime

from lance_arrow.datasets import pickling  # noqa: F401 - datasets of this format are to travel
from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.read_options import Dictionaries
from lance_arrow.datasets.scan import FileScanHandler


class LanceFormat(bridge.BridgeFormat):
    """A genuine `pyarrow.dataset.FileFormat` for Lance files.

    Hashable, picklable, and equal to another `LanceFormat` of the same options.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read, by number, tag, or the last one not later than a moment; one at most.
    dictionaries
        ``"keep"``: dictionary columns are dictionary arrays, as the file's schema has them; ``"decode"``: plain values,
        at any depth, and the schema says so.

    Raises
    ------
    InvalidArgumentError
        More than one of `version`, `tag` and `as_of` is given, or `dictionaries` is another word.
    """

    def __init__(
        self,
        *,
        version: int | None = None,
        tag: str | None = None,
        as_of: datetime.datetime | None = None,
        dictionaries: Dictionaries = "keep",
    ) -> None:
        super().__init__(FileScanHandler(version, tag, as_of, dictionaries))

    @property
    def version(self) -> int | None:
        """The version number that was asked for."""
        return self.handler.version

    @property
    def tag(self) -> str | None:
        """The tag that was asked for."""
        return self.handler.tag

    @property
    def as_of(self) -> datetime.datetime | None:
        """The moment that was asked for."""
        return self.handler.as_of

    @property
    def dictionaries(self) -> Dictionaries:
        """Whether dictionary columns are kept or decoded."""
        return self.handler.dictionaries

    def __repr__(self) -> str:
        options: dict[str, object] = {"version": self.version, "tag": self.tag, "as_of": self.as_of}
        if self.dictionaries != "keep":
            options["dictionaries"] = self.dictionaries
        given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
        return f"LanceFormat({given})"
