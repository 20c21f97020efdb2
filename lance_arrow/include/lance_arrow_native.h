/* The C side of a codec, for reads of few rows: one call per chunk, no Python object, no GIL.
 *
 * A bound codec offers it by a method `native()` that returns a capsule named LANCE_ARROW_CHUNK_CODEC or
 * LANCE_ARROW_VALUE_CODEC around the struct below (see docs/plugins/write_a_codec.md), a bound buffer scheme by one
 * named LANCE_ARROW_FRAME_CODEC; what has none is served by its `decode`, or `decompress`, as always. A codec of zipped
 * values, or a buffer scheme, that keeps some values as they are behind a head may say so by a method
 * `native_stored()`, which returns a capsule named LANCE_ARROW_STORED_VALUES. Functions must not keep pointers, call
 * Python, or touch a byte outside what they are given, whatever the bytes say. They may be called from any thread, from
 * several at once, and again by the same thread before they return (a codec calls its child, which may be of its own
 * kind): scratch memory belongs to a call, never to a thread. */
#ifndef LANCE_ARROW_NATIVE_H
#define LANCE_ARROW_NATIVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LANCE_ARROW_CHUNK_CODEC "lance_arrow.chunk_codec/1"
#define LANCE_ARROW_VALUE_CODEC "lance_arrow.value_codec/1"
#define LANCE_ARROW_STORED_VALUES "lance_arrow.stored_values/1"
#define LANCE_ARROW_FRAME_CODEC "lance_arrow.frame_codec/1"

/* NULL for success, else a static ASCII sentence. A refusal makes the engine read the same rows again through `decode`,
 * which raises the error that names column, page and bytes. */
typedef const char* LaRefusal;

/* Half-open, ascending, disjoint, none empty. */
typedef struct LaRuns {
  const int64_t* starts;
  const int64_t* stops;
  int64_t num_runs;
} LaRuns;

/* Where the selected values go, back to back. */
typedef struct LaValues {
  uint8_t* values; /* fixed width: room for exactly the values of the runs */
  int64_t bit_offset; /* of the first value, where values are single bits; others must be left alone */
  int64_t* ends; /* variable width: end of each value, counted as `end` is */
  int64_t end; /* variable width: bytes so far; to be advanced */
  /* Variable width: memory at `end` with room for num_bytes more; NULL when a limit forbids it. */
  uint8_t* (*reserve)(void* host, int64_t end, int64_t num_bytes);
  void* host;
} LaValues;

/* One mini-block chunk, or one block of levels. */
typedef struct LaChunk {
  const uint8_t* const* buffers;
  const int64_t* sizes;
  int64_t num_buffers;
  int64_t num_values;
} LaChunk;

typedef struct LaChunkCodec {
  int64_t bits; /* of a decoded value: 1 or a multiple of 8; 0 for variable width */
  int64_t num_buffers;
  int64_t plain_bytes; /* > 0: value i is bytes i * plain_bytes .. of buffer 0, decoded as they are; else 0 */
  const void* self;
  LaRefusal (*select)(const void* self, const LaChunk* chunk, const LaRuns* runs, LaValues* out);
} LaChunkCodec;

/* Values that lie one by one: value i is data[starts[i] .. starts[i] + sizes[i]], known to be inside the data. */
typedef struct LaValueCodec {
  int64_t bits; /* of a decoded value; 0 for variable width */
  int64_t is_plain; /* != 0: a stored value is the value */
  const void* self;
  LaRefusal (*expand)(const void* self, const uint8_t* data, const int64_t* starts, const int64_t* sizes,
                      int64_t num_values, LaValues* out);
} LaValueCodec;

/* Zipped values of any length that may be a head of a few bytes and then the value as it is: these are read straight to
 * where they belong, all others go through `expand`. */
typedef struct LaStoredValues {
  const void* self;
  /* Bytes of the head of a value that takes `size` bytes with it (never negative), were it stored so; negative where
   * none can be. */
  int64_t (*head_bytes)(const void* self, int64_t size);
  /* Whether a value of `size` bytes that begins with this head is stored so. */
  int64_t (*is_stored)(const void* self, const uint8_t* head, int64_t size);
} LaStoredValues;

/* A compressed buffer of one chunk. */
typedef struct LaFrameCodec {
  const void* self;
  /* Bytes of the content, as the frame declares them; negative where so few bytes cannot hold so many. */
  int64_t (*plain_bytes)(const void* self, const uint8_t* frame, int64_t size);
  /* Writes exactly the declared bytes; refuses a frame that holds more or fewer. */
  LaRefusal (*decompress)(const void* self, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes);
} LaFrameCodec;

#ifdef __cplusplus
}
#endif

#endif /* LANCE_ARROW_NATIVE_H */
