"""`LanceFormat`: the file format to pass to `pyarrow.dataset`."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lance_arrow.arrow_dataset import pickling  # noqa: F401 - datasets of this format are to travel
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.dataset_sink import DatasetWriteOptions, WrittenFile
from lance_arrow.arrow_dataset.discovery import check_searched
from lance_arrow.arrow_dataset.fragment_options import LanceFragmentScanOptions, LanceReadOptions, rebuild_options
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.choices import Blobs, Dictionaries, FileVersionName, FixedStrings, Json, Preset, Verify
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.scan.scan_options import ScanOptions

LanceWriteOptions = bridge.LanceWriteOptions
"""Type of the result of `LanceFormat.make_write_options`; equal, hashed and pickled by value."""


class LanceFormat(bridge.BridgeFormat):
    """A `pyarrow.dataset.FileFormat` for Lance files: ``dataset(path, format=LanceFormat())``.

    Hashable, picklable, and equal to another `LanceFormat` of the same options.

    Parameters
    ----------
    version, tag, as_of
        Version of a table to read: number, tag, or the newest version that is not later than a moment. Give one at
        most.
    dictionaries
        ``"keep"``: return dictionary columns as dictionary arrays. ``"decode"``: return them as plain values, at any
        depth; the schema has the type of the values.
    blobs
        ``"bytes"``: blob columns hold their values; ``"descriptors"``: they hold the places of the values.
    json
        ``"text"``: columns of binary JSON have the type ``arrow.json``; ``"bytes"``: they hold the bytes as stored.
    allow_external_blobs
        Whether blob values at external addresses are read. A file may name any address: allow it for trusted files.
    allow_external_bases
        Whether base paths of a manifest may lie outside of the folder that holds the table. Allow it for trusted
        tables.
    verify
        When checksums are compared. ``"touched"``: those of metadata when the file is opened, those of a block when it
        is first read. ``"full"``: all, when the file is opened. ``"off"``: never.
    read_dictionary
        Columns of strings, or binary values, that come as dictionary arrays with 32-bit codes, as dotted paths.
        Values that lie plainly are encoded. Files without such a column pay no attention to its name.
    strings
        ``"plain"``: strings and binary values come as such. ``"view"``: they come as ``string_view`` and
        ``binary_view``. pyarrow's own datasets cannot filter these; `lance_arrow.dataset` can.
    memory_map
        Whether to map local files into memory, as for `LanceFile`. Files that are small enough to be read whole are
        not mapped.
    read_options
        The options above, without the version, in one object, instead of them.
    default_fragment_scan_options
        Options of scans without `fragment_scan_options`.

    Raises
    ------
    InvalidArgumentError
        More than one of `version`, `tag` and `as_of` is given, or an option has none of the values above.

    Examples
    --------
    >>> import pyarrow.dataset
    >>> files = pyarrow.dataset.dataset("flights.lance", format=lance_arrow.LanceFormat())
    >>> files.count_rows()
    100
    """

    def __init__(
        self,
        *,
        version: int | None = None,
        tag: str | None = None,
        as_of: datetime.datetime | None = None,
        dictionaries: Dictionaries = "keep",
        blobs: Blobs = "bytes",
        json: Json = "text",
        allow_external_blobs: bool = False,
        allow_external_bases: bool = False,
        verify: Verify = "touched",
        read_dictionary: Sequence[str] = (),
        strings: FixedStrings = "plain",
        memory_map: bool = False,
        read_options: LanceReadOptions | None = None,
        default_fragment_scan_options: LanceFragmentScanOptions | None = None,
    ) -> None:
        given = LanceReadOptions(
            dictionaries=dictionaries,
            blobs=blobs,
            json=json,
            allow_external_blobs=allow_external_blobs,
            allow_external_bases=allow_external_bases,
            verify=verify,
            read_dictionary=read_dictionary,
            strings=strings,
            memory_map=memory_map,
        )
        if read_options is not None and given != LanceReadOptions():
            raise InvalidArgumentError(
                "read_options is given along with single read options: give one or the other", detail=read_options
            )
        scan_options = None if default_fragment_scan_options is None else default_fragment_scan_options.options
        chosen = given if read_options is None else read_options
        super().__init__(FileScanHandler(version, tag, as_of, chosen, scan_options))

    def __bool__(self) -> bool:
        """Be true, as every object; pyarrow asks before it searches a folder, see `check_searched`."""
        # Not kept in a variable: a frame that refers to itself keeps all datasets of its callers open.
        check_searched(inspect.currentframe(), self.handler)
        return True

    @property
    def read_options(self) -> LanceReadOptions:
        """How columns are shown."""
        return self.handler.options

    @property
    def default_fragment_scan_options(self) -> LanceFragmentScanOptions | None:
        """Options of scans without `fragment_scan_options`; None for the defaults."""
        scan_options = self.handler.scan_options
        return None if scan_options == ScanOptions() else rebuild_options(scan_options)

    @property
    def version(self) -> int | None:
        """The version number given; None if none was given."""
        return self.handler.version

    @property
    def tag(self) -> str | None:
        """The tag given; None if none was given."""
        return self.handler.tag

    @property
    def as_of(self) -> datetime.datetime | None:
        """The moment given; None if none was given."""
        return self.handler.as_of

    @property
    def dictionaries(self) -> str:
        """Whether dictionary columns are kept or decoded."""
        return self.handler.options.dictionaries

    @property
    def read_dictionary(self) -> tuple[str, ...]:
        """Columns of strings that come as dictionary arrays."""
        return tuple(self.handler.options.read_dictionary)

    @property
    def strings(self) -> str:
        """Whether strings come as such or as views."""
        return self.handler.options.strings

    @property
    def memory_map(self) -> bool:
        """Whether local files are mapped into memory."""
        return self.handler.options.memory_map

    @property
    def blobs(self) -> str:
        """How blob columns are shown."""
        return self.handler.options.blobs

    @property
    def json(self) -> str:
        """How columns of binary JSON are shown."""
        return self.handler.options.json

    @property
    def allow_external_blobs(self) -> bool:
        """Whether blob values at external addresses are read."""
        return self.handler.options.allow_external_blobs

    @property
    def allow_external_bases(self) -> bool:
        """Whether base paths may lie outside of the folder that holds the table."""
        return self.handler.options.allow_external_bases

    def make_write_options(
        self,
        *,
        file_version: FileVersionName = "2.2",
        preset: Preset = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        on_file: Callable[[WrittenFile], None] | None = None,
    ) -> LanceWriteOptions:
        """Return options for ``pyarrow.dataset.write_dataset(..., file_options=...)``.

        Parameters
        ----------
        file_version, preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
            As for `WriteOptions`.
        on_file
            Called with a `WrittenFile` (path, size, num_rows) for each file. pyarrow calls the ``file_visitor`` of
            `write_dataset` for its built-in formats only.

        Raises
        ------
        InvalidArgumentError
            An option is not valid.

        Examples
        --------
        >>> import pyarrow.dataset
        >>> options = lance_arrow.LanceFormat().make_write_options(rows_per_zone=50)
        >>> rows = lance_arrow.read_table("flights.lance")
        >>> pyarrow.dataset.write_dataset(rows, "folder", format=lance_arrow.LanceFormat(), file_options=options)
        >>> lance_arrow.dataset("folder").count_rows()
        100
        """
        options = WriteOptions(
            file_version=file_version,
            preset=preset,
            rows_per_zone=rows_per_zone,
            checksums=checksums,
            column_options=column_options or {},
            allow_private_encodings=allow_private_encodings,
            page_bytes=page_bytes,
        )
        return self.write_options(DatasetWriteOptions(options, on_file))

    @property
    def verify(self) -> str:
        """When checksums are compared: ``"touched"``, ``"full"`` or ``"off"``."""
        return self.handler.options.verify

    def __repr__(self) -> str:
        options: dict[str, object] = {"version": self.version, "tag": self.tag, "as_of": self.as_of}
        options |= self.handler.options.changed()
        given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
        return f"LanceFormat({given})"
