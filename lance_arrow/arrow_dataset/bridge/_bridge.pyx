# distutils: language = c++
# cython: language_level=3, binding=True, embedsignature=False
"""The native file format, its fragments, and the callbacks through which C++ asks Python.

Import it through `lance_arrow.arrow_dataset.bridge.loading` only: pyarrow's libraries must be loaded before.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as c_bool
from libcpp.memory cimport weak_ptr
from libcpp.string cimport string as c_string
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pyarrow.includes.common cimport *
from pyarrow.includes.libarrow cimport *
from pyarrow.includes.libarrow_dataset cimport *
from pyarrow.includes.libarrow_fs cimport *
from pyarrow.lib cimport (
    Buffer, MemoryPool, NativeFile, RecordBatch, Schema, box_memory_pool, maybe_unbox_memory_pool,
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

from lance_arrow.arrow_dataset.handler_protocol import FILE_PRUNER, ScanRequest
from lance_arrow.arrow_dataset.places import buffer_place, file_place, resolve
from lance_arrow.arrow_dataset.rebuilding import rebuild_format, rebuild_fragment, rebuild_write_options
from lance_arrow.errors import InternalError, InvalidArgumentError


# --- what C++ calls -------------------------------------------------------------------------------------------------

cdef object _place(const CFileSource& source, object payload, object following=None):
    cdef shared_ptr[CBuffer] buffer
    if source.filesystem().get() != NULL:
        size = SourceSize(source)
        return file_place(
            source.path().decode(), FileSystem.wrap(source.filesystem()), size if size >= 0 else None, payload,
            following)
    with nogil:
        buffer = GetResultValue(SourceBuffer(source))
    return buffer_place(pyarrow_wrap_buffer(buffer), payload)


cdef object _adopt(object handler, const CFileSource& source):
    return handler.adopt(_place(source, None))


cdef int _inspect(object handler, const CFileSource& source, object payload, shared_ptr[CSchema]* schema) except -1:
    answer = handler.inspect(_place(source, payload))
    if not isinstance(answer, Schema):
        raise InternalError(f"inspecting gave {type(answer).__name__}, not a schema")
    schema[0] = pyarrow_unwrap_schema(answer)
    return 0


cdef int _supports(object handler, const CFileSource& source) except -1:
    return 1 if handler.supports(_place(source, None)) else 0


cdef class _Asked:
    """What the files of a scan are asked: one request for all whose guarantees leave the same of its filter."""

    cdef weak_ptr[ScanOptions] scan
    cdef c_bool with_columns
    cdef CExpression filter
    cdef object request


cdef c_bool _is_going_on(_Asked known):
    return known.scan.lock().get() != NULL


cdef int _MOST_ASKED = 8
cdef list _asked = []


cdef object _request(const shared_ptr[ScanOptions]& options, const CExpression& filter, c_bool with_columns):
    cdef const ScanOptions* wanted = options.get()
    cdef _Asked known
    for known in reversed(_asked):
        if known.scan.lock().get() == wanted and known.with_columns == with_columns and known.filter.Equals(filter):
            return known.request
    columns = tuple([path.decode() for path in ColumnPaths(wanted[0])]) if with_columns else ()
    known = _Asked.__new__(_Asked)
    known.scan = weak_ptr[ScanOptions](options)
    known.with_columns = with_columns
    known.filter = filter
    known.request = ScanRequest(
        columns=columns,
        filter=Expression.wrap(filter),
        batch_size=wanted.batch_size,
        batch_readahead=wanted.batch_readahead,
        use_threads=wanted.use_threads,
        memory_pool=box_memory_pool(wanted.pool),
        dataset_schema=pyarrow_wrap_schema(wanted.dataset_schema),
        options=BridgeScanOptionsOf(wanted[0]),
    )
    # Nobody will ask again what scans wanted that are over.
    _asked[:] = [one for one in _asked if _is_going_on(one)]
    _asked.append(known)
    if len(_asked) > _MOST_ASKED:
        del _asked[0]
    return known.request


cdef class _FilesAfter:
    """See `FilePlace.following`."""

    cdef shared_ptr[CFileFragment] file

    def __call__(self, int64_t most):
        cdef CDatasetFiles found = FilesAfter(self.file, most)
        return [path.decode() for path in found.paths], list(found.sizes)


cdef object _plan(object handler, const shared_ptr[CFileFragment]& file, object payload,
                  const shared_ptr[ScanOptions]& options, const CExpression& filter, int64_t* num_tasks):
    cdef _FilesAfter following = None
    request = _request(options, filter, True)
    # What was read ahead may be kept for a while when a scan is given up: not in a pool that might be gone by then.
    if payload is None and options.get().pool == c_default_memory_pool():
        following = _FilesAfter.__new__(_FilesAfter)
        following.file = file
    tasks = handler.plan(_place(file.get().source(), payload, following), request)
    num_tasks[0] = len(tasks)
    _keep_file_pruner(options, filter, request)
    return tasks


cdef int _keep_file_pruner(const shared_ptr[ScanOptions]& options, const CExpression& filter, request) except -1:
    """Let the other files of a scan pass the file pruner that the handler made of its request, if any."""
    pruner = request.kept.get(FILE_PRUNER)
    if pruner is not None:
        KeepFilePruner(options, filter, pruner.pointer)
    return 0


cdef int _run(object tasks, int64_t index, int64_t batch_size, vector[shared_ptr[CRecordBatch]]* batches) except -1:
    for batch in tasks.run(index):
        if not isinstance(batch, RecordBatch):
            raise InternalError(f"scan task {index} returned {type(batch).__name__}, not a record batch")
        # Not cut here: Arrow computes wrongly on slices of some nested types.
        if batch.num_rows > batch_size:
            raise InternalError(f"scan task {index} returned a batch of {batch.num_rows} rows, above {batch_size}")
        batches.push_back(pyarrow_unwrap_batch(batch))
    return 0


cdef int _count_rows(object handler, const CFileSource& source, object payload,
                     const shared_ptr[ScanOptions]& options, const CExpression& filter,
                     int64_t* num_rows) except -1:
    request = _request(options, filter, False)
    answer = handler.count_rows(_place(source, payload), request)
    _keep_file_pruner(options, filter, request)
    if answer is None:
        return 0
    num_rows[0] = answer
    return 1


cdef object _make_writer(object handler, object options, const shared_ptr[COutputStream]& destination,
                         const shared_ptr[CSchema]& schema, const c_string& path):
    cdef NativeFile stream = NativeFile()
    stream.set_output_stream(destination)
    stream.is_writable = True
    return handler.make_writer(stream, pyarrow_wrap_schema(schema), options, path.decode())


cdef int _write(object writer, const shared_ptr[CRecordBatch]& batch) except -1:
    writer.write(pyarrow_wrap_batch(batch))
    return 0


cdef int _finish(object writer) except -1:
    writer.finish()
    return 0


cdef Callbacks _callbacks
_callbacks.adopt = _adopt
_callbacks.inspect = _inspect
_callbacks.supports = _supports
_callbacks.plan = _plan
_callbacks.run = _run
_callbacks.count_rows = _count_rows
_callbacks.make_writer = _make_writer
_callbacks.write = _write
_callbacks.finish = _finish
Install(_callbacks)


def close_exit_gate(double timeout_seconds):
    """Let no thread of ours into Python any more, and wait for those inside; False if some stayed."""
    cdef c_bool is_empty
    with nogil:
        is_empty = CloseExitGate(timeout_seconds)
    return is_empty


# --- what Python sees -----------------------------------------------------------------------------------------------

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
    """How `pyarrow.dataset.write_dataset` writes Lance files."""

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
        return <object> self.bridge_fragment.payload().get().get()

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


cdef int _DEEPEST = 100


cdef object _options(const CExpression& node):
    cdef const CLookup* lookup = LookupOf(node)
    cdef const CMatch* match = MatchOf(node)
    cdef const CNulls* nulls = NullsOf(node)
    if lookup != NULL:
        return wrap_datum(lookup.value_set), NullMatching(lookup[0])
    if match != NULL:
        return match.pattern, match.ignore_case
    if nulls != NULL:
        return nulls.nan_is_null
    return None


cdef void _chain(const CExpression& node, const c_string& function, vector[const CExpression*]& links):
    """Gather the arguments of nested calls of one associative function, however deep, in order."""
    cdef vector[const CExpression*] waiting
    cdef const CExpression* top
    cdef size_t count
    waiting.push_back(&node)
    while not waiting.empty():
        top = waiting.back()
        waiting.pop_back()
        if KindOf(top[0]) == 2 and FunctionOf(top[0]) == function:
            count = ArgumentsOf(top[0]).size()
            while count > 0:
                count -= 1
                waiting.push_back(&ArgumentsOf(top[0])[count])
        else:
            links.push_back(top)


cdef object _tree(const CExpression& node, Schema schema, int depth):
    cdef vector[const CExpression*] links
    cdef size_t i
    cdef int kind = KindOf(node)
    cdef vector[int] indices
    type_ = pyarrow_wrap_data_type(TypeOf(node))
    if kind == 0:
        return "literal", wrap_datum(LiteralOf(node)), type_
    if kind == 1:
        indices = IndicesOf(node)
        if indices.empty():
            return "call", "", (), None, type_
        names, inner = [schema.field(indices[0]).name], schema.field(indices[0]).type
        for i in range(1, indices.size()):
            names.append(inner.field(indices[i]).name)
            inner = inner.field(indices[i]).type
        return "field", tuple(names), type_
    name = FunctionOf(node).decode()
    if depth >= _DEEPEST:
        return "call", "", (), None, type_
    if name in ("and_kleene", "or_kleene"):
        _chain(node, FunctionOf(node), links)
    else:
        for i in range(ArgumentsOf(node).size()):
            links.push_back(&ArgumentsOf(node)[i])
    arguments = tuple([_tree(links[i][0], schema, depth + 1) for i in range(links.size())])
    return "call", name, arguments, _options(node), type_


def expression_tree(Expression expression not None, Schema schema not None):
    cdef CExpression bound = GetResultValue(expression.unwrap().Bind(pyarrow_unwrap_schema(schema).get()[0]))
    return _tree(bound, schema, 0)


def bind(Expression expression not None, Schema schema not None):
    """Bind an expression, with casts where the types of its arguments differ; constants are folded."""
    return Expression.wrap(GetResultValue(BindFolded(expression.unwrap(), pyarrow_unwrap_schema(schema).get()[0])))


def mentioned_columns(Expression bound not None, Schema schema not None):
    """Return the columns that an expression mentions, escaped as `ScanRequest.columns` are."""
    paths = MentionedPaths(bound.unwrap(), pyarrow_unwrap_schema(schema).get()[0])
    return tuple([path.decode() for path in paths])


def evaluate(Expression bound not None, Schema schema not None, RecordBatch batch not None, MemoryPool pool=None):
    """Return what an expression, bound to `schema`, gives for each row; columns that the batch lacks are null."""
    cdef CExpression expression = bound.unwrap()
    cdef shared_ptr[CSchema] full = pyarrow_unwrap_schema(schema)
    cdef shared_ptr[CRecordBatch] rows = pyarrow_unwrap_batch(batch)
    cdef CMemoryPool* native_pool = maybe_unbox_memory_pool(pool)
    cdef shared_ptr[CArray] found
    with nogil:
        found = GetResultValue(Evaluate(expression, full.get()[0], rows, native_pool))
    return pyarrow_wrap_array(found)
