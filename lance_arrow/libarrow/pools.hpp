// Arrow's memory pools as allocators of the engine.
#pragma once

#include "arrow/memory_pool.h"
#include "arrow/python/common.h"

#include "engine/arrays/result_memory.hpp"

namespace lance_arrow {

inline engine::Allocator AllocatorOf(arrow::MemoryPool* pool) {
  return {[](void* context, int64_t size) -> uint8_t* {
            uint8_t* bytes = nullptr;
            auto* from = static_cast<arrow::MemoryPool*>(context);
            return from->Allocate(engine::padded_bytes(size), &bytes).ok() ? bytes : nullptr;
          },
          [](void* context, uint8_t* bytes, int64_t size) {
            static_cast<arrow::MemoryPool*>(context)->Free(bytes, engine::padded_bytes(size));
          },
          pool};
}

// That of the pool that is pyarrow's default now.
inline engine::Allocator CurrentAllocator() { return AllocatorOf(arrow::py::get_memory_pool()); }

}  // namespace lance_arrow
