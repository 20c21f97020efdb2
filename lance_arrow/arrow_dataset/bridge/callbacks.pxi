# What C++ calls: each function asks the handler of a format, or a writer, that Python made. A part of `_bridge.pyx`.

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
