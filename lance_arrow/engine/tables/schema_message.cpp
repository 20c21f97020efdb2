#include "engine/tables/schema_message.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/common/utf8.hpp"

namespace lance_arrow::engine {

namespace {

constexpr int64_t kMostDepth = 63;
constexpr Bytes kPackedKey = "lance-encoding:packed", kOldPackedKey = "packed", kBlobKey = "lance-encoding:blob",
                kExtensionKey = "ARROW:extension:name";

bool is_text(Bytes bytes) {
  return valid_utf8(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
}

bool is_true_word(Bytes word) {
  if (word.size() > 4) return false;
  char lower[4] = {};
  for (size_t at = 0; at < word.size(); ++at)
    lower[at] = word[at] >= 'A' && word[at] <= 'Z' ? static_cast<char>(word[at] + ('a' - 'A')) : word[at];
  const Bytes said(lower, word.size());
  return said == "true" || said == "1" || said == "on" || said == "yes" || said == "y";
}

// Entry of a map<string, bytes>, with each of its fields at most once.
bool read_entry(Bytes message, Bytes* key, Bytes* value) {
  *key = *value = Bytes();
  uint64_t last = 0;
  Fields fields(message);
  while (fields.next()) {
    if (fields.type != Fields::kDelimited || fields.number <= last || fields.number > 2) return false;
    last = fields.number;
    (fields.number == 1 ? *key : *value) = fields.content;
  }
  return fields.is_sound && is_text(*key);
}

// Source: lance.file.Dictionary.
bool is_dictionary(Bytes message) {
  Fields fields(message);
  while (fields.next())
    if (fields.type != Fields::kVarint || fields.number > 2) return false;
  return fields.is_sound;
}

enum class Kind { kLeaf, kStruct, kList, kListOfStructs, kMap, kFixedSizeListOfStructs };

Kind kind_of(Bytes type) {
  if (type == "struct") return Kind::kStruct;
  if (type == "list" || type == "large_list") return Kind::kList;
  if (type == "list.struct" || type == "large_list.struct") return Kind::kListOfStructs;
  if (type == "map") return Kind::kMap;
  return type.starts_with("fixed_size_list:struct:") ? Kind::kFixedSizeListOfStructs : Kind::kLeaf;
}

// What the metadata of a field say about its place in the file.
struct Keys {
  bool packed = false, is_packed = false, old_packed = false, is_old_packed = false, blob = false;
};

// One Field. Source: lance.file.Field.
struct Field {
  Bytes name, type;
  int64_t id = 0, parent_id = 0, flags = 0;
  Keys keys;

  // False if it is unusual: a field twice, out of order, or unknown.
  bool read(Bytes message) {
    uint64_t last = 0;
    Fields fields(message);
    while (fields.next()) {
      if (fields.number < last || (fields.number == last && last != 10)) return false;
      last = fields.number;
      if (!take(fields)) return false;
    }
    return fields.is_sound;
  }

 private:
  bool take(const Fields& fields) {
    const bool is_text_field = fields.number == 2 || fields.number == 5 || fields.number == 9;
    const bool is_delimited = is_text_field || fields.number == 8 || fields.number == 10;
    if (fields.type != (is_delimited ? Fields::kDelimited : Fields::kVarint)) return false;
    if (is_text_field && !is_text(fields.content)) return false;
    switch (fields.number) {
      case 2: name = fields.content; return true;
      case 3: id = static_cast<int32_t>(fields.value); return true;
      case 4: parent_id = static_cast<int32_t>(fields.value); return true;
      case 5: type = fields.content; return true;
      case 6:
        if (fields.value != 0) flags |= SchemaNode::kNullable;
        return true;
      case 9:
        if (!fields.content.empty()) flags |= SchemaNode::kHasMetadata | SchemaNode::kHasExtension;
        return true;
      case 8: return is_dictionary(fields.content);
      case 10: return take_metadata(fields.content);
      case 1:
      case 7:
      case 12:
      case 13:
      case 14:
      case 15: return true;
      default: return false;
    }
  }

  bool take_metadata(Bytes entry) {
    Bytes key, value;
    if (!read_entry(entry, &key, &value)) return false;
    flags |= SchemaNode::kHasMetadata;
    if (key == kExtensionKey) flags |= SchemaNode::kHasExtension;
    bool* known = key == kPackedKey ? &keys.packed : key == kOldPackedKey ? &keys.old_packed : nullptr;
    if (key == kBlobKey) known = &keys.blob;
    if (known == nullptr) return true;
    if (*known) return false;
    *known = true;
    if (key == kPackedKey) keys.is_packed = is_true_word(value);
    if (key == kOldPackedKey) keys.is_old_packed = is_true_word(value);
    return true;
  }
};

// A node whose children are being read.
struct Open {
  int64_t number;
  std::unordered_set<Bytes> names;  // of its children
};

// The walk over all fields.
class Walk {
 public:
  Walk(Bytes schema, int minor, SchemaNodes* out) : schema_(schema), minor_(minor), out_(out) {
    open_.push_back({-1, {}});
  }

  bool add(Bytes message) {
    Field field;
    if (!field.read(message) || field.id < -1 || field.parent_id < -1) return false;
    int64_t parent = -1;
    if (field.parent_id != -1) {
      const auto found = by_id_.find(field.parent_id);
      if (found == by_id_.end()) return false;
      parent = found->second;
    } else if (field.id == -1) {
      parent = open_blob_;  // descriptor fields of a blob column follow it and have no ids
    }
    while (open_.back().number != parent)
      if (!close()) return false;
    if (static_cast<int64_t>(open_.size()) > kMostDepth || !open_.back().names.insert(field.name).second) return false;
    const auto number = static_cast<int64_t>(out_->nodes.size());
    if (field.id != -1) {
      if (!by_id_.try_emplace(field.id, number).second) return false;
      open_blob_ = field.keys.blob && field.type == "struct" ? number : -1;
    }
    SchemaNode node{};
    node.message = message.data() - schema_.data();
    node.message_bytes = static_cast<int64_t>(message.size());
    node.name = field.name.empty() ? node.message : field.name.data() - schema_.data();
    node.name_bytes = static_cast<int64_t>(field.name.size());
    node.id = field.id;
    node.parent = parent;
    node.type = type_number(field.type);
    node.column = -1;
    node.flags = field.flags;
    out_->nodes.push_back(node);
    keys_.push_back(field.keys);
    open_.push_back({number, {}});
    return true;
  }

  bool finish() {
    while (open_.size() > 1)
      if (!close()) return false;
    number_columns();
    return true;
  }

 private:
  // Ends the node that was opened last; false at the root, or where its children do not fit its type.
  bool close() {
    if (open_.size() == 1) return false;
    const int64_t number = open_.back().number;
    open_.pop_back();
    SchemaNode& node = out_->nodes[static_cast<size_t>(number)];
    node.end = static_cast<int64_t>(out_->nodes.size());
    return fits(number);
  }

  bool fits(int64_t number) {
    SchemaNode& node = at(number);
    const Kind kind = kinds_[static_cast<size_t>(node.type)];
    const bool has_children = node.end > number + 1;
    const bool has_one = has_children && at(number + 1).end == node.end;
    const Keys& keys = keys_[static_cast<size_t>(number)];
    const Bytes type = out_->types[static_cast<size_t>(node.type)];
    if (keys.blob && (kind == Kind::kStruct || type == "binary" || type == "large_binary"))
      node.flags |= SchemaNode::kIsBlob;
    if (kind == Kind::kStruct && has_children && is_packed(keys)) node.flags |= SchemaNode::kIsPacked;
    switch (kind) {
      case Kind::kLeaf: return !has_children;
      case Kind::kStruct: return true;
      case Kind::kList: return has_one;
      case Kind::kListOfStructs: return has_one && kind_at(number + 1) == Kind::kStruct;
      case Kind::kFixedSizeListOfStructs: return minor_ >= 2 && has_one && kind_at(number + 1) == Kind::kStruct;
      case Kind::kMap: return minor_ >= 2 && has_one && are_entries(number + 1);
    }
    return false;
  }

  // Whether a node is a struct of a key, which is never null, and of a value.
  bool are_entries(int64_t number) {
    const SchemaNode& entries = at(number);
    if (kind_at(number) != Kind::kStruct || (entries.flags & (SchemaNode::kIsPacked | SchemaNode::kIsBlob)) != 0)
      return false;
    const int64_t key = number + 1;
    if (key >= entries.end) return false;
    const int64_t value = at(key).end;
    return value < entries.end && at(value).end == entries.end && (at(key).flags & SchemaNode::kNullable) == 0 &&
           out_->types[static_cast<size_t>(at(key).type)] != "null";
  }

  // Source: SchemaField.is_packed.
  bool is_packed(const Keys& keys) const {
    if (minor_ == 0) return keys.old_packed ? keys.is_old_packed : keys.packed;
    return keys.is_packed || keys.is_old_packed;
  }

  void number_columns() {
    const auto count = static_cast<int64_t>(out_->nodes.size());
    int64_t column = 0, leaf_end = 0;
    for (int64_t number = 0; number < count; ++number) {
      SchemaNode& node = at(number);
      if (number < leaf_end) continue;
      const bool is_leaf = node.end == number + 1 || (node.flags & (SchemaNode::kIsPacked | SchemaNode::kIsBlob)) != 0;
      if (is_leaf) {
        node.flags |= SchemaNode::kIsLeaf;
        leaf_end = node.end;
      }
      if (is_leaf || minor_ == 0) node.column = column++;
    }
    out_->num_columns = column;
  }

  int64_t type_number(Bytes type) {
    const auto next = static_cast<int64_t>(out_->types.size());
    const auto [found, is_new] = type_numbers_.try_emplace(type, next);
    if (is_new) {
      out_->types.push_back(type);
      kinds_.push_back(kind_of(type));
      out_->are_leaf_types.push_back(kinds_.back() == Kind::kLeaf ? 1 : 0);
    }
    return found->second;
  }

  SchemaNode& at(int64_t number) { return out_->nodes[static_cast<size_t>(number)]; }
  Kind kind_at(int64_t number) { return kinds_[static_cast<size_t>(at(number).type)]; }

  Bytes schema_;
  int minor_;
  SchemaNodes* out_;
  std::vector<Open> open_;  // the root, and the nodes around the next one
  std::vector<Keys> keys_;  // of each node
  std::vector<Kind> kinds_;  // of each type
  std::unordered_map<int64_t, int64_t> by_id_;
  std::unordered_map<Bytes, int64_t> type_numbers_;
  int64_t open_blob_ = -1;
};

}  // namespace

bool SchemaNodes::read(Bytes message, int minor) {
  Walk walk(message, minor, this);
  uint64_t last = 0;
  Fields fields(message);
  while (fields.next()) {
    if (fields.type != Fields::kDelimited || fields.number < last) return false;
    last = fields.number;
    if (fields.number == 1) {
      if (!walk.add(fields.content)) return false;
    } else if (fields.number == 5) {
      Bytes key, value;
      if (!read_entry(fields.content, &key, &value)) return false;
      metadata.emplace_back(key, value);
    } else {
      return false;
    }
  }
  return fields.is_sound && walk.finish();
}

}  // namespace lance_arrow::engine
