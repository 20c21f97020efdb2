#include "engine/encode/shred.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/common/bitmaps.hpp"

namespace lance_arrow::engine {

namespace {

struct SlotRuns {
  std::vector<int64_t> starts;
  std::vector<int64_t> stops;

  void add(int64_t start, int64_t stop) {
    if (!stops.empty() && stops.back() == start) {
      stops.back() = stop;
    } else {
      starts.push_back(start);
      stops.push_back(stop);
    }
  }
};

// The slots of the runs one after another. There are as many as live entries: entries of a node and its runs grow
// together. So a cursor that is used once per live entry never passes the end.
class SlotCursor {
 public:
  explicit SlotCursor(const SlotRuns& runs) : runs_(runs) { open(); }
  int64_t next() {
    if (slot_ == stop_) {
      ++run_;
      open();
    }
    return slot_++;
  }
  int64_t left_in_run() const { return stop_ - slot_; }
  int64_t slot() const { return slot_; }
  void skip(int64_t count) { slot_ += count; }

 private:
  void open() {
    const bool exists = run_ < runs_.starts.size();
    slot_ = exists ? runs_.starts[run_] : 0;
    stop_ = exists ? runs_.stops[run_] : 0;
  }

  const SlotRuns& runs_;
  size_t run_ = 0;
  int64_t slot_ = 0;
  int64_t stop_ = 0;
};

Outcome check_node(const ShredNode& node, int64_t index, bool is_last) {
  if (node.num_slots < 0 || node.first_item < 0 || node.dimension < 0)
    return misuse("a node has a negative size", index);
  if (node.validity != nullptr) {
    if (node.bit_offset < 0 || node.bit_offset > 8 * node.validity_bytes ||
        node.num_slots > 8 * node.validity_bytes - node.bit_offset)
      return corrupt("a validity bitmap is shorter than its array", index);
    if (node.null_level == 0) return misuse("a node that may be null has no level for it", index);
  }
  const bool is_list = node.offsets != nullptr;
  if (is_list && node.num_offsets != node.num_slots + 1)
    return corrupt("a list does not have one offset more than slots", index);
  if (is_list && node.empty_level == 0) return misuse("a list has no level for empty ones", index);
  if (is_last && (is_list || node.dimension != 0)) return misuse("the inner-most node is a list", index);
  if (is_list && node.dimension != 0) return misuse("a list cannot have a dimension", index);
  return success();
}

// All nodes fit into each other: what a struct or fixed-size list says of its items needs no check later on.
Outcome check_nodes(const ShredNode* nodes, int64_t num_nodes, int64_t num_rows) {
  if (num_nodes < 1 || num_nodes > kMaxNodes) return misuse("there must be 1 to 64 nodes");
  if (num_rows < 0 || num_rows > nodes[0].num_slots) return misuse("there are more rows than slots");
  for (int64_t n = 0; n < num_nodes; ++n) {
    const bool is_last = n + 1 == num_nodes;
    const Outcome outcome = check_node(nodes[n], n, is_last);
    if (outcome.message != nullptr) return outcome;
    if (is_last || nodes[n].offsets != nullptr) continue;
    const ShredNode& inner = nodes[n + 1];
    const int64_t dimension = std::max<int64_t>(1, nodes[n].dimension);
    if (nodes[n].first_item > inner.num_slots ||
        nodes[n].num_slots > (inner.num_slots - nodes[n].first_item) / dimension)
      return corrupt("a node has fewer items than the node around it needs", n + 1);
  }
  return success();
}

// Where bits are 0 and levels too, the level becomes `null_level`; 8 entries, returns whether there was one.
bool put_nulls(uint16_t* def, unsigned bits, uint16_t null_level) {
  constexpr uint16_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint16_t valid = static_cast<uint16_t>(bits);
  uint16_t any = 0;
  for (int i = 0; i < 8; ++i) {
    const auto is_null = static_cast<uint16_t>((valid & kBits[i]) == 0 && def[i] == 0 ? 0xFFFF : 0);
    any |= is_null;
    def[i] |= static_cast<uint16_t>(is_null & null_level);
  }
  return any != 0;
}

// An item layer, or the validity of a fixed-size list.
void shred_items(ShredNode& node, const SlotRuns& runs, uint16_t* def, int64_t num_entries) {
  if (node.validity == nullptr) return;
  SlotCursor cursor(runs);
  bool found = false;
  for (int64_t entry = 0; entry < num_entries;) {
    bool all_live = entry + 8 <= num_entries && cursor.left_in_run() >= 8;
    if (all_live) {
      uint16_t above = 0;
      for (int i = 0; i < 8; ++i) above |= static_cast<uint16_t>(def[entry + i] > node.live_def);
      all_live = above == 0;
    }
    if (all_live) {
      const uint8_t bits = peek_bits(node.validity, node.bit_offset + cursor.slot(), 8);
      if (bits != 0xFF) found |= put_nulls(def + entry, bits, node.null_level);
      cursor.skip(8);
      entry += 8;
      continue;
    }
    const int64_t stop = std::min(entry + 8, num_entries);
    for (; entry < stop; ++entry) {
      if (def[entry] > node.live_def) continue;
      if (is_null(node, cursor.next()) && def[entry] == 0) {
        def[entry] = node.null_level;
        found = true;
      }
    }
  }
  node.has_null |= found;
}

// Entries of one node; the memory is the output's for the inner-most list and all that lies inside.
struct Entries {
  uint16_t* rep;
  uint16_t* def;
  int64_t count;
};

class EntryWriter {
 public:
  EntryWriter(uint16_t* rep, uint16_t* def, int64_t capacity) : rep_(rep), def_(def), capacity_(capacity) {}

  bool put(uint16_t rep, uint16_t def) {
    if (count_ == capacity_) return false;
    if (rep_ != nullptr) rep_[count_] = rep;
    def_[count_++] = def;
    return true;
  }

  // One entry of `rep`, then others of `inner_rep`; all of level `def`.
  bool put_run(uint16_t rep, uint16_t inner_rep, uint16_t def, int64_t size) {
    if (size > capacity_ - count_) return false;
    constexpr int64_t stride = 8;
    const bool has_room = size + stride <= capacity_ - count_;
    fill(def_ + count_, def, size, has_room);
    if (rep_ != nullptr) {
      fill(rep_ + count_, inner_rep, size, has_room);
      rep_[count_] = rep;
    }
    count_ += size;
    return true;
  }

  int64_t count() const { return count_; }

 private:
  // Short runs are the rule: whole strides are stored wherever the next entry overwrites what is too much.
  static void fill(uint16_t* out, uint16_t value, int64_t size, bool has_room) {
    if (!has_room || size > 64) {
      std::fill_n(out, size, value);
      return;
    }
    for (int64_t at = 0; at < size; at += 8)
      for (int i = 0; i < 8; ++i) out[at + i] = value;
  }

  uint16_t* rep_;
  uint16_t* def_;
  int64_t capacity_;
  int64_t count_ = 0;
};

template <class Offset>
Outcome shred_lists(ShredNode& node, int64_t index, int64_t num_items, const SlotRuns& runs, const Entries& from,
                    EntryWriter& to, SlotRuns& items) {
  const auto* offsets = static_cast<const Offset*>(node.offsets);
  SlotCursor cursor(runs);
  for (int64_t entry = 0; entry < from.count; ++entry) {
    const uint16_t rep = from.rep[entry];
    uint16_t def = from.def[entry];
    int64_t start = 0;
    int64_t stop = 0;
    if (def <= node.live_def) {
      const int64_t slot = cursor.next();
      start = offsets[slot];
      stop = offsets[slot + 1];
      if (start < 0 || stop < start || stop > num_items)
        return corrupt("list offsets descend or leave their items", index);
      if (def == 0 && is_null(node, slot)) {
        def = node.null_level;
        node.has_null = true;
      } else if (def == 0 && start == stop) {
        def = node.empty_level;
        node.has_empty = true;
      }
    }
    if (def == 0) items.add(start, stop);
    if (!(def == 0 ? to.put_run(rep, node.inner_rep, 0, stop - start) : to.put(rep, def)))
      return misuse("there is no room for all entries");
  }
  return success();
}

// Each entry is repeated for all items of its fixed-size list, also of a null one (spec 2, "FSL of struct"). Null and
// empty lists around it have one entry: no page of levels tells them, but sparse structures are made of such entries.
Outcome shred_tuples(const ShredNode& node, const SlotRuns& runs, const Entries& from, EntryWriter& to,
                     SlotRuns& items) {
  for (size_t run = 0; run < runs.starts.size(); ++run)
    items.add(node.first_item + runs.starts[run] * node.dimension, node.first_item + runs.stops[run] * node.dimension);
  for (int64_t entry = 0; entry < from.count; ++entry) {
    const uint16_t rep = from.rep == nullptr ? 0 : from.rep[entry];
    const uint16_t def = from.def[entry];
    const int64_t copies = def > node.live_def ? 1 : node.dimension;
    if (!to.put_run(rep, rep, def, copies)) return misuse("there is no room for all entries");
  }
  return success();
}

}  // namespace

bool moves(const ShredNode& node) { return node.offsets != nullptr || node.dimension != 0; }

namespace {

// The most entries that a node can turn its own into; -1 where the offsets contradict that.
int64_t most_entries(const ShredNode& node, const SlotRuns& runs, int64_t num_entries, int64_t num_items) {
  if (node.dimension != 0) return num_entries * node.dimension;
  for (size_t run = 0; run < runs.starts.size(); ++run) {
    const int64_t first = runs.starts[run];
    const int64_t last = runs.stops[run];
    const bool wide = node.offset_bits == 64;
    const int64_t start =
        wide ? static_cast<const int64_t*>(node.offsets)[first] : static_cast<const int32_t*>(node.offsets)[first];
    const int64_t stop =
        wide ? static_cast<const int64_t*>(node.offsets)[last] : static_cast<const int32_t*>(node.offsets)[last];
    if (start < 0 || stop < start || stop > num_items) return -1;
    num_entries += stop - start;
  }
  return num_entries;
}

// Memory of the entries of outer nodes.
struct EntryMemory {
  std::vector<uint16_t> rep;
  std::vector<uint16_t> def;

  Entries open(int64_t count, bool has_rep) {
    rep.resize(static_cast<size_t>(has_rep ? count : 0));
    def.resize(static_cast<size_t>(count));
    return {has_rep ? rep.data() : nullptr, def.data(), count};
  }
};

void write_runs(const SlotRuns& runs, ShredOut& out) {
  out.num_runs = static_cast<int64_t>(runs.starts.size());
  if (out.num_runs > out.run_capacity) return;
  std::copy(runs.starts.begin(), runs.starts.end(), out.run_starts);
  std::copy(runs.stops.begin(), runs.stops.end(), out.run_stops);
}

}  // namespace

Outcome shred_levels(ShredNode* nodes, int64_t num_nodes, int64_t num_rows, ShredOut& out) {
  if (const Outcome outcome = check_nodes(nodes, num_nodes, num_rows); outcome.message != nullptr) return outcome;
  int64_t moves_left = 0;
  int64_t num_lists = 0;
  for (int64_t n = 0; n < num_nodes; ++n) {
    moves_left += moves(nodes[n]);
    num_lists += nodes[n].offsets != nullptr;
  }
  const bool has_rep = num_lists != 0;
  if (has_rep != (out.rep != nullptr)) return misuse("repetition levels exist exactly where there are lists");
  EntryMemory memory[2];
  int side = 0;
  Entries entries{out.rep, out.def, num_rows};
  if (moves_left != 0) {
    entries = memory[side].open(num_rows, has_rep);
  } else if (num_rows > out.capacity) {
    return misuse("there is no room for all entries");
  }
  if (num_rows > 0) std::memset(entries.def, 0, static_cast<size_t>(num_rows) * sizeof(uint16_t));
  if (has_rep) std::fill_n(entries.rep, num_rows, static_cast<uint16_t>(num_lists));
  SlotRuns runs;
  if (num_rows > 0) runs.add(0, num_rows);
  for (int64_t n = 0; n < num_nodes; ++n) {
    ShredNode& node = nodes[n];
    if (node.offsets == nullptr) shred_items(node, runs, entries.def, entries.count);
    if (!moves(node)) continue;
    const int64_t num_items = nodes[n + 1].num_slots;
    Entries next{out.rep, out.def, out.capacity};
    if (--moves_left != 0) {
      side = 1 - side;
      const int64_t most = most_entries(node, runs, entries.count, num_items);
      if (most < 0) return corrupt("list offsets descend or leave their items", n);
      next = memory[side].open(most, has_rep);
    }
    EntryWriter to(next.rep, next.def, next.count);
    SlotRuns items;
    Outcome outcome;
    if (node.dimension != 0) {
      outcome = shred_tuples(node, runs, entries, to, items);
    } else if (node.offset_bits == 64) {
      outcome = shred_lists<int64_t>(node, n, num_items, runs, entries, to, items);
    } else {
      outcome = shred_lists<int32_t>(node, n, num_items, runs, entries, to, items);
    }
    if (outcome.message != nullptr) return outcome;
    entries = {next.rep, next.def, to.count()};
    runs = std::move(items);
  }
  out.num_entries = entries.count;
  write_runs(runs, out);
  return success();
}

Outcome renumber_levels(uint16_t* levels, int64_t num_levels, const uint16_t* table, int64_t num_known) {
  for (int64_t entry = 0; entry < num_levels; ++entry) {
    if (levels[entry] >= num_known) return misuse("a level is not in the table", entry);
    levels[entry] = table[levels[entry]];
  }
  return success();
}

}  // namespace lance_arrow::engine
