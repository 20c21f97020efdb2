"""`ReadOptions`: how a file is read, where callers have a choice."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.choices import Blobs, Dictionaries, Verify, check_choice, names
from lance_arrow.container.file_checks import check_verify
from lance_arrow.errors import InvalidArgumentError

_DICTIONARIES, _BLOBS = names(Dictionaries), names(Blobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How callers want a file.

    Parameters
    ----------
    dictionaries
        ``"keep"``: dictionary columns are dictionary arrays, as the file's schema has them; ``"decode"``: plain values,
        at any depth.
    blobs
        ``"bytes"``: the values, as the logical type. ``"descriptors"``: where they lie, as the file tells.
    allow_external_blobs
        Whether addresses that a file names may be followed.
    allow_external_bases
        Whether base paths that a manifest names may lead out of the folder that holds the table.
    verify
        What is compared with the checksums of a file that has them: ``"touched"``, every block when it is first read;
        ``"full"``, the whole file when it is opened; ``"off"``, nothing.

    Raises
    ------
    InvalidArgumentError
        There is no such choice; it is named.
    """

    dictionaries: Dictionaries = "keep"
    blobs: Blobs = "bytes"
    allow_external_blobs: bool = False
    allow_external_bases: bool = False
    verify: Verify = "touched"

    def __post_init__(self) -> None:
        check_choice("dictionaries", _DICTIONARIES, self.dictionaries)
        check_choice("blobs", _BLOBS, self.blobs)
        check_verify(self.verify)
        for name in ("allow_external_blobs", "allow_external_bases"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}, expected True or False")

    def changed(self) -> dict[str, object]:
        """Return the options that are not the default ones."""
        plain = ReadOptions()
        return {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) != getattr(plain, name)}
