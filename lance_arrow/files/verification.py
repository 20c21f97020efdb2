"""`verify`: compare every checksum of a file and decode every page; findings are listed, not raised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import NOT_LANCE
from lance_arrow.errors import CorruptPageError, LanceError, ResourceLimitError, UnsupportedError, located
from lance_arrow.files.checksum_audit import ChecksumAudit
from lance_arrow.io import AnyFileSystem, Location, MeteredSource, locate, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.blobs.blob_reader import BlobReader
from lance_arrow.scan.blobs.pending_batch import PendingBatch, only_blobs
from lance_arrow.scan.open_file import row_reader
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import Windows
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut

_MOST_TOGETHER_BYTES = 4 << 20
# Before what pyarrow has to say; the column is named otherwise.
_NOT_OF_INTEREST = re.compile(r"^(In column \d+: )?(Invalid: )?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault of a file, or a part of it that could not be checked.

    Parameters
    ----------
    type
        Name of the error that a reader would raise.
    message
        Description of the fault.
    column, page, byte_range
        Place of the fault: dotted path, number of the page in the column, half-open bytes of the file. None if unknown.
    path
        Path of the file in reports of several files; None in the report of one.
    """

    type: str
    message: str
    column: str | None = None
    page: int | None = None
    byte_range: tuple[int, int] | None = None
    path: str | None = None

    @classmethod
    def of(cls, error: LanceError) -> Finding:
        """Note an error."""
        return cls(
            type=type(error).__name__,
            message=error.message,
            column=error.column,
            page=error.page,
            byte_range=error.byte_range,
        )

    def __str__(self) -> str:
        place = {name: getattr(self, name) for name in ("path", "column", "page", "byte_range")}
        return str(LanceError(self.message, **place))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCounts:
    """Counts of a verification: files, blocks compared with checksums, columns and pages decoded, and rows."""

    blocks: int = 0
    checked_bytes: int = 0
    columns: int = 0
    pages: int = 0
    rows: int = 0
    files: int = 1
    files_without_checksums: int = 0
    deletion_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Result of `verify`.

    Parameters
    ----------
    path
        Path of the file, table or folder, without credentials.
    ok
        Whether everything was checked without a fault: `errors` and `unchecked` are empty.
    has_checksums
        Whether the file has checksums. Without them, only contradictions within the file are found.
    errors
        Faults, each located to its page or block.
    unchecked
        Pages that could not be decoded, without evidence of damage: a plugin is missing, or a limit is exceeded.
    checked
        Counts of files, blocks, pages and rows.
    version
        Version of the table that was verified; None for files.

    Examples
    --------
    >>> report = lance_arrow.verify("flights.lance")
    >>> report.ok, report.has_checksums, report.errors
    (True, True, [])
    """

    path: str
    ok: bool
    has_checksums: bool
    errors: list[Finding]
    unchecked: list[Finding]
    checked: VerifyCounts
    version: int | None = None


def verify(
    source: Any,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    runtime: Runtime | None = None,
) -> VerifyReport:
    """Read a whole file, compare it with its checksums if it has any, and decode every page.

    Parameters
    ----------
    source, filesystem, storage_options, runtime
        As for `LanceFile`.

    Returns
    -------
    VerifyReport
        `ok` is False where something is wrong (`errors`), and where something could not be looked at (`unchecked`).
        A file without checksums is in order when it is consistent in itself.

    Raises
    ------
    CorruptFileError
        This is not a Lance file.
    FileNotFoundError, OSError
        As the filesystem says.
    """
    runtime = runtime if runtime is not None else default_runtime()
    place = locate(source, filesystem=filesystem, storage_options=storage_options)
    with closing(MeteredSource(open_source(source if place is None else place))) as opened:
        return _Verification(opened, place, runtime).run()


class _Verification:
    """One run over one file."""

    def __init__(self, source: MeteredSource, place: Location | None, runtime: Runtime) -> None:
        self._source = source
        self._place = place
        self._runtime = runtime
        self._errors: dict[Finding, None] = {}
        self._unchecked: dict[Finding, None] = {}
        self._num_noted = 0
        self._counts = {"columns": 0, "pages": 0, "rows": 0}

    def run(self) -> VerifyReport:
        limits = self._runtime.settings.limits
        with located(path=self._source.name):
            audit = ChecksumAudit(self._source, limits)
        file: LanceFileReader | None = None
        try:
            # The audit has listed the bytes that contradict their checksums; here, the content is checked.
            file = LanceFileReader(self._source, limits, verify="off")
        except LanceError as error:
            if error.detail == NOT_LANCE and not audit.has_table and not audit.errors:
                raise
            self._note(error)
        if file is not None:
            self._read_metadata(file)
        for fault in audit.run(file):
            self._note(fault)
        if file is not None:
            self._decode(file)
        return VerifyReport(
            path=self._source.name,
            ok=not self._errors and not self._unchecked,
            has_checksums=audit.has_table,
            errors=list(self._errors),
            unchecked=list(self._unchecked),
            checked=VerifyCounts(blocks=audit.num_blocks, checked_bytes=audit.num_bytes, **self._counts),
        )

    def _read_metadata(self, file: LanceFileReader) -> None:
        """Read what describes the columns: blocks are of pages from then on."""
        for column in range(file.footer.num_columns):
            try:
                file.columns([column])
            except LanceError as error:
                self._note(error)

    def _note(self, error: LanceError) -> None:
        self._num_noted += 1
        finding = Finding.of(error)
        held = self._unchecked if isinstance(error, (UnsupportedError, ResourceLimitError)) else self._errors
        known = {(one.column, one.page) for one in self._errors if one.page is not None}
        # A block that contradicts its checksum explains what its page looks like.
        if (finding.column, finding.page) not in known or "checksum" in finding.message:
            held[finding] = None

    def _decode(self, file: LanceFileReader) -> None:
        rows = row_reader(file, self._runtime)
        try:
            roots = rows.roots
        except LanceError as error:
            self._note(error)
            return
        together = self._sound_together(rows, roots)
        with closing(BlobReader(rows, self._place)) as blobs:
            for node in roots:
                if node in together:
                    continue
                noted, pages = self._num_noted, 0
                try:
                    check_expansion([node], rows.num_rows, self._source.size(), self._runtime.settings.limits)
                    pages = self._read_column(rows, blobs, node)
                except LanceError as error:
                    self._note(error)
                if noted == self._num_noted:
                    self._counts["columns"] += len(list(node.leaves()))
                    self._counts["pages"] += pages
        self._counts["rows"] = rows.num_rows

    def _sound_together(self, rows: RowReader, roots: Sequence[ColumnNode]) -> set[ColumnNode]:
        """Decode columns without blobs at once, where all rows are one small window; empty if anything is wrong."""
        nodes = [node for node in roots if not have_blobs([node])]
        try:
            check_expansion(nodes, rows.num_rows, self._source.size(), self._runtime.settings.limits)
            if float(rows.weights(nodes).totals[-1]) > _MOST_TOGETHER_BYTES:
                return set()
            metas = rows.file.columns([leaf.column for node in nodes for leaf in node.leaves()])
            batches, _ = rows.read(nodes, RowRanges.one(0, rows.num_rows))
            for batch in batches:
                batch.validate(full=True)
        except (LanceError, pa.ArrowInvalid):
            # Column by column, it is found and told where.
            return set()
        self._counts["columns"] += len(metas)
        self._counts["pages"] += sum(len(meta.pages) for meta in metas)
        return set(nodes)

    def _read_column(self, rows: RowReader, blobs: BlobReader, node: ColumnNode) -> int:
        """Decode a column, window by window; where one fails, page by page. Returns its pages."""
        metas = rows.file.columns([leaf.column for leaf in node.leaves()])
        settings = self._runtime.settings
        windows = Windows(
            RowRanges.one(0, rows.num_rows), None, weights=rows.weights([node]), max_bytes=settings.window_bytes(2)
        )
        leaves = list(node.leaves())
        borders = np.unique(
            np.concatenate(
                [rows.page_rows(leaf, meta) for leaf, meta in zip(leaves, metas, strict=True)]
                or [np.zeros(1, np.int64)]
            )
        )
        for window in windows:
            try:
                windows.learn(window, self._read(rows, blobs, node, window.rows))
            except LanceError:
                for part in _parts(window.rows, borders):
                    try:
                        self._read(rows, blobs, node, part)
                    except LanceError as error:
                        self._note(error)
        return sum(len(meta.pages) for meta in metas)

    def _read(self, rows: RowReader, blobs: BlobReader, node: ColumnNode, part: RowRanges) -> int:
        batches, _ = rows.read([node], part)
        for batch in batches:
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid as error:
                # The bytes decode to values outside the range of the type: times of day, decimals, text.
                said = _NOT_OF_INTEREST.sub("", str(error))
                raise CorruptPageError(
                    f"values contradict their type: {said}", column=node.path, page=_page_of(rows, node, part)
                ) from error
            if only_blobs([node]):
                # Their bytes mean nothing to us, but they must lie where there are some.
                PendingBatch.of([node], batch, lambda _: blobs)
        return sum(batch.nbytes for batch in batches)


def _page_of(rows: RowReader, node: ColumnNode, part: RowRanges) -> int | None:
    """Number of the page that holds some rows, where the column has one leaf and the rows one page."""
    leaves = list(node.leaves())
    if len(leaves) != 1 or not part.num_rows:
        return None
    (meta,) = rows.file.columns([leaves[0].column])
    ends = rows.page_rows(leaves[0], meta)
    first, last = (int(np.searchsorted(ends, row, "right")) - 1 for row in (part.starts[0], part.stops[-1] - 1))
    return first if first == last else None


def _parts(rows: RowRanges, borders: Sequence[int] | np.ndarray) -> Iterator[RowRanges]:
    """Cut rows at borders."""
    start, stop = int(rows.starts[0]), int(rows.stops[-1])
    inner = [int(border) for border in borders if start < border < stop]
    for first, last in zip([start, *inner], [*inner, stop], strict=True):
        yield cut(rows, first - start, last - start)
