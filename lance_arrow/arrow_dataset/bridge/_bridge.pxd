# What `_bridge.pyx` uses of the headers beside it, and of Arrow's where pyarrow declares less.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as c_bool
from libcpp.optional cimport optional
from libcpp.string cimport string as c_string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector
from pyarrow.includes.common cimport *
from pyarrow.includes.libarrow cimport *
from pyarrow.includes.libarrow_dataset cimport *
from pyarrow.includes.libarrow_fs cimport *

cdef extern from "arrow/dataset/scanner.h" nogil:
    # Wider than pyarrow's own declaration of the same class.
    cdef cppclass ScanOptions "arrow::dataset::ScanOptions":
        shared_ptr[CSchema] dataset_schema
        CExpression filter
        int64_t batch_size
        int32_t batch_readahead
        c_bool use_threads
        CMemoryPool* pool

cdef extern from "arrow/dataset/file_base.h" nogil:
    int64_t SourceSize "[](const arrow::dataset::FileSource& source) { return source.Size(); }"(const CFileSource&)

cdef extern from "arrow/filesystem/filesystem.h" nogil:
    # pyarrow declares only the overload that takes a path.
    CResult[shared_ptr[CRandomAccessFile]] OpenInputFile "[](auto& files, const auto& info) {return files->OpenInputFile(info);}"(
        const shared_ptr[CFileSystem]&, const CFileInfo&)

cdef extern from "libarrow/pools.hpp" namespace "lance_arrow" nogil:
    cdef cppclass CAllocator "lance_arrow::engine::Allocator":
        CAllocator(const CAllocator&)

    CAllocator AllocatorOf(CMemoryPool*)

cdef extern from "found_files.hpp" namespace "lance_arrow":
    cdef cppclass CFoundFiles "lance_arrow::FoundFiles":
        c_bool Adopt(const c_string& path)
        c_bool Has(const c_string& path) const
        void Use(unordered_map[c_string, int64_t] rows)
        c_bool is_used() const

    cdef cppclass CPayload "lance_arrow::Payload":
        PyObject* get() const

cdef extern from "callbacks.hpp" namespace "lance_arrow":
    cdef struct Callbacks:
        object (*adopt)(object, const CFileSource&, shared_ptr[CFoundFiles]*, c_string*)
        int (*inspect)(object, const CFileSource&, object, shared_ptr[CSchema]*) except -1
        int (*supports)(object, const CFileSource&) except -1
        object (*plan)(object, const shared_ptr[CFileFragment]&, object, const shared_ptr[ScanOptions]&,
                       const CExpression&, int64_t*, c_bool*)
        int (*run)(object, int64_t, int64_t, vector[shared_ptr[CRecordBatch]]*) except -1
        int (*count_rows)(object, const shared_ptr[CFileFragment]&, object, const shared_ptr[ScanOptions]&,
                          const CExpression&, int64_t*) except -1
        object (*make_writer)(object, object, const shared_ptr[COutputStream]&, const shared_ptr[CSchema]&,
                              const c_string&, int64_t*)
        int (*write)(object, const vector[shared_ptr[CRecordBatch]]&, int64_t, int64_t*) except -1
        int (*finish)(object, const vector[shared_ptr[CRecordBatch]]&) except -1

cdef extern from "format.hpp" namespace "lance_arrow":
    cdef cppclass CBridgeFormat "lance_arrow::BridgeFormat"(CFileFormat):
        PyObject* handler() const
        PyObject* python_class() const

    cdef cppclass CBridgeFragment "lance_arrow::BridgeFragment"(CFileFragment):
        const shared_ptr[const CPayload]& payload() const
        shared_ptr[CSchema] known_physical_schema()

    void Install(const Callbacks&)
    c_bool CloseExitGate(double timeout_seconds) nogil
    shared_ptr[CFileFormat] MakeBridgeFormat(object handler, object python_class)
    const CBridgeFormat* AsBridgeFormat(const CFileFormat*)
    CBridgeFragment* AsBridgeFragment(CFragment*)
    CResult[shared_ptr[CFragment]] MakeBridgeFragment(
        CFileFormat*, CFileSource, CExpression, shared_ptr[CSchema], object payload)
    CResult[shared_ptr[CFileFragment]] MakeKnownFragment(
        CFileFormat*, c_string, int64_t, shared_ptr[CFileSystem], CExpression, shared_ptr[CSchema], object payload)
    CResult[shared_ptr[CBuffer]] SourceBuffer(const CFileSource&) nogil
    vector[c_string] ColumnPaths(const ScanOptions&)
    c_bool HoldViews(const vector[shared_ptr[CField]]&)
    object BridgeOptionsOf(const CFileWriteOptions*)
    shared_ptr[CFileWriteOptions] MakeBridgeWriteOptions(shared_ptr[CFileFormat], object options)

cdef extern from "dataset_files.hpp" namespace "lance_arrow":
    cdef cppclass CDatasetFiles "lance_arrow::DatasetFiles":
        vector[c_string] paths
        vector[int64_t] sizes, guarantee_of
        vector[CExpression] guarantees

    CResult[CDatasetFiles] FilesOf(CDataset*)
    CDatasetFiles FilesAfter(const shared_ptr[CFileFragment]&, int64_t skipped, int64_t most)

cdef extern from "file_pruners.hpp" namespace "lance_arrow":
    c_bool KeepFilePruner(const shared_ptr[ScanOptions]&, const CExpression&, object capsule) except False

cdef extern from "pace.hpp" namespace "lance_arrow":
    int64_t SetPauseMicros(int64_t)

cdef extern from "ready_rows.hpp" namespace "lance_arrow":
    cdef cppclass CReadyRows "lance_arrow::ReadyRows":
        CReadyRows(const CFileFragment&)
        c_bool IsFor(const CFileFragment&) const
        int64_t Begin() nogil
        CStatus Add(const vector[c_string]& paths, const vector[int64_t]& num_rows,
                    const vector[shared_ptr[CRecordBatch]]& batches) nogil
        optional[vector[shared_ptr[CRecordBatch]]] Take(const CFileFragment&)

    void KeepReadingAhead(const shared_ptr[ScanOptions]&, const CExpression&, const CFileSource&,
                          const shared_ptr[CReadyRows]&, object read_next)

cdef extern from "scan_options.hpp" namespace "lance_arrow":
    shared_ptr[CFragmentScanOptions] MakeBridgeScanOptions(object options)
    object BridgeScanOptionsOf(const ScanOptions&)
