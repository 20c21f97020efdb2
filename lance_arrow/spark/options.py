"""Options of ``spark.read`` and ``df.write`` as text, checked and typed; unknown ones are refused by name.

Spark turns the names of options into lower case before a Python source sees them, so names are compared that way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lance_arrow.choices import Blobs, Durability, FileVersionName, Preset, Verify, check_choice
from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from lance_arrow.io import Location

_STORAGE = "storage."
Word = TypeVar("Word", bound=str)
# Spark hands these to every source.
_OF_SPARK = ("checkpointlocation", "queryname", "__partition_columns", "outputmode", "__default_path__")
READ_NAMES = (
    "path", "version", "tag", "asOf", "branch", "columns", "filter", "batchSize", "splitRows", "splitBytes",
    "withRowId", "blobs", "timestamps", "pushFilters", "maxPrunedFragments", "verify", "storageOptions",
    "allowExternalBases",
)  # fmt: skip
STREAM_NAMES = ("startingVersion", "changes", "maxRowsPerTrigger", "maxBytesPerTrigger", "maxFragmentsPerTrigger")
WRITE_NAMES = (
    "path", "ifExists", "fileVersion", "preset", "rowsPerZone", "checksums", "maxRowsPerFile", "columnOptions",
    "stableRowIds", "message", "clusterBy", "partitionBy", "timestamps", "unsafeSingleWriter", "durability", "queryId",
    "ifVersion", "keepSchema", "jobName", "storageOptions",
)  # fmt: skip


class SourceOptions:
    """Options as Spark hands them over.

    Parameters
    ----------
    given
        Names and values, both text.
    known
        Names there are.

    Raises
    ------
    InvalidArgumentError
        A name is unknown; the nearest known one is offered.
    """

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        names = {name.lower(): name for name in known}
        for name in self._given:
            if name in names or name in _OF_SPARK or name.startswith(_STORAGE):
                continue
            offer = did_you_mean(name, names.values()) or f"; there are {', '.join(names.values())}"
            raise InvalidArgumentError(f"format 'lance' has no option {name!r}{offer}", detail=name)

    def text(self, name: str) -> str | None:
        """Return an option as it is; None when it is not given, or empty."""
        return self._given.get(name.lower()) or None

    def number(self, name: str, *, low: int = 1) -> int | None:
        """Return an option that is an integer, at least `low`."""
        said = self.text(name)
        if said is None:
            return None
        try:
            value = int(said)
        except ValueError:
            value = low - 1
        if value < low:
            raise InvalidArgumentError(f"option {name} is {said!r}, expected an integer, at least {low}", detail=said)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return an option that is true or false."""
        said = self.text(name)
        if said is None:
            return default
        if said.lower() not in ("true", "false"):
            raise InvalidArgumentError(f"option {name} is {said!r}, expected 'true' or 'false'", detail=said)
        return said.lower() == "true"

    def choice(self, name: str, known: tuple[Word, ...]) -> Word:
        """Return an option that is one of some words; the first one when it is not given."""
        said = (self.text(name) or known[0]).lower()
        check_choice(f"option {name}", known, said)
        return next(word for word in known if word == said)

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return an option that lists columns: ``a, b.c``, or a JSON list of names that hold commas."""
        said = self.text(name)
        if said is None:
            return None
        if said.lstrip().startswith("["):
            listed = self._json(name, list)
            if not all(isinstance(one, str) for one in listed):
                raise InvalidArgumentError(f"option {name} is {said!r}, expected names of columns", detail=said)
            return tuple(listed)
        return tuple(part.strip() for part in said.split(","))

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an option that is a JSON object; empty when it is not given."""
        return {} if self.text(name) is None else dict(self._json(name, dict))

    def storage(self) -> dict[str, Any]:
        """Return options for the filesystem: of ``storageOptions``, a JSON object, and of each ``storage.<name>``.

        Values of the latter are text, but for ``true``, ``false`` and ``null``; names are in lower case.
        """
        found = self.mapping("storageOptions")
        words = {"true": True, "false": False, "null": None}
        for name, value in self._given.items():
            if name.startswith(_STORAGE):
                found[name.removeprefix(_STORAGE)] = words.get(value, value)
        return found

    def _json(self, name: str, kind: type) -> Any:
        said = self.text(name) or ""
        try:
            value = json.loads(said)
        except ValueError:
            value = None
        if not isinstance(value, kind):
            # What was given may hold a password: it is not repeated.
            wanted = "a JSON object" if kind is dict else "a JSON list"
            raise InvalidArgumentError(f"option {name} is not {wanted}", detail=name)
        return value


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Where a table is, in a form that travels to executors.

    Parameters
    ----------
    uri
        Path or URL.
    storage_options
        For the filesystem of a URL; never printed.
    """

    uri: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, options: SourceOptions) -> TableAddress:
        """Take the address from options."""
        path = options.text("path")
        if path is None:
            raise InvalidArgumentError("format 'lance' needs a path: .load(path), .save(path) or option 'path'")
        return cls(path.removeprefix("file:") if path.startswith("file:/") else path, options.storage())

    def location(self) -> Location:
        """Find the folder."""
        from lance_arrow.manifests.versions import table_location  # noqa: PLC0415 - not where options are looked at

        return table_location(self.path, storage_options=dict(self.storage_options) or None)

    @property
    def path(self) -> str:
        """Path or URL, without what is left of ``file:///path``."""
        return f"/{self.uri.lstrip('/')}" if self.uri.startswith("//") else self.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChoices:
    """Typed options of a read; docs/spark.md lists them."""

    address: TableAddress
    version: int | None = None
    tag: str | None = None
    as_of: str | None = None
    branch: str | None = None
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    batch_rows: int = 16384
    split_rows: int | None = None
    split_bytes: int | None = None
    with_row_id: bool = False
    blobs: Blobs = "bytes"
    verify: Verify = "touched"
    truncates_times: bool = False
    max_pruned_fragments: int = 10_000
    allow_external_bases: bool = False

    @classmethod
    def of(cls, options: SourceOptions) -> ReadChoices:
        """Take the choices from options."""
        if options.flag("pushFilters", default=False):
            # PySpark 4.1.4, 4.2.1 and 4.3.0; a source cannot tell which use of a frame a task works for.
            raise UnsupportedError(
                "option pushFilters would give wrong rows: Spark uses the rows of one filter for all uses of a data "
                "frame, in a union or a join too; say which rows by option filter"
            )
        pruned = options.number("maxPrunedFragments", low=0)
        return cls(
            address=TableAddress.of(options),
            version=options.number("version"),
            tag=options.text("tag"),
            as_of=options.text("asOf"),
            branch=options.text("branch"),
            columns=options.names("columns"),
            filter=options.text("filter"),
            batch_rows=options.number("batchSize") or 16384,
            split_rows=options.number("splitRows"),
            split_bytes=options.number("splitBytes"),
            with_row_id=options.flag("withRowId", default=False),
            blobs=options.choice("blobs", ("bytes", "descriptors")),
            verify=options.choice("verify", ("touched", "full", "off")),
            truncates_times=options.choice("timestamps", ("exact", "truncate")) == "truncate",
            max_pruned_fragments=10_000 if pruned is None else pruned,
            allow_external_bases=options.flag("allowExternalBases", default=False),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteChoices:
    """Typed options of a write; docs/spark.md lists them."""

    address: TableAddress
    if_exists: str = "append"
    file_version: FileVersionName | None = None
    preset: Preset = "default"
    rows_per_zone: int = 8192
    checksums: bool = True
    max_rows_per_file: int = 1 << 20
    column_options: Mapping[str, Any] = field(default_factory=dict)
    stable_row_ids: bool = False
    message: str | None = None
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    truncates_times: bool = False
    unsafe_single_writer: bool = False
    durability: Durability = "fsync"
    query_id: str | None = None
    if_version: int | None = None
    keep_schema: bool = False
    job_name: str | None = None

    @classmethod
    def of(cls, options: SourceOptions) -> WriteChoices:
        """Take the choices from options."""
        zone = options.number("rowsPerZone", low=0)
        return cls(
            address=TableAddress.of(options),
            if_exists=options.choice("ifExists", ("append", "error", "ignore")),
            # Whether there are such, options of files say.
            file_version=cast("FileVersionName | None", options.text("fileVersion")),
            preset=cast("Preset", options.text("preset") or "default"),
            rows_per_zone=8192 if zone is None else zone,
            checksums=options.flag("checksums", default=True),
            max_rows_per_file=options.number("maxRowsPerFile") or 1 << 20,
            column_options=options.mapping("columnOptions"),
            stable_row_ids=options.flag("stableRowIds", default=False),
            message=options.text("message"),
            cluster_by=options.names("clusterBy") or (),
            partition_by=options.names("partitionBy") or (),
            truncates_times=options.choice("timestamps", ("exact", "truncate")) == "truncate",
            unsafe_single_writer=options.flag("unsafeSingleWriter", default=False),
            durability=options.choice("durability", ("fsync", "rename")),
            query_id=options.text("queryId"),
            if_version=options.number("ifVersion"),
            keep_schema=options.flag("keepSchema", default=False),
            job_name=options.text("jobName"),
        )
