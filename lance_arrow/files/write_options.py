"""`WriteOptions`: options of written files, with the same names in every writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa

from lance_arrow.choices import Preset
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.spi import EncodeOptions

DEFAULT_ROWS_PER_ZONE = 8192
DEFAULT_PAGE_BYTES = 8 << 20
_ALIASES = {"stable": "2.2", "next": "2.3"}
_WRITABLE = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options of a written file.

    Parameters
    ----------
    file_version
        ``"2.0"``, ``"2.1"``, ``"2.2"`` or ``"2.3"``. ``"stable"`` is 2.2, ``"next"`` is 2.3.
    preset
        ``"default"``; ``"fast"``: for speed of scans and takes; ``"compact"``: for small files.
    rows_per_zone
        Rows that share one entry of a zone map; 0 or None writes no zone maps.
    checksums
        Whether the file holds a CRC32C of each block of its bytes.
    column_options
        Encoding options by column, a dotted path that includes all leaves below it. Names are those of `EncodeOptions`:
        ``codec``, ``layout``, ``compression`` ... They override the field's ``lance-encoding:*`` metadata.
    allow_private_encodings
        Whether codecs outside the format may be used. Other readers cannot open such a file.
    page_bytes
        Bytes of a column, before encoding, that make a page.
    """

    file_version: str = "2.2"
    preset: Preset = "default"
    rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE
    checksums: bool = True
    column_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    allow_private_encodings: bool = False
    page_bytes: int = DEFAULT_PAGE_BYTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_version", _ALIASES.get(self.file_version, self.file_version))
        object.__setattr__(self, "column_options", {name: dict(one) for name, one in self.column_options.items()})
        if self.file_version not in [str(one) for one in _WRITABLE]:
            raise InvalidArgumentError(
                f"file_version is {self.file_version!r}, expected {', '.join(map(str, _WRITABLE))}",
                detail=self.file_version,
            )
        EncodeOptions(preset=self.preset)
        for name, low in (("rows_per_zone", 0), ("page_bytes", 1)):
            value = getattr(self, name)
            if name == "rows_per_zone" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise InvalidArgumentError(f"{name} is {value!r}, expected an integer, at least {low}", detail=value)
        for name in ("checksums", "allow_private_encodings"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}, expected True or False")

    @property
    def version(self) -> FileVersion:
        """The version as the container knows it."""
        return FileVersion(self.file_version)

    @property
    def zone_rows(self) -> int:
        """Rows per zone, 0 for no zone maps."""
        return self.rows_per_zone or 0

    def __hash__(self) -> int:
        return hash((self.file_version, self.preset, self.zone_rows, self.checksums, self.page_bytes))

    def __repr__(self) -> str:
        plain = WriteOptions()
        given = [
            f"{one.name}={value!r}"
            for one in fields(self)
            if (value := getattr(self, one.name)) != getattr(plain, one.name)
        ]
        return f"WriteOptions({', '.join(given)})"

    def check_columns(self, schema: pa.Schema) -> None:
        """Raise `InvalidArgumentError` for options of columns that the schema has not."""
        known = set(_paths(schema))
        for name in self.column_options:
            if name not in known:
                raise InvalidArgumentError(
                    f"column_options names {name!r}, which is not a column of the schema{did_you_mean(name, known)}",
                    column=name,
                )


def _paths(parent: pa.Schema | pa.DataType, above: str = "") -> list[str]:
    paths = []
    fields_ = [parent.field(i) for i in range(len(parent) if isinstance(parent, pa.Schema) else parent.num_fields)]
    for one in fields_:
        path = f"{above}{one.name}"
        paths.append(path)
        type_ = one.type.storage_type if isinstance(one.type, pa.BaseExtensionType) else one.type
        if isinstance(type_, pa.MapType):
            paths.append(f"{path}.entries")
            paths += [f"{path}.entries.{child.name}" for child in (type_.key_field, type_.item_field)]
            for child in (type_.key_field, type_.item_field):
                if child.type.num_fields:
                    paths += _paths(child.type, f"{path}.entries.{child.name}.")
        elif type_.num_fields and not isinstance(type_, pa.DictionaryType):
            paths += _paths(type_, f"{path}.")
    return paths
