"""`SalvagedFiles`: data files, opened even if the end of one is damaged and can be rebuilt."""

from __future__ import annotations

from collections import OrderedDict

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.errors import LanceError
from lance_arrow.files.salvaging.file_salvage import opened_file
from lance_arrow.io import locate, open_source
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.scan_options import ScanOptions

_MOST_FILES = 16


class SalvagedFiles(OpenFiles):
    """Files of one damaged table.

    Parameters
    ----------
    options
        How files are wanted.
    allow_unchecked
        As for `FileSalvage`.

    Attributes
    ----------
    repaired
        What of the end of each file was rebuilt, by path.
    """

    def __init__(self, options: ReadOptions, *, allow_unchecked: bool) -> None:
        super().__init__(options)
        self._wanted = options
        self._allow_unchecked = allow_unchecked
        self._kept: OrderedDict[str, OpenFile] = OrderedDict()
        # Each column asks for its file again.
        self._refused: dict[str, LanceError] = {}
        self.repaired: dict[str, list[str]] = {}

    def get(self, place: FilePlace, scan_options: ScanOptions | None = None) -> OpenFile:
        """Open the file at `place`, or return it if it is open.

        Raises
        ------
        CorruptFileError, UnsupportedError, InvalidArgumentError
            As `FileSalvage`.
        OSError
            As the filesystem says.
        """
        path = place.path
        if path in self._refused:
            raise self._refused[path]
        held = self._kept.get(path)
        if held is None:
            held = self._kept[path] = self._opened(place)
        self._kept.move_to_end(path)
        while len(self._kept) > _MOST_FILES:
            self._kept.popitem(last=False)
        return held

    def _opened(self, place: FilePlace) -> OpenFile:
        location = locate(place.path, filesystem=place.filesystem)
        runtime = default_runtime()
        source = open_source(place.path if location is None else location)
        try:
            verified, file, repaired = opened_file(source, runtime, allow_unchecked=self._allow_unchecked)
        except LanceError as error:
            source.close()
            self._refused[place.path] = error
            raise
        if repaired:
            self.repaired[source.name] = repaired
        return OpenFile(verified, row_reader(file, runtime, self._wanted), location, sidecars=False)
