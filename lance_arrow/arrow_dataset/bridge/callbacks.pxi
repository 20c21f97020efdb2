# What C++ calls: each function asks the handler of a format, or a writer, that Python made. A part of `_bridge.pyx`.

cdef class FoundFiles:
    """The files of one dataset that belong to one version of a table."""

    cdef shared_ptr[CFoundFiles] native

    def __cinit__(self):
        self.native = make_shared[CFoundFiles]()

    def adopt(self, path):
        return self.native.get().Adopt(path.encode())

    def has(self, path):
        return self.native.get().Has(path.encode())

    def use(self, rows):
        cdef unordered_map[c_string, int64_t] known
        for path, count in rows.items():
            known[path.encode()] = count
        self.native.get().Use(known)

    @property
    def is_used(self):
        return self.native.get().is_used()


cdef object _payload(const CFileSource& source, object payload):
    """Return the payload of one file: one that it shares with others tells which."""
    if not isinstance(payload, SharedPayload):
        return payload
    return payload.at(source.path().decode(), FileSystem.wrap(source.filesystem()))


cdef object _place(const CFileSource& source, object payload, object following=None):
    cdef shared_ptr[CBuffer] buffer
    payload = _payload(source, payload)
    if source.filesystem().get() != NULL:
        size = SourceSize(source)
        return file_place(
            source.path().decode(), FileSystem.wrap(source.filesystem()), size if size >= 0 else None, payload,
            following)
    with nogil:
        buffer = GetResultValue(SourceBuffer(source))
    return buffer_place(pyarrow_wrap_buffer(buffer), payload)


cdef object _adopt(object handler, const CFileSource& source, shared_ptr[CFoundFiles]* files, c_string* folder):
    payload = handler.adopt(_place(source, None))
    if isinstance(payload, SharedPayload):
        name = source.path().decode().rpartition("/")[2]
        whole, slash, whole_name = payload.at(source.path().decode(), FileSystem.wrap(source.filesystem())).path.rpartition("/")
        if name == whole_name:
            folder[0] = (whole + slash).encode()
            files[0] = (<FoundFiles?> payload.found_files).native
    return payload


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

    def __call__(self, int64_t most, int64_t skipped=0):
        cdef CDatasetFiles found = FilesAfter(self.file, skipped, most)
        return [path.decode() for path in found.paths], list(found.sizes)

    def ready_rows(self):
        cdef ReadyRows made = ReadyRows.__new__(ReadyRows)
        made.native = make_shared[CReadyRows](self.file.get()[0])
        return made


cdef class ReadyRows:
    """Rows of files that a scan has read before it asks for them."""

    cdef shared_ptr[CReadyRows] native

    def begin(self):
        return self.native.get().Begin()

    def add(self, paths, num_rows, batches):
        cdef vector[c_string] native_paths
        cdef vector[int64_t] native_rows
        cdef vector[shared_ptr[CRecordBatch]] native_batches
        native_paths.reserve(len(paths))
        for path, count in zip(paths, num_rows, strict=True):
            native_paths.push_back(path.encode())
            native_rows.push_back(count)
        for batch in batches:
            native_batches.push_back(pyarrow_unwrap_batch(batch))
        with nogil:
            check_status(self.native.get().Add(native_paths, native_rows, native_batches))

    def is_for(self, _FilesAfter following not None):
        return self.native.get().IsFor(following.file.get()[0])

    def take(self, _FilesAfter following not None):
        cdef optional[vector[shared_ptr[CRecordBatch]]] found = self.native.get().Take(following.file.get()[0])
        if not found.has_value():
            return None
        return [pyarrow_wrap_batch(batch) for batch in found.value()]


cdef object _place_in_scan(const shared_ptr[CFileFragment]& file, object payload, const ScanOptions* options):
    """Return a place with the files that follow, where these may be read ahead."""
    cdef _FilesAfter following = None
    # What was read ahead may be kept for a while when a scan is given up: not in a pool that might be gone by then.
    if (payload is None or isinstance(payload, SharedPayload)) and options.pool == c_default_memory_pool():
        following = _FilesAfter.__new__(_FilesAfter)
        following.file = file
    return _place(file.get().source(), payload, following)


cdef object _plan(object handler, const shared_ptr[CFileFragment]& file, object payload,
                  const shared_ptr[ScanOptions]& options, const CExpression& filter, int64_t* num_tasks,
                  c_bool* starts_slowly):
    request = _request(options, filter, True)
    tasks = handler.plan(_place_in_scan(file, payload, options.get()), request)
    num_tasks[0] = len(tasks)
    starts_slowly[0] = getattr(tasks, "starts_slowly", False)
    _keep_file_pruner(options, filter, request)
    for ahead in request.kept.get(READ_AHEAD, ()):
        KeepReadingAhead(options, filter, file.get().source(), (<ReadyRows?> ahead.rows).native, ahead.read_next)
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


cdef int _count_rows(object handler, const shared_ptr[CFileFragment]& file, object payload,
                     const shared_ptr[ScanOptions]& options, const CExpression& filter,
                     int64_t* num_rows) except -1:
    request = _request(options, filter, False)
    answer = handler.count_rows(_place_in_scan(file, payload, options.get()), request)
    _keep_file_pruner(options, filter, request)
    if answer is None:
        return 2 if COUNTED_BY_SCAN in request.kept else 0
    num_rows[0] = answer
    return 1


cdef object _make_writer(object handler, object options, const shared_ptr[COutputStream]& destination,
                         const shared_ptr[CSchema]& schema, const c_string& path, int64_t* most_bytes):
    cdef NativeFile stream = NativeFile()
    stream.set_output_stream(destination)
    stream.is_writable = True
    writer = handler.make_writer(stream, pyarrow_wrap_schema(schema), options, path.decode())
    most_bytes[0] = writer.most_bytes
    return writer


cdef list _batches(const vector[shared_ptr[CRecordBatch]]& batches):
    cdef size_t number
    return [pyarrow_wrap_batch(batches[number]) for number in range(batches.size())]


cdef int _write(object writer, const vector[shared_ptr[CRecordBatch]]& batches, int64_t most_bytes,
                int64_t* held_bytes) except -1:
    held_bytes[0] = writer.write(_batches(batches), most_bytes)
    return 0


cdef int _finish(object writer, const vector[shared_ptr[CRecordBatch]]& batches) except -1:
    writer.finish(_batches(batches))
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


def set_pause_micros(int64_t micros):
    """Set how long scans pause after their first rows (see `pace.hpp`), for tests; returns what it was."""
    return SetPauseMicros(micros)
