from collections.abc import Mapping, Sequence
from typing import Any, Self

import pyarrow
import pyarrow.compute
from pyarrow.dataset import Dataset, FileFormat, FileFragment, FileWriteOptions, Fragment, FragmentScanOptions, Scanner
from pyarrow.fs import FileSystem

from lance_arrow.arrow_dataset.handler_protocol import ScanHandler
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.scan.file_place import FilePlace, Following

def allocator_of(pool: pyarrow.MemoryPool | None) -> object:
    """Return the allocator of a pool, for `lance_arrow.engine.use_pools`."""

def set_pause_micros(micros: int) -> int: ...
def close_exit_gate(timeout_seconds: float) -> bool:
    """Let no thread of ours into Python any more, and wait for those inside; False if some stayed."""

class FoundFiles:
    """The files of one dataset that belong to one version of a table; see `handler_protocol.FoundFiles`."""

    @property
    def is_used(self) -> bool: ...
    def adopt(self, path: str) -> bool: ...
    def has(self, path: str) -> bool: ...
    def use(self, rows: Mapping[str, int]) -> None: ...

class ReadyRows:
    """Rows of files that a scan has read before it asks for them; see `handler_protocol.ReadyRows`."""

    def begin(self) -> int: ...
    def add(self, paths: Sequence[str], num_rows: Sequence[int], batches: Sequence[pyarrow.RecordBatch]) -> None:
        """Add neighbours.

        Raises
        ------
        pyarrow.ArrowInvalid
            The files have more rows, or fewer, than the batches; no group was begun.
        """

    def is_for(self, following: Following) -> bool: ...
    def take(self, following: Following) -> list[pyarrow.RecordBatch] | None: ...

def open_sized(filesystem: FileSystem, path: str, size_bytes: int) -> pyarrow.NativeFile:
    """Open a file of known size without a request; see `lance_arrow.io.arrow_source.SizedOpen`."""

class BridgeFormat(FileFormat):
    """A file format whose files are read by a `ScanHandler`; equal to another of the same class and equal handler.

    Parameters
    ----------
    handler
        Answers all questions about files. Must not refer to the format itself.
    """

    handler: Any
    def __init__(self, handler: ScanHandler) -> None: ...
    @classmethod
    def from_handler(cls, handler: ScanHandler) -> Self:
        """Make a format, of a class whose constructor may take something else."""

    def equals(self, other: object) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def type_name(self) -> str:
        """``"lance"``."""

    @property
    def default_extname(self) -> str:
        """``"lance"``."""

    @property
    def default_fragment_scan_options(self) -> None:
        """There are none."""

    def inspect(self, file: object, filesystem: object | None = None) -> pyarrow.Schema:
        """Return the schema of a file.

        Parameters
        ----------
        file
            Path, `pyarrow.Buffer`, or open binary file (which is read whole).
        filesystem
            Of a path: pyarrow's or fsspec's; None for a URL or a local path.
        """

    def make_fragment(
        self,
        file: object,
        filesystem: object | None = None,
        partition_expression: pyarrow.compute.Expression | None = None,
        *,
        file_size: int | None = None,
        physical_schema: pyarrow.Schema | None = None,
        payload: object | None = None,
    ) -> LanceFileFragment:
        """Make a fragment of one file, without opening it.

        Parameters
        ----------
        file, filesystem
            As for `inspect`.
        partition_expression
            What is true for every row.
        file_size
            Bytes of the file, if known.
        physical_schema
            Schema of the file, if known: it is then not asked for.
        payload
            Anything picklable, for the handler: it arrives as `FilePlace.payload`.
        """

    def make_write_options(self) -> LanceWriteOptions:
        """Return default options for `pyarrow.dataset.write_dataset`."""

    def write_options(self, options: object) -> LanceWriteOptions:
        """Return options that hold `options`, for the handler's eyes only."""

class LanceWriteOptions(FileWriteOptions):
    """How `pyarrow.dataset.write_dataset` writes Lance files; made by `LanceFormat.make_write_options`, picklable."""

    @property
    def format(self) -> BridgeFormat:
        """The format that made them."""

    @property
    def options(self) -> Any:
        """What they were made with; None for the defaults."""

def show_fragments_as(cls: type[BridgeFragment]) -> None:
    """Have all fragments shown as a Python class, which is derived from `BridgeFragment`."""

class BridgeFragment(FileFragment):
    """One file of a dataset; made by a format, picklable."""

    @classmethod
    def from_fragment(cls, fragment: Fragment) -> Self:
        """Show a fragment, as pyarrow's own datasets yield them, as this class.

        Raises
        ------
        InvalidArgumentError
            It is not of Lance format.
        """

    @property
    def format(self) -> BridgeFormat:
        """The format that made it."""

    @property
    def payload(self) -> Any:
        """What `make_fragment` was given for the handler."""

    @property
    def place(self) -> FilePlace:
        """Where the file is, and what of it the fragment is."""

    @property
    def file_size(self) -> int | None:
        """Bytes of the file, if known without asking."""

class BridgeScanOptions(FragmentScanOptions):
    """Options of one scan, for the handler's eyes only: they arrive as `ScanRequest.options`."""

    options: Any
    def __init__(self, options: object) -> None: ...

def dataset_of(
    cls: type[Dataset],
    file_format: BridgeFormat,
    schema: pyarrow.Schema,
    filesystem: FileSystem,
    paths: list[str],
    sizes: list[int],
    payloads: list[Any],
) -> Any:
    """Make a dataset, shown as a Python class, of files whose fragments all have its schema and a payload.

    `sizes` are those of the files in bytes, -1 for an unknown one.
    """

def is_lance_fragment(fragment: Fragment) -> bool: ...
def format_of(dataset: Dataset) -> Any:
    """Return the format of a dataset of files when it is ours, else None."""

def filesystem_of(dataset: Dataset) -> FileSystem | None:
    """Return the filesystem of a dataset of files; None when the files are buffers (pyarrow's property crashes)."""

def files_of(dataset: Dataset) -> tuple[list[str], list[int], list[int], list[pyarrow.compute.Expression]]:
    """Return paths, sizes (-1: unknown) and guarantees of the files of a dataset of ours, its filter notwithstanding.

    The third list has the number of each file's guarantee, -1 for a fragment that is not all of a file and nothing
    else; the fourth the guarantees, of which neighbours differ.
    """

def show_scanner_as(cls: type[Scanner], scanner: Scanner) -> Any:
    """Show a native scanner as a Python class, which is derived from `pyarrow.dataset.Scanner`."""

def hold_views(schema: pyarrow.Schema) -> bool:
    """Return whether values of some column, at any depth, are views, as `column_tree.holds_views` tells of a type."""

def show_as(cls: type[Dataset], dataset: Dataset) -> Any:
    """Show a native dataset as another Python class, with its scan options (the filter of `Dataset.filter`)."""
