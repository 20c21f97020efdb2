#include "engine/common/bitmaps.hpp"

#include <algorithm>
#include <bit>

namespace lance_arrow::engine {

Outcome copy_bits(const Chunks& chunks, uint8_t* out, int64_t out_bytes, int64_t out_bit_offset) {
  if (out_bit_offset < 0 || out_bit_offset > 8 * out_bytes) return misuse("out_bit_offset leaves the output");
  return for_each_chunk(chunks, 8 * out_bytes - out_bit_offset, [&](const Chunk& chunk) {
    if (chunk.size < (chunk.num_values + 7) / 8) return corrupt("a bitmap is shorter than its values", chunk.index);
    copy_bit_run(chunk.bytes, 0, out, out_bit_offset + chunk.first_value, chunk.num_values);
    return success();
  });
}

Outcome take_bit_runs(const uint8_t* source, int64_t source_bytes, int64_t source_bit_offset, const int64_t* run_starts,
                      const int64_t* run_stops, int64_t num_runs, uint8_t* out, int64_t out_bytes,
                      int64_t out_bit_offset) {
  if (source_bit_offset < 0 || source_bit_offset > 8 * source_bytes) return misuse("src_bit_offset leaves the source");
  if (out_bit_offset < 0 || out_bit_offset > 8 * out_bytes) return misuse("out_bit_offset leaves the output");
  const int64_t num_source = 8 * source_bytes - source_bit_offset;
  int64_t out_bit = out_bit_offset;
  for (int64_t run = 0; run < num_runs; ++run) {
    const int64_t start = run_starts[run];
    const int64_t stop = run_stops[run];
    if (start < 0 || stop < start || stop > num_source) return misuse("a run leaves the source", run);
    if (stop - start > 8 * out_bytes - out_bit) return misuse("the output is too small", run);
    copy_bit_run(source, source_bit_offset + start, out, out_bit, stop - start);
    out_bit += stop - start;
  }
  return success();
}

namespace {

// Sets bits that are known to lie inside; few of them, mostly.
}  // namespace

Outcome fill_bit_runs(const int64_t* run_starts, const int64_t* run_stops, int64_t num_runs, int64_t first_bit,
                      uint8_t* out, int64_t out_bytes) {
  if (first_bit < 0) return misuse("the first bit is negative");
  // Runs are short: those of one word are put together before it is written.
  uint64_t word = 0;
  int64_t at = 0;
  const auto write = [&] {
    if (8 * (at + 1) <= out_bytes) {
      store<uint64_t>(out + 8 * at, 0, load<uint64_t>(out + 8 * at, 0) | word);
    } else {
      for (int64_t byte = 8 * at; byte < out_bytes; ++byte)
        out[byte] |= static_cast<uint8_t>(word >> 8 * (byte - 8 * at));
    }
    word = 0;
  };
  for (int64_t run = 0; run < num_runs; ++run) {
    if (run_starts[run] < first_bit || run_stops[run] < run_starts[run] || run_stops[run] - first_bit > 8 * out_bytes) {
      write();
      return misuse("a run leaves the output", run);
    }
    int64_t start = run_starts[run] - first_bit;
    for (const int64_t stop = run_stops[run] - first_bit; start < stop;) {
      if (start / 64 != at) {
        write();
        at = start / 64;
      }
      const int64_t count = std::min(stop, 64 * (at + 1)) - start;
      word |= ~uint64_t{0} >> (64 - count) << (start % 64);
      start += count;
    }
  }
  write();
  return success();
}

Outcome count_bits(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, int64_t num_bits, int64_t* count) {
  if (!inside(bit_offset, num_bits, 8 * source_bytes)) return misuse("the bits to count leave the source");
  int64_t total = 0;
  if (const int64_t into = bit_offset % 8; into != 0 && num_bits > 0) {
    const int64_t head = num_bits < 8 - into ? num_bits : 8 - into;
    total += std::popcount(static_cast<uint8_t>(peek_bits(source, bit_offset, head) & low_mask(head)));
    bit_offset += head;
    num_bits -= head;
  }
  const uint8_t* byte = source + bit_offset / 8;
  for (; num_bits >= 64; num_bits -= 64, byte += 8) total += std::popcount(load<uint64_t>(byte, 0));
  for (; num_bits >= 8; num_bits -= 8, ++byte) total += std::popcount(*byte);
  if (num_bits > 0) total += std::popcount(static_cast<uint8_t>(*byte & low_mask(num_bits)));
  *count = total;
  return success();
}

namespace {

// Calls edges(row, bits) with a bit for each row from `row` on at which a run of marked rows begins or has ended, in
// turns. reopen(row) returns whether the run that ended there continues. Row i of the ranges taken together is bit
// bit_offset + i.
template <class Edges, class Reopen>
Outcome for_each_marked_edge(const uint8_t* source, int64_t source_bytes, int64_t bit_offset,
                             const int64_t* range_starts, const int64_t* range_stops, int64_t num_ranges, Edges edges,
                             Reopen reopen) {
  if (!inside(bit_offset, 0, 8 * source_bytes)) return misuse("the marks leave the source");
  int64_t bit = bit_offset;
  for (int64_t range = 0; range < num_ranges; ++range) {
    const int64_t start = range_starts[range], num_bits = range_stops[range] - start;
    if (num_bits < 0 || !inside(bit, num_bits, 8 * source_bytes)) return misuse("the marks leave the source");
    uint64_t before = 0;
    for (int64_t done = 0; done < num_bits; done += 64) {
      const int64_t count = num_bits - done < 64 ? num_bits - done : 64;
      const uint64_t word = peek_word(source, bit + done, count);
      if (done == 0 && (word & 1) != 0 && reopen(start)) before = 1;
      uint64_t changes = word ^ (word << 1 | before);
      if (count < 64) changes &= (uint64_t{1} << count) - 1;
      if (changes != 0) edges(start + done, changes);
      before = word >> (count - 1) & 1;
    }
    if (before != 0) edges(start + num_bits, uint64_t{1});
    bit += num_bits;
  }
  return success();
}

}  // namespace

Outcome count_marked_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                          const int64_t* range_stops, int64_t num_ranges, int64_t* count) {
  int64_t num_edges = 0, last = -1;
  const Outcome outcome = for_each_marked_edge(
      source, source_bytes, bit_offset, range_starts, range_stops, num_ranges,
      [&](int64_t row, uint64_t bits) {
        num_edges += std::popcount(bits);
        last = row + 63 - std::countl_zero(bits);
      },
      [&](int64_t row) {
        if (row != last) return false;
        --num_edges;
        return true;
      });
  *count = num_edges / 2;
  return outcome;
}

Outcome mark_runs(const uint8_t* source, int64_t source_bytes, int64_t bit_offset, const int64_t* range_starts,
                  const int64_t* range_stops, int64_t num_ranges, int64_t* out_starts, int64_t* out_stops,
                  int64_t num_out) {
  int64_t num_edges = 0, wanted = 0;
  const Outcome counted =
      count_marked_runs(source, source_bytes, bit_offset, range_starts, range_stops, num_ranges, &wanted);
  if (counted.message != nullptr) return counted;
  if (wanted > num_out) return misuse("the output is too small");
  int64_t* const out[2] = {out_starts, out_stops};
  return for_each_marked_edge(
      source, source_bytes, bit_offset, range_starts, range_stops, num_ranges,
      [&](int64_t row, uint64_t bits) {
        for (; bits != 0; bits &= bits - 1, ++num_edges)
          out[num_edges % 2][num_edges / 2] = row + std::countr_zero(bits);
      },
      [&](int64_t row) {
        if (num_edges == 0 || out_stops[num_edges / 2 - 1] != row) return false;
        --num_edges;
        return true;
      });
}

}  // namespace lance_arrow::engine
