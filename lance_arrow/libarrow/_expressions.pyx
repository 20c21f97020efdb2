# distutils: language = c++
# cython: language_level=3, binding=True, embedsignature=False
"""Expressions: as a tree that Python can read, bound to a schema, evaluated.

Import it through `lance_arrow.libarrow.expressions` only: pyarrow's libraries must be loaded before.
"""

from libcpp cimport bool as c_bool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string as c_string
from libcpp.vector cimport vector
from pyarrow.includes.common cimport *
from pyarrow.includes.libarrow cimport *
from pyarrow.lib cimport (
    MemoryPool, RecordBatch, Schema, maybe_unbox_memory_pool, pyarrow_unwrap_batch, pyarrow_unwrap_schema,
    pyarrow_wrap_array, pyarrow_wrap_data_type, wrap_datum,
)
from pyarrow._compute cimport Expression

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


def operands(Expression bound not None, *, bint of_or=False):
    """Return the parts of a bound expression that are joined by AND, or by OR, in order; itself where none are."""
    cdef vector[const CExpression*] links
    cdef size_t i
    cdef CExpression whole = bound.unwrap()
    # Of a conditional expression, Cython would pass a reference to a string that has ended.
    cdef c_string function = b"and_kleene"
    if of_or:
        function = b"or_kleene"
    _chain(whole, function, links)
    return [Expression.wrap(links[i][0]) for i in range(links.size())]


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
