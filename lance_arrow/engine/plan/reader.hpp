// Where the bytes of a file come from, and what reading them cost.
#pragma once

#include "engine/plan/many_files.hpp"
#include "engine/plan/segments.hpp"
#include "engine/tables/block_checks.hpp"

namespace lance_arrow::engine {

// Bytes of a file, or of many, by position; of memory; or of parts of a far file that were fetched.
struct Reader {
  int fd;
  const uint8_t* memory;
  int64_t size;
  BlockChecks* checks;  // null: nothing is compared with checksums
  const Segments* segments = nullptr;  // read instead of `memory`; they were compared when they were fetched
  const ManyFiles* files = nullptr;  // read instead of all others

  bool is_positional() const { return fd >= 0 || files != nullptr; }
};

// What reading cost, for receipts.
struct ReadCount {
  int64_t requests = 0;
  int64_t ranges = 0;
  int64_t bytes_wanted = 0;
  int64_t bytes_read = 0;

  void add(const ReadCount& other) {
    requests += other.requests;
    ranges += other.ranges;
    bytes_wanted += other.bytes_wanted;
    bytes_read += other.bytes_read;
  }
};

}  // namespace lance_arrow::engine
