// What Arrow's own libraries do for the engine, which is not linked to them: a table of functions of `libarrow/`.
#pragma once

#include "engine/arrays/result_memory.hpp"

struct ArrowArray;

namespace lance_arrow::engine {

// Rows on their way into an object of pyarrow.
struct RowsImport;

struct ArrowFunctions {
  // Of the pool that is pyarrow's default now.
  Allocator (*current_allocator)();

  // Rows of a `pyarrow.Schema`; null where there is no memory. With the interpreter's lock.
  RowsImport* (*begin_import)(void* schema);
  // Takes over a batch, and makes a table of it. False where Arrow refuses it, which releases it. Without the lock.
  bool (*import)(RowsImport* rows, ArrowArray* batch, bool as_table);
  // A new reference to the batch or the table; null with an error of Python. With the interpreter's lock.
  void* (*wrap)(const RowsImport* rows);
  // Drops what was not wrapped; any thread may.
  void (*end_import)(RowsImport* rows);

  // Decodes Zstandard frames into exactly so many bytes; false for others. Null where Arrow was built without it.
  bool (*decompress_zstd)(const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes);
};

}  // namespace lance_arrow::engine
