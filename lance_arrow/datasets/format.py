"""`LanceFormat`, what users pass to `pyarrow.dataset`."""

from __future__ import annotations

import datetime

from lance_arrow.assembly.blob_fields import BlobOptions
from lance_arrow.datasets import pickling  # noqa: F401 - datasets of this format are to travel
from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.scan import FileScanHandler


class LanceFormat(bridge.BridgeFormat):
    """A genuine `pyarrow.dataset.FileFormat` for Lance files.

    Hashable, picklable, and equal to another `LanceFormat` of the same options.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read, by number, tag, or the last one not later than a moment; one at most.
    blobs
        How blob columns are shown: ``"bytes"``, their values, or ``"descriptors"``, where these lie.
    allow_external_blobs
        Whether addresses of blobs that files name are followed; refused by default, since a file may name any.

    Raises
    ------
    InvalidArgumentError
        More than one of `version`, `tag` and `as_of` is given, or blobs are to be shown in no known way.
    """

    def __init__(
        self,
        *,
        version: int | None = None,
        tag: str | None = None,
        as_of: datetime.datetime | None = None,
        blobs: str = "bytes",
        allow_external_blobs: bool = False,
    ) -> None:
        super().__init__(FileScanHandler(version, tag, as_of, BlobOptions(blobs, allow_external_blobs)))

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
    def blobs(self) -> str:
        """How blob columns are shown."""
        return self.handler.blobs.form

    @property
    def allow_external_blobs(self) -> bool:
        """Whether addresses of blobs that files name are followed."""
        return self.handler.blobs.allow_external

    def __repr__(self) -> str:
        options = {
            "version": self.version,
            "tag": self.tag,
            "as_of": self.as_of,
            "blobs": None if self.blobs == "bytes" else self.blobs,
            "allow_external_blobs": self.allow_external_blobs or None,
        }
        given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
        return f"LanceFormat({given})"
