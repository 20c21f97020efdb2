#include "lance_arrow_codecs/fsst/encoding.hpp"

#include <algorithm>
#include <memory>

#include "lance_arrow/plain_values.hpp"
#include "lance_arrow/scratch.hpp"
#include "lance_arrow_codecs/fsst/matcher.hpp"

namespace lance_arrow::codecs {

namespace {

constexpr int kLanes = 4;

// One run of values on its way; codes go to memory of its own, ends[value] tells how many there are after a value.
template <class In>
struct SymbolLane {
  const SymbolMatcher* matcher;
  const PlainValues<In>* values;
  const uint8_t* data;
  const uint8_t* position;
  const uint8_t* stop;  // of the value
  uint8_t* begin;
  uint8_t* out;
  int64_t value;
  int64_t stop_value;

  // Moves on to the next value that has bytes; false at the end of the run.
  template <class Out>
  bool next_value(uint8_t* ends) {
    while (position == stop) {
      store<Out>(ends, value + 1, static_cast<Out>(out - begin));
      if (++value == stop_value) return false;
      stop = data + values->before(value + 1);
    }
    return true;
  }

  void step(uint64_t word) { put(matcher->find(word, stop - position), &position, &out); }

  // Always both bytes: a code of one byte is overwritten by the next, and a value's room is two bytes per byte.
  static void put(SymbolMatcher::Match match, const uint8_t** position, uint8_t** out) {
    store<uint16_t>(*out, 0, match.codes());
    *out += match.num_codes();
    *position += match.size();
  }
};

// Steps of all lanes in turn until one has no value left, or reaches the last word of the data. Few values are longer
// than some symbols, so a step must not guess whether a whole word is left: the one branch asks for ends of values.
// What moves is kept in locals: through the lanes, every byte that is stored might change it.
template <bool kHasLong, class Out, class In>
void step_all(SymbolLane<In> (&lanes)[kLanes], const uint8_t* whole_words, uint8_t* ends) {
  const SymbolMatcher& matcher = *lanes[0].matcher;
  const uint8_t *p0 = lanes[0].position, *p1 = lanes[1].position, *p2 = lanes[2].position, *p3 = lanes[3].position;
  uint8_t *o0 = lanes[0].out, *o1 = lanes[1].out, *o2 = lanes[2].out, *o3 = lanes[3].out;
  // Where a step needs to ask.
  const uint8_t *s0 = p0, *s1 = p1, *s2 = p2, *s3 = p3;
  bool all = true;
  const auto ask = [&](SymbolLane<In>& lane, const uint8_t*& position, uint8_t*& out, const uint8_t*& stop) {
    if (position < stop) return;
    while (all && lane.stop - position <= 1) {
      if (position < lane.stop) SymbolLane<In>::put(matcher.single(*position), &position, &out);
      lane.position = position;
      lane.out = out;
      all = lane.template next_value<Out>(ends);
    }
    all &= position <= whole_words;
    stop = std::min(lane.stop - 1, whole_words + 1);
  };
  const auto step = [&](const SymbolLane<In>& lane, const uint8_t*& position, uint8_t*& out) {
    const uint64_t word = load<uint64_t>(position, 0);
    SymbolLane<In>::put(matcher.template find_among<kHasLong>(word, lane.stop - position), &position, &out);
  };
  while (true) {
    if (((p0 >= s0) | (p1 >= s1) | (p2 >= s2) | (p3 >= s3)) != 0) {
      ask(lanes[0], p0, o0, s0);
      ask(lanes[1], p1, o1, s1);
      ask(lanes[2], p2, o2, s2);
      ask(lanes[3], p3, o3, s3);
      if (!all) break;
    }
    step(lanes[0], p0, o0);
    step(lanes[1], p1, o1);
    step(lanes[2], p2, o2);
    step(lanes[3], p3, o3);
  }
  lanes[0].position = p0, lanes[1].position = p1, lanes[2].position = p2, lanes[3].position = p3;
  lanes[0].out = o0, lanes[1].out = o1, lanes[2].out = o2, lanes[3].out = o3;
}

}  // namespace

Outcome compress_symbols(const uint8_t* table, int64_t table_bytes, const StoredOffsets& stored, const uint8_t* data,
                         int64_t data_bytes, const VariableOut& out, int64_t* total) {
  SymbolTable checked;
  const Outcome valid = checked.open(table, table_bytes);
  if (valid.message != nullptr) return valid;
  if (!checked.is_compressed()) return misuse("a symbol table that is switched off");
  const Leased<SymbolMatcher> matcher;
  matcher->clear();
  for (int code = 0; code < table[0]; ++code) {
    const int size = table[8 + 8 * table[0] + code];
    matcher->add({load<uint64_t>(table + 8, code) & lowest_bytes(size), size}, static_cast<uint8_t>(code));
  }
  return with_offset_type(stored.bits, [&]<class In>() {
    return with_offset_type(out.offset_bits, [&]<class Out>() {
      PlainValues<In> values;
      const Outcome opened = open_values<In>(stored, data_bytes, &values);
      if (opened.message != nullptr) return opened;
      VariableWriter<Out> writer;
      const Outcome begun = writer.open(out, 0);
      if (begun.message != nullptr) return begun;
      const int64_t num_bytes = values.before(values.num_values);
      if (!writer.fits(values.num_values, 2 * num_bytes)) return too_small(-1);
      uint8_t* const ends = out.offsets;
      // Runs of about as many bytes each.
      SymbolLane<In> lanes[kLanes];
      int64_t first_value = 0;
      int num_lanes = 0;
      for (int number = 0; number < kLanes; ++number) {
        const int64_t wanted = num_bytes / kLanes * (number + 1);
        int64_t low = first_value, high = values.num_values;
        while (low < high && number + 1 < kLanes) {
          const int64_t middle = low + (high - low) / 2;
          if (values.before(middle) < wanted) low = middle + 1;
          else high = middle;
        }
        const int64_t stop_value = number + 1 == kLanes ? values.num_values : low;
        if (stop_value == first_value) continue;
        const int64_t start = values.before(first_value);
        uint8_t* const own = out.data + 2 * start;
        lanes[num_lanes++] = {&*matcher, &values, data,        data + start, data + values.before(first_value + 1),
                              own,       own,     first_value, stop_value};
        first_value = stop_value;
      }
      if (num_lanes == kLanes) {
        const uint8_t* const whole_words = data + data_bytes - 8;
        if (matcher->has_long()) step_all<true, Out>(lanes, whole_words, ends);
        else step_all<false, Out>(lanes, whole_words, ends);
      }
      for (int number = 0; number < num_lanes; ++number) {
        auto& lane = lanes[number];
        while (lane.value < lane.stop_value && lane.template next_value<Out>(ends)) {
          uint64_t word = 0;
          copy_bytes(reinterpret_cast<uint8_t*>(&word), lane.position,
                     std::min<int64_t>(8, data + data_bytes - lane.position));
          lane.step(word);
        }
      }
      // Close the gaps between the runs.
      const Out base = load<Out>(out.offsets, 0);
      int64_t used = 0;
      int64_t value = 0;
      for (int number = 0; number < num_lanes; ++number) {
        const auto& lane = lanes[number];
        const int64_t size = lane.out - lane.begin;
        if (lane.begin != out.data + used) std::memmove(out.data + used, lane.begin, static_cast<size_t>(size));
        for (; value < lane.stop_value; ++value)
          store<Out>(ends, value + 1, static_cast<Out>(load<Out>(ends, value + 1) + base + static_cast<Out>(used)));
        used += size;
      }
      *total = used;
      return success();
    });
  });
}

}  // namespace lance_arrow::codecs
