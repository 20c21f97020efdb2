#include "engine/encode/symbol_encoding.hpp"

#include <algorithm>
#include <memory>

#include "engine/encode/symbol_matcher.hpp"
#include "engine/encode/variable_chunks.hpp"

namespace lance_arrow::engine {

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

  template <bool kHasLong = true>
  void step(uint64_t word) {
    const auto match = matcher->template find<kHasLong>(word, stop - position);
    put(match, word, &position, &out);
  }

  // Always both bytes: a code of one byte is overwritten by the next, and a value's room is two bytes per byte.
  static void put(SymbolMatcher::Match match, uint64_t word, const uint8_t** position, uint8_t** out) {
    const bool escapes = match.code == SymbolMatcher::kNoCode;
    store<uint16_t>(*out, 0, static_cast<uint16_t>(escapes ? kEscape | (word & 0xFF) << 8 : match.code));
    *out += 1 + escapes;
    *position += match.size;
  }
};

// Steps of all lanes in turn while each has 8 bytes of its value left. What moves is kept in locals: through the lanes,
// every byte that is stored might change it.
template <bool kHasLong, class In>
void step_whole_words(SymbolLane<In> (&lanes)[kLanes]) {
  const SymbolMatcher& matcher = *lanes[0].matcher;
  const uint8_t *p0 = lanes[0].position, *p1 = lanes[1].position, *p2 = lanes[2].position, *p3 = lanes[3].position;
  uint8_t *o0 = lanes[0].out, *o1 = lanes[1].out, *o2 = lanes[2].out, *o3 = lanes[3].out;
  const uint8_t *const s0 = lanes[0].stop, *const s1 = lanes[1].stop, *const s2 = lanes[2].stop,
                       *const s3 = lanes[3].stop;
  const auto step = [&matcher](const uint8_t*& position, uint8_t*& out) {
    const uint64_t word = load<uint64_t>(position, 0);
    SymbolLane<In>::put(matcher.template find_in_whole<kHasLong>(word), word, &position, &out);
  };
  while (((s0 - p0 >= 8) & (s1 - p1 >= 8) & (s2 - p2 >= 8) & (s3 - p3 >= 8)) != 0) {
    step(p0, o0);
    step(p1, o1);
    step(p2, o2);
    step(p3, o3);
  }
  lanes[0].position = p0, lanes[1].position = p1, lanes[2].position = p2, lanes[3].position = p3;
  lanes[0].out = o0, lanes[1].out = o1, lanes[2].out = o2, lanes[3].out = o3;
}

// Steps of all lanes in turn until one reaches its end, or the last the end of the data.
template <bool kHasLong, class Out, class In>
void step_all(SymbolLane<In> (&lanes)[kLanes], const uint8_t* whole_words, uint8_t* ends) {
  for (bool all = true; all;) {
    step_whole_words<kHasLong>(lanes);
    for (auto& lane : lanes) {
      if ((lane.position == lane.stop && !lane.template next_value<Out>(ends)) || lane.position > whole_words) {
        all = false;
        continue;
      }
      lane.template step<kHasLong>(load<uint64_t>(lane.position, 0));
    }
  }
}

}  // namespace

Outcome compress_symbols(const uint8_t* table, int64_t table_bytes, const StoredOffsets& stored, const uint8_t* data,
                         int64_t data_bytes, const VariableOut& out, int64_t* total) {
  SymbolTable checked;
  const Outcome valid = checked.open(table, table_bytes);
  if (valid.message != nullptr) return valid;
  if (!checked.is_compressed()) return misuse("a symbol table that is switched off");
  const auto matcher = std::make_unique<SymbolMatcher>();
  for (int code = 0; code < table[0]; ++code) {
    const int size = table[8 + 8 * table[0] + code];
    matcher->add({load<uint64_t>(table + 8, code) & lowest_bytes(size), size}, static_cast<uint16_t>(code));
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
        lanes[num_lanes++] = {matcher.get(), &values, data,        data + start, data + values.before(first_value + 1),
                              own,           own,     first_value, stop_value};
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

}  // namespace lance_arrow::engine
