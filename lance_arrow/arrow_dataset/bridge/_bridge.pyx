# distutils: language = c++
# cython: language_level=3, binding=True, embedsignature=False
"""The native file format, its fragments, and the callbacks through which C++ asks Python.

Import it through `lance_arrow.arrow_dataset.bridge.loading` only: pyarrow's libraries must be loaded before.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as c_bool
from libcpp.memory cimport make_shared, shared_ptr, weak_ptr
from libcpp.optional cimport optional
from libcpp.string cimport string as c_string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pyarrow.includes.common cimport *
from pyarrow.includes.libarrow cimport *
from pyarrow.includes.libarrow_dataset cimport *
from pyarrow.includes.libarrow_fs cimport *
from pyarrow.lib cimport (
    Buffer, MemoryPool, NativeFile, RecordBatch, Schema, box_memory_pool, check_status, maybe_unbox_memory_pool,
    pyarrow_unwrap_batch, pyarrow_unwrap_schema, pyarrow_wrap_array, pyarrow_wrap_batch, pyarrow_wrap_buffer,
    pyarrow_wrap_data_type, pyarrow_wrap_schema, wrap_datum,
)
from pyarrow._compute cimport Expression
from pyarrow._dataset cimport (
    Dataset, FileFormat, FileFragment, FileWriteOptions, Fragment, FragmentScanOptions, Scanner,
    _make_file_source,
)
from pyarrow._fs cimport FileSystem

import pyarrow.compute

from lance_arrow.arrow_dataset.handler_protocol import (
    COUNTED_BY_SCAN, FILE_PRUNER, READ_AHEAD, ScanRequest, SharedPayload,
)
from lance_arrow.arrow_dataset.places import buffer_place, file_place, resolve
from lance_arrow.arrow_dataset.rebuilding import rebuild_format, rebuild_fragment, rebuild_write_options
from lance_arrow.errors import InternalError, InvalidArgumentError

include "callbacks.pxi"


cdef void _drop_allocator(object capsule) noexcept:
    cdef CAllocator* held = <CAllocator*>PyCapsule_GetPointer(capsule, "lance_arrow.Allocator")
    del held


def allocator_of(pool):
    """Return the allocator of a pool, for `lance_arrow.engine.use_pools`."""
    cdef CAllocator* made = new CAllocator(AllocatorOf(maybe_unbox_memory_pool(pool)))
    return PyCapsule_New(made, "lance_arrow.Allocator", _drop_allocator)


def open_sized(FileSystem filesystem not None, str path not None, int64_t size_bytes):
    """Open a file of known size for reading; pyarrow's own call asks the store for the size first."""
    cdef CFileInfo info
    info.set_path(path.encode())
    info.set_type(CFileType_File)
    info.set_size(size_bytes)
    cdef shared_ptr[CFileSystem] native = filesystem.unwrap()
    cdef shared_ptr[CRandomAccessFile] opened
    with nogil:
        opened = GetResultValue(OpenInputFile(native, info))
    cdef NativeFile shown = NativeFile()
    shown.set_random_access_file(opened)
    shown.is_readable = True
    return shown


cdef class BridgeFormat(FileFormat):
    """A file format whose files are read by a `ScanHandler`; equal to another of the same class and equal handler."""

    cdef readonly object handler

    def __init__(self, handler):
        self.init(MakeBridgeFormat(handler, type(self)))

    cdef void init(self, const shared_ptr[CFileFormat]& sp):
        FileFormat.init(self, sp)
        self.handler = <object> AsBridgeFormat(sp.get()).handler()

    @classmethod
    def from_handler(cls, handler):
        cdef BridgeFormat made = cls.__new__(cls)
        made.init(MakeBridgeFormat(handler, cls))
        return made

    def equals(self, other):
        return type(self) is type(other) and self.handler == other.handler

    def __eq__(self, other):
        return self.equals(other) if isinstance(other, BridgeFormat) else NotImplemented

    def __hash__(self):
        return hash((type(self), self.handler))

    def __repr__(self):
        return f"{type(self).__name__}({self.handler!r})"

    def __reduce__(self):
        return rebuild_format, (type(self), self.handler)

    @property
    def type_name(self):
        return self.format.type_name().decode()

    @property
    def default_extname(self):
        return "lance"

    @property
    def default_fragment_scan_options(self):
        return None

    def inspect(self, file, filesystem=None):
        file, filesystem = resolve(file, filesystem)
        return FileFormat.inspect(self, file, filesystem)

    def make_fragment(self, file, filesystem=None, Expression partition_expression=None, *, file_size=None,
                      Schema physical_schema=None, payload=None):
        cdef BridgeFragment fragment = _fragment_class.__new__(_fragment_class)
        if partition_expression is None:
            partition_expression = pyarrow.compute.scalar(True)
        file, filesystem = resolve(file, filesystem)
        fragment.init(GetResultValue(MakeBridgeFragment(
            self.format, _make_file_source(file, filesystem, file_size), partition_expression.unwrap(),
            pyarrow_unwrap_schema(physical_schema), payload)))
        return fragment

    def make_write_options(self):
        return self.write_options(None)

    def write_options(self, options):
        cdef LanceWriteOptions made = LanceWriteOptions.__new__(LanceWriteOptions)
        made.init(MakeBridgeWriteOptions(self.wrapped, options))
        return made


cdef class LanceWriteOptions(FileWriteOptions):
    """How `pyarrow.dataset.write_dataset` writes Lance files.

    Examples
    --------
    >>> options = lance_arrow.LanceFormat().make_write_options(rows_per_zone=1000)
    >>> options == lance_arrow.LanceFormat().make_write_options()
    False
    """

    @property
    def format(self):
        return _wrap_format(self.c_options.format())

    @property
    def options(self):
        return BridgeOptionsOf(self.c_options)

    def __eq__(self, other):
        if not isinstance(other, LanceWriteOptions):
            return NotImplemented
        return self.format == other.format and self.options == other.options

    def __hash__(self):
        return hash((self.format, self.options))

    def __repr__(self):
        return f"LanceWriteOptions({self.options!r})"

    def __reduce__(self):
        return rebuild_write_options, (self.format, self.options)


cdef object _wrap_format(const shared_ptr[CFileFormat]& sp):
    cdef const CBridgeFormat* native = AsBridgeFormat(sp.get())
    if native == NULL:
        return None
    cls = <object> native.python_class()
    cdef BridgeFormat shown = cls.__new__(cls)
    shown.init(sp)
    return shown


cdef object _fragment_class = None


def show_fragments_as(cls):
    """Have all fragments shown as a Python class, which is derived from `BridgeFragment`."""
    global _fragment_class
    _fragment_class = cls


cdef class BridgeFragment(FileFragment):
    """One file of a dataset."""

    cdef CBridgeFragment* bridge_fragment

    cdef void init(self, const shared_ptr[CFragment]& sp):
        FileFragment.init(self, sp)
        self.bridge_fragment = AsBridgeFragment(sp.get())

    @classmethod
    def from_fragment(cls, Fragment fragment not None):
        cdef BridgeFragment shown
        if AsBridgeFragment(fragment.fragment) == NULL:
            raise InvalidArgumentError(f"not a fragment of Lance format: {fragment!r}")
        shown = cls.__new__(cls)
        shown.init(fragment.wrapped)
        return shown

    @property
    def format(self):
        return _wrap_format(self.file_fragment.format())

    @property
    def payload(self):
        return _payload(self.file_fragment.source(), <object> self.bridge_fragment.payload().get().get())

    @property
    def place(self):
        return _place(self.file_fragment.source(), self.payload)

    @property
    def file_size(self):
        size = SourceSize(self.file_fragment.source())
        return size if size >= 0 else None

    def __reduce__(self):
        cdef shared_ptr[CSchema] known = self.bridge_fragment.known_physical_schema()
        schema = pyarrow_wrap_schema(known) if known.get() != NULL else None
        file = _place(self.file_fragment.source(), None).buffer if self.filesystem is None else self.path
        size = None if self.filesystem is None else self.file_size
        return rebuild_fragment, (
            self.format, file, self.filesystem, self.partition_expression, (size, schema, self.payload))


cdef class BridgeScanOptions(FragmentScanOptions):
    """Options of one scan, for the handler's eyes only."""

    cdef readonly object options

    def __init__(self, options):
        self.init(MakeBridgeScanOptions(options))
        self.options = options


def dataset_of(cls, BridgeFormat file_format not None, Schema schema not None, FileSystem filesystem not None,
               list paths not None, list sizes not None, list payloads not None):
    """Make a dataset, shown as a Python class, of files whose fragments all have its schema and a payload.

    `sizes` are those of the files in bytes, -1 for an unknown one.
    """
    cdef vector[shared_ptr[CFileFragment]] fragments
    cdef shared_ptr[CSchema] shared = pyarrow_unwrap_schema(schema)
    cdef shared_ptr[CFileSystem] native = filesystem.unwrap()
    cdef Expression true = pyarrow.compute.scalar(True)
    cdef CExpression everything = true.unwrap()
    cdef Dataset shown = cls.__new__(cls)
    fragments.reserve(len(paths))
    for path, size, payload in zip(paths, sizes, payloads, strict=True):
        fragments.push_back(GetResultValue(MakeKnownFragment(
            file_format.format, path.encode(), size, native, everything, shared, payload)))
    shown.init(GetResultValue(CFileSystemDataset.Make(
        shared, everything, file_format.unwrap(), native, move(fragments))))
    return shown


def is_lance_fragment(Fragment fragment not None):
    return AsBridgeFragment(fragment.fragment) != NULL


def format_of(Dataset dataset not None):
    """Return the format of a dataset of files when it is ours, else None."""
    cdef CFileSystemDataset* native
    if dataset.dataset.type_name() != b"filesystem":
        return None
    native = <CFileSystemDataset*> dataset.dataset
    return _wrap_format(native.format())


def filesystem_of(Dataset dataset not None):
    """Return the filesystem of a dataset of files; None when the files are buffers (pyarrow's property crashes)."""
    cdef CFileSystemDataset* native
    if dataset.dataset.type_name() != b"filesystem":
        raise InvalidArgumentError(f"not a dataset of files: {dataset!r}")
    native = <CFileSystemDataset*> dataset.dataset
    return FileSystem.wrap(native.filesystem()) if native.filesystem().get() != NULL else None


def files_of(Dataset dataset not None):
    """Return paths, sizes (-1: unknown) and guarantees of the files of a dataset of ours, its filter notwithstanding.

    The third list has the number of each file's guarantee, -1 for a fragment that is not all of a file and nothing
    else; the fourth the guarantees, of which neighbours differ.
    """
    cdef CDatasetFiles found = GetResultValue(FilesOf(dataset.dataset))
    paths = [path.decode() for path in found.paths]
    guarantees = [Expression.wrap(guarantee) for guarantee in found.guarantees]
    return paths, list(found.sizes), list(found.guarantee_of), guarantees


def hold_views(Schema schema not None):
    """Return whether values of some column, at any depth, are views."""
    return HoldViews(pyarrow_unwrap_schema(schema).get().fields())


def show_as(cls, Dataset dataset not None):
    """Show a native dataset as another Python class, with its scan options (the filter of `Dataset.filter`)."""
    cdef Dataset shown = cls.__new__(cls)
    shown.init(dataset.wrapped)
    shown._scan_options = dict(dataset._scan_options)
    return shown


def show_scanner_as(cls, Scanner scanner not None):
    """Show a native scanner as a Python class, which is derived from `pyarrow.dataset.Scanner`."""
    cdef Scanner shown = cls.__new__(cls)
    shown.init(scanner.unwrap())
    return shown
