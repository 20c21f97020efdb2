// Fields of a schema, as flat arrays in the order of the message, which is pre-order. Source: lance.file.Schema.
//
// It supports only schemas in the usual form of writers. `container` reads all others, and raises exact errors for
// damaged ones. Whether the names of leaf types are known is checked there, once for each distinct name.
#pragma once

#include <utility>
#include <vector>

#include "engine/tables/wire.hpp"

namespace lance_arrow::engine {

struct SchemaNode {
  enum Flag : int64_t {
    kNullable = 1,
    kHasMetadata = 2,  // or the name of an extension type
    kHasExtension = 4,
    kIsLeaf = 8,
    kIsPacked = 16,
    kIsBlob = 32,
  };

  int64_t message, message_bytes;  // its Field; places count from the start of the schema
  int64_t name, name_bytes;
  int64_t id;
  int64_t parent;  // number of a node, or -1
  int64_t end;  // number of the first node behind those below it
  int64_t type;  // number of the name of its type
  int64_t column;  // physical column, or -1; that of other nodes than leaves is a header of 2.0
  int64_t flags;
};
constexpr int64_t kSchemaFacts = sizeof(SchemaNode) / sizeof(int64_t);

struct SchemaNodes {
  std::vector<SchemaNode> nodes;
  std::vector<Bytes> types;  // distinct names of types
  std::vector<uint8_t> are_leaf_types;  // 1 for types without fields below them
  std::vector<std::pair<Bytes, Bytes>> metadata;  // of the schema as a whole
  int64_t num_columns = 0;

  // Reads the schema of a file of version 2.`minor`; false if it is unusual or damaged.
  bool read(Bytes message, int minor);
};

}  // namespace lance_arrow::engine
