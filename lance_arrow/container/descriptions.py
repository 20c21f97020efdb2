"""Descriptions of pages and columns: where their bytes are, and which message they are; never what they say.

Source: lance.file.v2.Encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import CorruptFileError, located
from lance_arrow.proto import file_v2_pb2
from lance_arrow.proto.reading import set_case, unpack_any
from lance_arrow.settings import Limits


@dataclass(frozen=True, slots=True)
class Description:
    """A message, unopened.

    Parameters
    ----------
    message
        Full name of its type.
    value
        Its bytes.
    distribution
        What to install to read it: the authority of the type URL, empty for the format's own messages.
    """

    message: str
    value: bytes = field(repr=False)
    distribution: str = ""


class DescriptionReader:
    """Finds the descriptions of one file; equal ones come out as one object, so that caches find them fast.

    Parameters
    ----------
    metadata
        Bytes of the file, for descriptions stored apart.
    limits
        `max_description_bytes` holds for each.
    """

    def __init__(self, metadata: MetadataBytes, limits: Limits) -> None:
        self._metadata = metadata
        self._limits = limits
        self._known: dict[bytes, Description] = {}

    def read(self, encodings: Sequence[file_v2_pb2.Encoding], *, first_page: int | None) -> list[Description]:
        """Return the description behind each encoding.

        Parameters
        ----------
        encodings
            Of consecutive pages, or of a column.
        first_page
            Number of the first page, for messages; None for a column.

        Raises
        ------
        CorruptFileError
            There is none, it lies outside the file, or its bytes name no type.
        ResourceLimitError
            It is larger than `Limits.max_description_bytes`.
        """
        cases = [set_case(encoding) for encoding in encodings]
        apart: list[tuple[int, int]] = []
        for number, (encoding, case) in enumerate(zip(encodings, cases, strict=True)):
            page = None if first_page is None else first_page + number
            if case == "indirect":
                apart.append(self._place(encoding.indirect, page))
            elif case != "direct":
                what = "a column" if page is None else "a page"
                raise CorruptFileError(f"{what} has no description (its case is {case})", page=page)
        fetched = iter(self._metadata.read(apart) if apart else ())
        found = []
        for number, (encoding, case) in enumerate(zip(encodings, cases, strict=True)):
            data = encoding.direct.encoding if case == "direct" else next(fetched).tobytes()
            with located(page=None if first_page is None else first_page + number):
                found.append(self._opened(data))
        return found

    def _place(self, indirect: file_v2_pb2.DeferredEncoding, page: int | None) -> tuple[int, int]:
        start, size = indirect.buffer_location, indirect.buffer_length
        if start > self._metadata.file_size or size > self._metadata.file_size - start:
            raise CorruptFileError(
                f"a description of {size} bytes lies at {start}, but the file has {self._metadata.file_size}", page=page
            )
        self._limits.check("max_description_bytes", size)
        return start, start + size

    def _opened(self, data: bytes) -> Description:
        known = self._known.get(data)
        if known is None:
            self._limits.check("max_description_bytes", len(data))
            known = self._known[data] = Description(*unpack_any(data))
        return known
