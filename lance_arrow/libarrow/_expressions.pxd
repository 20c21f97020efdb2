# What `_expressions.pyx` uses of the header beside it.
from libcpp cimport bool as c_bool
from libcpp.string cimport string as c_string
from libcpp.vector cimport vector
from pyarrow.includes.common cimport *
from pyarrow.includes.libarrow cimport *

cdef extern from "libarrow/expressions.hpp" namespace "lance_arrow":
    cdef cppclass CLookup "arrow::compute::SetLookupOptions":
        CDatum value_set

    cdef cppclass CMatch "arrow::compute::MatchSubstringOptions":
        c_string pattern
        c_bool ignore_case

    cdef cppclass CNulls "arrow::compute::NullOptions":
        c_bool nan_is_null

    int KindOf(const CExpression&)
    const CDatum& LiteralOf(const CExpression&)
    vector[int] IndicesOf(const CExpression&)
    const c_string& FunctionOf(const CExpression&)
    const vector[CExpression]& ArgumentsOf(const CExpression&)
    shared_ptr[CDataType] TypeOf(const CExpression&)
    const CLookup* LookupOf(const CExpression&)
    const CMatch* MatchOf(const CExpression&)
    const CNulls* NullsOf(const CExpression&)
    int NullMatching(const CLookup&)
    vector[c_string] MentionedPaths(const CExpression&, const CSchema&)
    CResult[CExpression] BindFolded(const CExpression&, const CSchema&)
    CResult[shared_ptr[CArray]] Evaluate(const CExpression&, const CSchema&, const shared_ptr[CRecordBatch]&,
                                         CMemoryPool*) nogil
