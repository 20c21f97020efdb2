# Fields of a schema as arrays, without an object for each.

cdef extern from "engine/tables/schema_message.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t kSchemaFacts

    cdef cppclass SchemaNode:
        int64_t name, name_bytes

    cdef cppclass SchemaNodes:
        SchemaNodes()
        vector[SchemaNode] nodes
        vector[string_view] types
        vector[uint8_t] are_leaf_types
        vector[pair[string_view, string_view]] metadata
        int64_t num_columns
        cbool read(string_view, int)


NUM_SCHEMA_FACTS = kSchemaFacts


def read_schema_message(bytes message not None, int minor) -> tuple[Any, ...] | None:
    """Read the fields of a lance.file.Schema in the order of the message, which is pre-order.

    Parameters
    ----------
    message
        The serialized message.
    minor
        Minor version of the file, of version 2.

    Returns
    -------
    tuple or None
        None if the schema is not in the usual form of writers. Otherwise ``(n, NUM_SCHEMA_FACTS) int64``, the members of
        ``SchemaNode`` of each field, and a list of the names of the fields. Then a list of ``(name, is a leaf)`` of the
        distinct types, and the number of physical columns. Last, a list of keys and values: metadata of the schema.
    """
    cdef SchemaNodes found
    cdef int64_t number, count
    cdef const char* data = <const char*>message
    if not found.read(string_view(data, len(message)), minor):
        return None
    count = <int64_t>found.nodes.size()
    facts = numpy.empty((count, kSchemaFacts), numpy.int64)
    cdef int64_t[:, ::1] out = facts
    if count:
        memcpy(&out[0, 0], found.nodes.data(), count * sizeof(SchemaNode))
    facts.flags.writeable = False
    names = [
        data[found.nodes[number].name:found.nodes[number].name + found.nodes[number].name_bytes].decode("utf-8")
        for number in range(count)
    ]
    types = [
        (found.types[number].data()[:found.types[number].size()].decode("utf-8"), found.are_leaf_types[number] != 0)
        for number in range(<int64_t>found.types.size())
    ]
    metadata = [
        (one.first.data()[:one.first.size()], one.second.data()[:one.second.size()]) for one in found.metadata
    ]
    return facts, names, types, found.num_columns, metadata
