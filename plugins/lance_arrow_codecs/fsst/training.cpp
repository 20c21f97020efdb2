#include "lance_arrow_codecs/fsst/training.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "lance_arrow/arithmetic.hpp"
#include "lance_arrow/plain_values.hpp"
#include "lance_arrow/scratch.hpp"
#include "lance_arrow_codecs/fsst/matcher.hpp"

namespace lance_arrow::codecs {

namespace {

constexpr int kMaxSymbols = 255;

constexpr int64_t kSampleBytes = 64 << 10;

constexpr int64_t kSegmentBytes = 512;

constexpr int64_t kNumSegments = kSampleBytes / kSegmentBytes;

// Parts of 128 of the segments that each generation sees; the last one only counts.
constexpr int kGenerations[] = {8, 38, 68, 98, 128};

constexpr int kWhole = 128;

// A single byte saves its escape, too, wherever it stands: its gain counts so many times.
constexpr uint64_t kSingleBoost = 8;

constexpr uint64_t kMixer = 0x9E3779B97F4A7C15;

struct Segment {
  int64_t start;
  int64_t stop;
};

// Bytes of whole values, or of parts of long ones, from places spread evenly; a symbol never spans two values.
template <class In>
std::vector<std::vector<Segment>> sample_values(const PlainValues<In>& values) {
  std::vector<std::vector<Segment>> sample;
  const int64_t total = values.before(values.num_values);
  const int64_t segments = std::min(kNumSegments, (total + kSegmentBytes - 1) / kSegmentBytes);
  int64_t value = 0;
  for (int64_t number = 0; number < segments; ++number) {
    const int64_t place = segments < kNumSegments ? number * kSegmentBytes : share_of(total, number, segments);
    // The value that holds the place.
    int64_t low = value, high = values.num_values;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (values.before(middle) <= place ? low : high) = middle;
    }
    value = low;
    auto& parts = sample.emplace_back();
    int64_t begin = values.before(value);
    if (values.before(value + 1) - begin > kSegmentBytes) begin = place;
    int64_t room = kSegmentBytes;
    for (int64_t next = value; next < values.num_values && room > 0; ++next) {
      const int64_t end = std::min(values.before(next + 1), begin + room);
      if (end > begin) parts.push_back({begin, end});
      room -= end - begin;
      begin = end;
      if (end < values.before(next + 1)) break;
    }
  }
  return sample;
}

class SymbolTrainer {
 public:
  // Codes of the table, then all single bytes.
  static constexpr int kSingles = 256;
  static constexpr int kCodes = 512;

  template <class In>
  void train(const PlainValues<In>& values, const uint8_t* data) {
    forget();
    const auto sample = sample_values(values);
    const int64_t data_bytes = values.before(values.num_values);
    for (const int part : kGenerations) {
      count(sample, data, data_bytes, part);
      choose(part);
    }
  }

  void write(uint8_t* table) const {
    std::memset(table, 0, SymbolTable::kBytes);
    const size_t num_symbols = symbols_.size();
    table[0] = static_cast<uint8_t>(num_symbols);
    table[3] = 1;
    std::memcpy(table + 4, "TSSF", 4);
    for (size_t code = 0; code < num_symbols; ++code) {
      store<uint64_t>(table + 8, static_cast<int64_t>(code), symbols_[code].bytes);
      table[8 + 8 * num_symbols + code] = static_cast<uint8_t>(symbols_[code].size);
    }
  }

  friend int64_t kept_bytes(const SymbolTrainer& trainer) {
    return static_cast<int64_t>(sizeof(SymbolTrainer)) + lance_arrow::kept_bytes(trainer.pair_counts_) +
           lance_arrow::kept_bytes(trainer.seen_pairs_) + lance_arrow::kept_bytes(trainer.candidates_) +
           lance_arrow::kept_bytes(trainer.places_);
  }

 private:
  struct Candidate {
    uint64_t bytes;
    uint64_t gain;
    int size;
  };

  // Forgets the values of another call.
  void forget() {
    matcher_.clear();
    symbols_.clear();
    pair_counts_.assign(kCodes * kCodes, 0);
    seen_pairs_.clear();
    candidates_.clear();
    places_.clear();
    std::ranges::fill(counts_, 0u);
  }

  Symbol symbol(int code) const {
    return code < kSingles ? symbols_[static_cast<size_t>(code)] : Symbol{static_cast<uint64_t>(code - kSingles), 1};
  }

  void count_pair(int first, int second) {
    if (first < 0) return;
    const int pair = first * kCodes + second;
    if (pair_counts_[static_cast<size_t>(pair)]++ == 0) seen_pairs_.push_back(pair);
  }

  // Encodes the part of the sample; counts symbols, pairs of them, and single bytes where longer symbols begin.
  void count(const std::vector<std::vector<Segment>>& sample, const uint8_t* data, int64_t data_bytes, int part) {
    std::fill(std::begin(counts_), std::end(counts_), 0u);
    for (const int pair : seen_pairs_) pair_counts_[static_cast<size_t>(pair)] = 0;
    seen_pairs_.clear();
    for (size_t number = 0; number < sample.size(); ++number) {
      // An odd step reaches all residues, so that each generation sees places from all over the values.
      if (static_cast<int>(number * 37 % kWhole) >= part && number != 0) continue;
      for (const Segment& segment : sample[number]) {
        int before = -1;
        for (int64_t position = segment.start; position < segment.stop;) {
          uint64_t word = 0;
          const int64_t rest = segment.stop - position;
          std::memcpy(&word, data + position, static_cast<size_t>(std::min<int64_t>(8, data_bytes - position)));
          const auto match = matcher_.find(word, rest);
          const int single = kSingles + static_cast<int>(word & 0xFF);
          const int code = match.is_escape() ? single : match.codes();
          ++counts_[code];
          count_pair(before, code);
          if (match.size() > 1) {
            ++counts_[single];
            count_pair(before, single);
          }
          before = code;
          position += match.size();
        }
      }
    }
  }

  // The same symbol may come together in several ways: their gains add up.
  void add_candidate(const Symbol& one, uint32_t times) {
    const uint64_t boost = one.size == 1 ? kSingleBoost : 1;
    const uint64_t gain = boost * times * static_cast<uint64_t>(one.size);
    const size_t mask = places_.size() - 1;
    size_t place = static_cast<size_t>(((one.bytes ^ static_cast<uint64_t>(one.size) << 60) * kMixer) >> 32) & mask;
    for (; places_[place] != 0; place = (place + 1) & mask) {
      Candidate& known = candidates_[places_[place] - 1];
      if (known.bytes == one.bytes && known.size == one.size) {
        known.gain += gain;
        return;
      }
    }
    candidates_.push_back({one.bytes, gain, one.size});
    places_[place] = static_cast<uint32_t>(candidates_.size());
  }

  // Equal gains are in the order of sizes and bytes: the same values give the same table everywhere.
  static bool is_better(const Candidate& a, const Candidate& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    return a.size != b.size ? a.size > b.size : a.bytes < b.bytes;
  }

  void choose(int part) {
    candidates_.clear();
    places_.assign(std::bit_ceil(2 * (seen_pairs_.size() + kCodes)), 0);
    const uint32_t least = static_cast<uint32_t>(std::max(1, 5 * part / kWhole));
    for (int code = 0; code < kCodes; ++code)
      if (counts_[code] >= least) add_candidate(symbol(code), counts_[code]);
    if (part < kWhole) {
      for (const int pair : seen_pairs_) {
        const uint32_t times = pair_counts_[static_cast<size_t>(pair)];
        const Symbol first = symbol(pair / kCodes), second = symbol(pair % kCodes);
        if (times < least || first.size == 8) continue;
        const int size = std::min(8, first.size + second.size);
        const uint64_t bytes = (first.bytes | second.bytes << (8 * first.size)) & lowest_bytes(size);
        add_candidate({bytes, size}, times);
      }
    }
    symbols_.clear();
    matcher_.clear();
    // Few are taken, so few are put in order at a time.
    for (auto sorted = candidates_.begin(); sorted != candidates_.end() && symbols_.size() != kMaxSymbols;) {
      const auto rest = candidates_.end() - sorted;
      const auto next = sorted + std::min<decltype(rest)>(rest, 2 * kMaxSymbols);
      std::partial_sort(sorted, next, candidates_.end(), is_better);
      for (; sorted != next && symbols_.size() != kMaxSymbols; ++sorted) {
        const Symbol chosen{sorted->bytes, sorted->size};
        if (matcher_.add(chosen, static_cast<uint8_t>(symbols_.size()))) symbols_.push_back(chosen);
      }
    }
  }

  SymbolMatcher matcher_;
  std::vector<Symbol> symbols_;
  std::vector<uint16_t> pair_counts_;
  std::vector<int> seen_pairs_;
  std::vector<Candidate> candidates_;
  std::vector<uint32_t> places_;  // of candidates by what they are, counted from 1; 0 is a free place
  uint32_t counts_[kCodes] = {};
};

}  // namespace

Outcome train_symbols(const StoredOffsets& stored, const uint8_t* data, int64_t data_bytes, uint8_t* table,
                      int64_t table_bytes) {
  if (table_bytes != SymbolTable::kBytes) return misuse("a symbol table has the wrong size");
  return with_offset_type(stored.bits, [&]<class In>() {
    PlainValues<In> values;
    const Outcome opened = open_values<In>(stored, data_bytes, &values);
    if (opened.message != nullptr) return opened;
    const Leased<SymbolTrainer> trainer;
    trainer->train(values, data);
    trainer->write(table);
    return success();
  });
}

}  // namespace lance_arrow::codecs
