"""Buffers of the whole file, by index; number 0 is the file descriptor."""

from __future__ import annotations

from lance_arrow.container.buffer_places import check_places, parse_table, required_alignment
from lance_arrow.container.file_checks import FileChecks
from lance_arrow.container.footer import FileFooter
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import InvalidArgumentError, located
from lance_arrow.io import ByteRange, Bytes


class GlobalBuffers:
    """Access to the global buffers of one file.

    Parameters
    ----------
    metadata
        Bytes of the file.
    footer
        Its footer.
    checks
        Checksums of the file, or None.
    is_sound
        Whether the places of the buffers were checked before; otherwise they are checked now.

    Raises
    ------
    CorruptFileError
        A buffer lies outside the file, or, since 2.1, is not aligned.
    """

    def __init__(
        self, metadata: MetadataBytes, footer: FileFooter, checks: FileChecks | None = None, *, is_sound: bool = False
    ) -> None:
        self._metadata = metadata
        self._footer = footer
        self._checks = checks
        self._places: list[ByteRange] | None = None if is_sound else self._read()

    def _read(self) -> list[ByteRange]:
        footer = self._footer
        (table,) = self._metadata.read([footer.buffer_table])
        entries = parse_table(table)
        with located(byte_range=footer.buffer_table):
            places = check_places(
                entries[:, 0],
                entries[:, 1],
                file_size=footer.file_size,
                what="global buffer",
                alignment_bytes=required_alignment(footer.version),
            )
        starts, stops = places.offsets.tolist(), (places.offsets + places.sizes).tolist()
        return [ByteRange(start, stop) for start, stop in zip(starts, stops, strict=True)]

    def __len__(self) -> int:
        return self._footer.num_global_buffers

    def place(self, index: int) -> ByteRange:
        """Return the place of a buffer in the file.

        Raises
        ------
        InvalidArgumentError
            The buffer does not exist.
        """
        if not 0 <= index < len(self):
            raise InvalidArgumentError(f"there is no global buffer {index}, the file has {len(self)}", detail=index)
        if self._places is None:
            self._places = self._read()
        return self._places[index]

    def read(self, index: int) -> Bytes:
        """Return the bytes of a buffer.

        Raises
        ------
        InvalidArgumentError
            The buffer does not exist.
        CorruptFileError
            Its bytes contradict their checksum.
        ResourceLimitError
            It is larger than `Limits.max_metadata_bytes`.
        """
        place = self.place(index)
        (data,) = self._metadata.read([(place.start, place.stop)])
        if self._checks is not None:
            if index == 0:
                self._checks.descriptor(data, place)
            else:
                self._checks.buffer(data, place, self._metadata)
        return data
