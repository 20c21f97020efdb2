"""`OpenFiles`: files that were opened, kept by what identifies their content, least recently used out first."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io import AnyFileSystem, VerifiedSource, is_local, is_plain_file, open_source
from lance_arrow.io.local_source import state_of
from lance_arrow.runtime import computed_once, default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.settings import Limits

if TYPE_CHECKING:
    from lance_arrow.manifests.kept_deletions import KeptDeletions

MOST_OPEN_FILES = 64
_PART_OF_BUDGET = 8
"""Metadata and pages of files that are kept take this part of the memory budget."""
_COLUMN_BYTES = 4 << 10
"""Memory of a column whose metadata was read."""


def stay_open(filesystem: AnyFileSystem | None, num_files: int) -> bool:
    """Return whether so many files of a filesystem are local, and all of them stay open.

    What is learnt of an open file makes later counts, filters and takes faster than reading it in a group.
    """
    return num_files <= MOST_OPEN_FILES and is_local(filesystem)


def is_current(file: OpenFile) -> bool:
    """Whether the content of an open file is still what lies at its place; False where that takes more than a call."""
    known = file.local_state
    if known is None:
        return False
    path, state = known
    return state_of(path) == state


class OpenFiles:
    """A small cache: reopening a file costs its footer and every index that was learnt.

    Each `get` asks a store whether a file has still the content that is held, except within an `operation` that has
    asked already.

    Parameters
    ----------
    options
        How files are wanted.
    """

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self._held: OrderedDict[Hashable, OpenFile] = OrderedDict()
        # At least the columns of the files that are held.
        self._num_columns = 0
        self._most_columns = default_runtime().settings.memory_budget_bytes // (_PART_OF_BUDGET * _COLUMN_BYTES)
        self._lock = Lock()
        # When operations began; and what was asked since the first of them did, by its place, with when it was.
        self._begun: list[float] = []
        self._asked: OrderedDict[Hashable, tuple[float, OpenFile]] = OrderedDict()

    @property
    def limits(self) -> Limits:
        """Limits of what is read."""
        return default_runtime().settings.limits

    @computed_once
    def deletions(self) -> KeptDeletions:
        """Deleted rows of fragments in stores, whose files never change."""
        from lance_arrow.manifests.kept_deletions import KeptDeletions  # noqa: PLC0415 - for tables with deleted rows

        return KeptDeletions()

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Ask what a file's content is no more than once within the block, in any thread.

        So its parts see one content, which was that of the file after the block had begun.
        """
        begun = time.monotonic()
        with self._lock:
            self._begun.append(begun)
        try:
            yield
        finally:
            with self._lock:
                self._begun.remove(begun)
                if not self._begun:
                    self._asked.clear()

    def _asked_before(self, place: Hashable) -> OpenFile | None:
        """Return a file that was asked for since the youngest of all operations began."""
        with self._lock:
            when, file = self._asked.get(place, (0.0, None))
            return file if file is not None and self._begun and when >= max(self._begun) else None

    def _note(self, place: Hashable, when: float, file: OpenFile) -> None:
        with self._lock:
            if self._begun:
                self._asked[place] = when, file
                self._asked.move_to_end(place)
                if len(self._asked) > MOST_OPEN_FILES:
                    self._asked.popitem(last=False)

    def get(self, place: FilePlace, scan_options: ScanOptions | None = None) -> OpenFile:
        """Return the file at `place`, opened now unless the same content is open already, for the same options.

        Raises
        ------
        CorruptFileError, UnsupportedError, OSError
            As `LanceFileReader`.
        """
        what = place.path if place.buffer is None else place.buffer
        location = place.location()
        scan_options = ScanOptions() if scan_options is None else scan_options
        options = self.options if scan_options.verify is None else replace(self.options, verify=scan_options.verify)
        wanted = options.verify, scan_options.sidecars
        # Of a place that one call tells the content of, or that never has another, a file is not opened to find out.
        # The open file holds its filesystem, so that no other one has its number.
        is_plain = location is not None and is_plain_file(location)
        key: Hashable = None
        if location is not None and (is_plain or (place.is_immutable and not location.is_local)):
            filesystem = None if is_plain else id(location.filesystem)
            key = filesystem, location.path, None if is_plain else place.size, *wanted
            held = self._use(key)
            if held is not None and (not is_plain or is_current(held)):
                return held
        # Of others, the store is asked.
        seen: Hashable = None
        if key is None and location is not None:
            seen = id(location.filesystem), location.path, *wanted
            held = self._asked_before(seen)
            if held is not None and place.size in (None, held.source.size()):
                return held
        asked = time.monotonic()
        source = open_source(
            what if location is None else location,
            size_bytes=place.size,
            is_immutable=place.is_immutable,
            memory_map=self.options.memory_map and location is not None,
        )
        identity = source.identity() if key is None else None
        if identity is not None:
            key = identity, *wanted
            held = self._use(key)
            if held is not None:
                source.close()
                self._note(seen, asked, held)
                return held
        runtime = default_runtime()
        verified = VerifiedSource(runtime.keeping(source) if source.coalescing.requests_in_flight else source)
        known = None if source.coalescing.is_far else runtime.tails
        file = LanceFileReader(verified, limits=runtime.settings.limits, verify=options.verify, known=known)
        opened = OpenFile(verified, row_reader(file, runtime, options), location, sidecars=scan_options.sidecars)
        if key is not None:
            with self._lock:
                self._held[key] = opened
                self._num_columns += file.footer.num_columns
                if len(self._held) > MOST_OPEN_FILES or self._num_columns > self._most_columns:
                    self._drop_oldest()
        if identity is not None:
            self._note(seen, asked, opened)
        return opened

    def adopt(self, others: OpenFiles) -> None:
        """Hold what others hold open, shown as these options say: a far file would be asked for its end once more."""
        if (others.options.verify, others.options.memory_map) != (self.options.verify, self.options.memory_map):
            return
        with others._lock:
            held = list(others._held.items())
        with self._lock:
            for key, file in held:
                self._held.setdefault(key, file.seen_with(self.options))
            self._drop_oldest()

    def like(self, schema: pa.Schema) -> OpenFile | None:
        """Return an open file of a schema, its metadata aside, be its content current or not; None if none is held."""
        with self._lock:
            return next((one for one in reversed(self._held.values()) if one.rows.schema.equals(schema)), None)

    def _use(self, key: Hashable) -> OpenFile | None:
        """Return the file that is held for a key, which was used last from now on."""
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
                # Columns become known after their file was opened, and files may be opened long before they are read.
                if self._num_columns > self._most_columns:
                    self._drop_oldest()
            return held

    def _drop_oldest(self) -> None:
        """Drop the files that were used longest ago; they close when the last scan lets go of them."""
        known = sum([one.rows.num_known_columns for one in self._held.values()])
        while len(self._held) > MOST_OPEN_FILES or (len(self._held) > 1 and known > self._most_columns):
            known -= self._held.popitem(last=False)[1].rows.num_known_columns
        self._num_columns = sum([one.rows.file.footer.num_columns for one in self._held.values()])
