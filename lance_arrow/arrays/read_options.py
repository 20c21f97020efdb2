"""`ReadOptions`: options of reading a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow.choices import Blobs, Dictionaries, FixedStrings, Json, Verify, check_choice, names
from lance_arrow.container.file_checks import check_verify
from lance_arrow.errors import InvalidArgumentError, did_you_mean

_DICTIONARIES, _BLOBS, _JSON, _STRINGS = names(Dictionaries), names(Blobs), names(Json), names(FixedStrings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of reading a file.

    Parameters
    ----------
    dictionaries
        ``"keep"``: return dictionary columns as dictionary arrays. ``"decode"``: return them as plain values, at any
        depth.
    blobs
        ``"bytes"``: blob columns hold their values. ``"descriptors"``: they hold the places of the values.
    json
        ``"text"``: columns of binary JSON have the type ``arrow.json``. ``"bytes"``: they are ``large_binary``, with
        the bytes as stored.
    allow_external_blobs
        Whether blob values at external addresses are read.
    allow_external_bases
        Whether base paths of a manifest may lie outside of the folder that holds the table.
    read_dictionary
        Dotted paths of columns of strings, or binary values, that are returned as dictionary arrays with 32-bit codes.
        Paths that a file lacks mean nothing.
    strings
        ``"plain"``: return strings and binary values as such. ``"view"``: return them as ``string_view`` and
        ``binary_view``, at any depth, but for those that `read_dictionary` names.
    verify
        When checksums are compared. ``"touched"``: those of a block when it is first read. ``"full"``: all, when the
        file is opened. ``"off"``: never.
    memory_map
        Whether local files are mapped into memory.

    Raises
    ------
    InvalidArgumentError
        An option has an unknown value; the message names both.

    Examples
    --------
    >>> options = lance_arrow.LanceReadOptions(dictionaries="decode")
    >>> lance_arrow.LanceFormat(read_options=options).dictionaries
    'decode'
    """

    dictionaries: Dictionaries = "keep"
    blobs: Blobs = "bytes"
    json: Json = "text"
    allow_external_blobs: bool = False
    allow_external_bases: bool = False
    verify: Verify = "touched"
    read_dictionary: Sequence[str] = ()
    strings: FixedStrings = "plain"
    memory_map: bool = False

    def __post_init__(self) -> None:
        # Every opened dataset makes options: known values cost no call.
        if self.dictionaries not in _DICTIONARIES:
            check_choice("dictionaries", _DICTIONARIES, self.dictionaries)
        if self.blobs not in _BLOBS:
            check_choice("blobs", _BLOBS, self.blobs)
        if self.json not in _JSON:
            check_choice("json", _JSON, self.json)
        if self.strings not in _STRINGS:
            check_choice("strings", _STRINGS, self.strings)
        check_verify(self.verify)
        for name, flag in (
            ("allow_external_blobs", self.allow_external_blobs),
            ("allow_external_bases", self.allow_external_bases),
            ("memory_map", self.memory_map),
        ):
            if flag is not True and flag is not False:
                raise InvalidArgumentError(f"{name} is {flag!r}, expected True or False")
        if self.read_dictionary != ():
            object.__setattr__(self, "read_dictionary", as_paths(self.read_dictionary))

    @property
    def has_forms(self) -> bool:
        """Whether columns of strings come in another form than they are stored in."""
        return bool(self.read_dictionary) or self.strings != "plain"

    def changed(self) -> dict[str, object]:
        """Return the options that are not the default ones."""
        plain = ReadOptions()
        return {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) != getattr(plain, name)}


def as_paths(given: object) -> tuple[str, ...]:
    """Return paths in one order, each once: equal options are shared by caches."""
    if isinstance(given, str) or not isinstance(given, (list, tuple, set, frozenset)):
        raise InvalidArgumentError(f"read_dictionary is {given!r}, expected a list of columns", detail=given)
    if not all(isinstance(path, str) for path in given):
        raise InvalidArgumentError(f"read_dictionary is {given!r}, expected names of columns", detail=given)
    return tuple(sorted(set(given)))


def check_paths(schema: pa.Schema, paths: Collection[str]) -> None:
    """Refuse paths whose first name is no column; raises `InvalidArgumentError`, which names the path."""
    for path in paths:
        if path not in schema.names and path.split(".")[0] not in schema.names:
            raise InvalidArgumentError(
                f"read_dictionary names {path!r}, and there is no such column{did_you_mean(path, schema.names)}",
                column=path,
            )
