// schema_message.hpp: schemas in the usual form, and what is left to the reader in Python.
#include <string>

#include "engine/tables/schema_message.hpp"
#include "support.hpp"

namespace {

using namespace lance_arrow;
using engine::SchemaNode;
using engine::SchemaNodes;

std::string delimited(int number, const std::string& content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) + content;
}

std::string varint(int number, int value) {
  std::string said(1, static_cast<char>(number << 3));
  if (value >= 0) return said + static_cast<char>(value);
  return said + std::string(9, '\xFF') + '\x01';
}

// A Field in a Schema, in the order of its numbers.
std::string field(const std::string& name, int id, int parent, const std::string& type, const std::string& more = "") {
  return delimited(1, delimited(2, name) + varint(3, id) + varint(4, parent) + delimited(5, type) + more);
}

bool takes(const std::string& schema, int minor = 2) { return SchemaNodes().read(schema, minor); }

TEST_CASE("nodes, their ends and columns") {
  const std::string schema =
      field("a", 0, -1, "struct") + field("x", 1, 0, "int8") + field("y", 2, 0, "int8") + field("b", 3, -1, "int64");
  SchemaNodes found;
  REQUIRE(found.read(schema, 2));
  REQUIRE(found.nodes.size() == 4);
  CHECK(found.num_columns == 3);
  CHECK(found.nodes[0].end == 3);
  CHECK(found.nodes[0].column == -1);
  CHECK(found.nodes[2].parent == 0);
  CHECK(found.nodes[2].column == 1);
  CHECK((found.nodes[3].flags & SchemaNode::kIsLeaf) != 0);
  CHECK(found.types.size() == 3);
  CHECK(schema.substr(static_cast<size_t>(found.nodes[3].name), 1) == "b");
  SchemaNodes old;
  REQUIRE(old.read(schema, 0));
  CHECK(old.num_columns == 4);  // structs have a column in 2.0
  CHECK(old.nodes[0].column == 0);
}

TEST_CASE("a packed struct is one column") {
  const std::string packed = delimited(10, delimited(1, "lance-encoding:packed") + delimited(2, "TRUE"));
  const std::string schema = field("a", 0, -1, "struct", packed) + field("x", 1, 0, "int8") + field("y", 2, 0, "int8");
  SchemaNodes found;
  REQUIRE(found.read(schema, 2));
  CHECK(found.num_columns == 1);
  CHECK((found.nodes[0].flags & SchemaNode::kIsPacked) != 0);
  CHECK_FALSE(takes(field("a", 0, -1, "struct", packed + packed)));
}

TEST_CASE("children that do not fit their type") {
  const std::string item = field("item", 1, 0, "int8"), other = field("other", 2, 0, "int8");
  CHECK(takes(field("l", 0, -1, "list") + item));
  CHECK_FALSE(takes(field("l", 0, -1, "list")));
  CHECK_FALSE(takes(field("l", 0, -1, "list") + item + other));
  CHECK_FALSE(takes(field("l", 0, -1, "list.struct") + item));
  CHECK_FALSE(takes(field("l", 0, -1, "int8") + item));
  CHECK_FALSE(takes(field("m", 0, -1, "map") + item));
  const std::string map = field("m", 0, -1, "map") + field("entries", 1, 0, "struct") + field("key", 2, 1, "int8") +
                          field("value", 3, 1, "int8");
  CHECK(takes(map));
  CHECK_FALSE(takes(map, 1));
}

TEST_CASE("fields that repeat, lack or precede their parent") {
  CHECK_FALSE(takes(field("a", 0, -1, "int8") + field("a", 1, -1, "int8")));
  CHECK_FALSE(takes(field("a", 0, -1, "int8") + field("b", 0, -1, "int8")));
  CHECK_FALSE(takes(field("a", 0, 1, "int8") + field("b", 1, -1, "struct")));
  const std::string apart =
      field("a", 0, -1, "struct") + field("b", 1, -1, "struct") + field("x", 2, 0, "int8") + field("y", 3, 1, "int8");
  CHECK_FALSE(takes(apart));
  CHECK_FALSE(takes(field("a\xFF", 0, -1, "int8")));
  CHECK_FALSE(takes(field("a", 0, -1, "int8").substr(0, 7)));
  CHECK_FALSE(takes("\x10\x01"));
}

}  // namespace
