"""Sources of the bytes of blobs: the data file, its sidecars, and, only if allowed, external addresses.

    data/x.lance                                             the data file
    data/x/01000000000000000000000000000000.blob             its sidecar of blob id 2: bits of the id, lowest first

A sidecar's name is made of a number alone, so no file can send its reader into another folder.
"""

from __future__ import annotations

import posixpath
import time
from collections import OrderedDict
from threading import Lock

from lance_arrow.errors import InvalidArgumentError, MissingFileError, UnsupportedError
from lance_arrow.io import Location, MeteredSource, RangeSource, open_source, redact, resolve

_MAX_OPEN = 64


class _CountedWith(MeteredSource):
    """A source whose reads count as those of the data file, so that receipts tell of them."""

    def __init__(self, inner: RangeSource, total: MeteredSource) -> None:
        super().__init__(inner)
        self._total = total

    def _count(self, begun: float, requests: int, ranges_wanted: int, bytes_wanted: int, bytes_fetched: int) -> None:
        self._total.add(requests, ranges_wanted, bytes_wanted, bytes_fetched, time.perf_counter() - begun)


class BlobSources:
    """Sources of one data file's blobs; opened when first wanted, shared by threads.

    Parameters
    ----------
    file
        The data file.
    place
        Where it is; None for a file in memory, which has no sidecars.
    allow_external
        Whether addresses that the file names may be followed.
    """

    def __init__(self, file: RangeSource, place: Location | None, *, allow_external: bool) -> None:
        self.file = file
        self._place = place
        self._allow_external = allow_external
        self._open: OrderedDict[int | str, RangeSource] = OrderedDict()
        self._lock = Lock()
        self._closed = False

    def sidecar(self, blob_id: int) -> RangeSource:
        """Open the sidecar of a blob id.

        Raises
        ------
        MissingFileError
            It is not there.
        UnsupportedError
            The data file has no place that it could lie beside.
        """
        place = self._place
        if place is None:
            raise UnsupportedError("blobs lie in a file beside this one, which was opened without a path")
        folder = posixpath.splitext(place.path)[0]
        path = posixpath.join(folder, f"{sidecar_name(blob_id)}.blob")
        try:
            return self._opened(blob_id, place.at(path))
        except FileNotFoundError as error:
            raise MissingFileError(f"blobs lie in {path!r}, which does not exist") from error

    def external(self, uri: str) -> RangeSource:
        """Open an address that the file names.

        Raises
        ------
        UnsupportedError
            External blobs are not allowed, or the address is not a URL.
        OSError
            The filesystem fails.
        """
        if not self._allow_external:
            raise UnsupportedError(
                f"a blob lies at the external address {redact(uri)!r}; if the file is trusted, open it with "
                "allow_external_blobs=True",
                detail=redact(uri),
            )
        if "://" not in uri or "::" in uri:
            raise UnsupportedError(f"a blob lies at {redact(uri)!r}, expected a URL", detail=redact(uri))
        return self._opened(uri, resolve(uri))

    def close(self) -> None:
        """Close all sources except the data file, which belongs to the caller."""
        with self._lock:
            self._closed = True
            held = list(self._open.values())
            self._open.clear()
        for source in held:
            source.close()

    def _opened(self, key: int | str, place: Location) -> RangeSource:
        with self._lock:
            if self._closed:
                raise InvalidArgumentError("the file is closed", path=self.file.name)
            found = self._open.get(key)
            if found is not None:
                self._open.move_to_end(key)
                return found
        source = open_source(place)
        if isinstance(self.file, MeteredSource):
            source = _CountedWith(source, self.file)
        with self._lock:
            # A second thread may have been faster; what falls out closes when its last reader lets go of it.
            found = self._open.setdefault(key, source)
            while len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)
        if found is not source:
            source.close()
        return found


def sidecar_name(blob_id: int) -> str:
    """Return the 32 binary digits of a blob id, lowest bit first."""
    return f"{blob_id:032b}"[::-1]
