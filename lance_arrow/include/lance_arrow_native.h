/* The C side of a codec, for reads of few rows: one call per chunk, no Python object, no GIL.
 *
 * A bound codec offers it by a method `native()` that returns a capsule named LANCE_ARROW_CHUNK_CODEC or
 * LANCE_ARROW_VALUE_CODEC around the struct below (see docs/plugins/write_a_codec.md), a bound buffer scheme by one
 * named LANCE_ARROW_FRAME_CODEC; what has none is served by its `decode`, or `decompress`, as always. A codec of zipped
 * values, or a buffer scheme, that keeps some values as they are behind a head may say so by a method
 * `native_stored()`, which returns a capsule named LANCE_ARROW_STORED_VALUES. A buffer scheme that can decompress the
 * first bytes of a frame alone says so by `native_prefixes()`, with a capsule named LANCE_ARROW_FRAME_PREFIXES. A codec
 * of chunks of numbers that can compare them without making a column says so by `native_marks()`, with a capsule named
 * LANCE_ARROW_CHUNK_MARKS.
 *
 * Functions must not keep pointers, call Python, or touch a byte outside what they are given, whatever the bytes say.
 * They may be called from any thread, from several at once, and again by the same thread before they return (a codec
 * calls its child, which may be of its own kind): scratch memory belongs to a call, never to a thread. */
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
#define LANCE_ARROW_FRAME_PREFIXES "lance_arrow.frame_prefixes/1"
#define LANCE_ARROW_CHUNK_MARKS "lance_arrow.chunk_marks/1"

/* NULL for success, else a static ASCII sentence: what is wrong with the bytes, as the message of an error that names
 * their column and page. Two sentences say nothing of the bytes, and make the engine call `decode` for the same values:
 * memory is above a limit (which `decode` names), or the codec has no C code for what the bytes ask for. */
typedef const char* LaRefusal;
#define LA_ABOVE_LIMIT "the values are above their limit of bytes"
#define LA_UNTOLD (-1)
#define LA_LEFT "the codec leaves these values to its method in Python"

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
  /* Bytes of the content, as the frame declares them; LA_UNTOLD where it does not, and `decompress` in Python is asked;
   * another negative number where so few bytes cannot hold so many. */
  int64_t (*plain_bytes)(const void* self, const uint8_t* frame, int64_t size);
  /* Writes exactly the declared bytes; refuses a frame that holds more or fewer. */
  LaRefusal (*decompress)(const void* self, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes);
} LaFrameCodec;

/* The first bytes of a frame, for reads of few rows. What follows them is not looked at. */
typedef struct LaFramePrefixes {
  const void* self;
  /* Writes at least `prefix_bytes` of the declared `out_bytes`; it may write to all of these. */
  LaRefusal (*decompress)(const void* self, const uint8_t* frame, int64_t size, uint8_t* out, int64_t out_bytes,
                          int64_t prefix_bytes);
} LaFramePrefixes;

/* Numbers that satisfy a condition. */
#define LA_SIGNED 0 /* two's complement */
#define LA_UNSIGNED 1
#define LA_FLOAT 2 /* IEEE 754, of 32 or 64 bits */

#define LA_MOST_RANGES 8 /* conditions of more are not asked of codecs: the engine compares decoded numbers */

typedef struct LaNumberRanges {
  int64_t kind;
  int64_t bits; /* 8, 16, 32 or 64 */
  /* Closed ranges, ascending and disjoint: the bits of the first and last number of each. */
  const uint64_t* lows;
  const uint64_t* highs;
  int64_t num_ranges;
  int64_t nan_mark; /* 1 where NaN satisfies it, else 0 */
} LaNumberRanges;

/* Byte strings that satisfy a condition: ranges in the order of bytes, ascending and disjoint. A string is in range i
 * if lows[i] <= string < highs[i]. Behind each bound lie at least 8 more bytes that may be read. */
#define LA_NO_END (-1) /* as the size of the last high: all that follow are in the range */
#define LA_ONLY_LOW (-2) /* as the size of a high: its low alone is */

typedef struct LaTextBound {
  const uint8_t* bytes;
  int64_t size;
} LaTextBound;

typedef struct LaTextRanges {
  const LaTextBound* lows;
  const LaTextBound* highs;
  int64_t num_ranges;
} LaTextRanges;

/* What a codec says of the values of a chunk without making a column of them. The engine asks for filters. A function
 * that is NULL, or refuses with LA_LEFT, makes it decode the values, and compare. */
typedef struct LaChunkMarks {
  int64_t struct_bytes; /* sizeof(LaChunkMarks) of the header that the codec was compiled with: later ones have more */
  const void* self;
  /* Writes a byte for each selected number, back to back: 1 where it lies in a range, else 0. */
  LaRefusal (*select_where)(const void* self, const LaChunk* chunk, const LaRuns* runs, const LaNumberRanges* ranges,
                            uint8_t* marks);
  /* Bounds of all numbers of the chunk, which are integers of this kind: none is outside. They may be too wide. */
  LaRefusal (*summarise)(const void* self, const LaChunk* chunk, int64_t kind, uint64_t* least, uint64_t* greatest);
  /* The same as `select_where`, of values of any length. Structs of 32 bytes end before it. */
  LaRefusal (*select_texts)(const void* self, const LaChunk* chunk, const LaRuns* runs, const LaTextRanges* ranges,
                            uint8_t* marks);
} LaChunkMarks;

/* ---- Writing ------------------------------------------------------------------------------------------------------
 *
 * The writing half of a codec, or of a layout, for pages that are written without Python. A factory offers it by a
 * method `native_encoder` (see `lance_arrow.spi.native.HasNativeEncoder`), which returns a capsule around one of the
 * structs below. A leaf is written natively where every factory that could be chosen for it offers one; what has none
 * is asked in Python, page by page, as always. Scores and bytes must be those of the methods in Python. */

#define LANCE_ARROW_CHUNK_ENCODER "lance_arrow.chunk_encoder/1"
#define LANCE_ARROW_BLOCKS_ENCODER "lance_arrow.blocks_encoder/1"
#define LANCE_ARROW_PAGE_ENCODER "lance_arrow.page_encoder/1"
#define LANCE_ARROW_FRAME_ENCODER "lance_arrow.frame_encoder/1"

/* Scores are estimated bytes. These two are none: the encoder does not fit; only its method in Python knows, which is
 * then asked about the whole page. */
#define LANCE_ARROW_UNFIT (-1.0)
#define LANCE_ARROW_ASK (-2.0)

/* Values of one width, those under nulls zero; or byte strings, those under nulls empty. */
typedef struct LaBlock {
  int64_t bits; /* of a value: 1, or a multiple of 8; 0 for variable width */
  int64_t num_values;
  const uint8_t* values; /* single bits from bit 0 on, with zeros behind the last */
  int64_t num_bytes;
  const uint8_t* present; /* bit i: value i is not null; NULL where none is */
  int64_t num_nulls;
  /* Of integers of 8, 16, 32 or 64 bits; no groups for other widths. A group has 1024 values, the last one fewer. */
  int64_t num_groups;
  const int64_t* group_bits; /* of the largest value of each group */
  int64_t total_bits;
  int64_t max_bits;
  int64_t num_runs; /* of equal values */
  /* Variable width: value i is bytes offsets[i] .. offsets[i + 1], and offsets[0] is 0. NULL for fixed width. */
  const int64_t* offsets;
  int64_t offset_bits; /* of the offsets of the column: 32 or 64; offsets are written with so many */
  int64_t max_value_bytes;
} LaBlock;

/* As `lance_arrow.spi.ChunkRules`. */
typedef struct LaChunkRules {
  int64_t max_bytes;
  int64_t max_values;
  int64_t target_bytes;
} LaChunkRules;

/* Where encoded bytes go. The host keeps nothing that it is given but copies. */
typedef struct LaEncoded {
  void* host;
  /* Room behind the bytes of a buffer (numbered from 0); NULL where there is no memory. Valid until the next call. */
  uint8_t* (*room)(void* host, int64_t buffer, int64_t num_bytes);
  /* Ends a chunk, or a block: its values, and the bytes that it has in each buffer. */
  LaRefusal (*chunk)(void* host, int64_t num_values, const int64_t* sizes, int64_t num_buffers);
  /* The serialized message that describes it: a `CompressiveEncoding` of a codec, the outermost message of a layout. */
  LaRefusal (*describe)(void* host, const uint8_t* message, int64_t num_bytes);
} LaEncoded;

/* Mini-block chunks. */
typedef struct LaChunkEncoder {
  const void* self;
  double (*score)(const void* self, const LaBlock* block, const LaChunkRules* rules);
  LaRefusal (*encode)(const void* self, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out);
} LaChunkEncoder;

/* Many blocks of one description, such as the levels of chunks: block i is values starts[i] .. starts[i + 1]. */
typedef struct LaBlocksEncoder {
  const void* self;
  double (*score)(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks);
  LaRefusal (*encode)(const void* self, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                      LaEncoded* out);
} LaBlocksEncoder;

/* A buffer scheme with one level: compresses one buffer, which is not empty, to a frame. */
typedef struct LaFrameEncoder {
  const void* self;
  /* Bytes that a frame of so many takes at most; negative where only the method in Python compresses them. */
  int64_t (*room)(const void* self, int64_t num_bytes);
  /* Returns the bytes of the frame; negative for a failure. */
  int64_t (*compress)(const void* self, const uint8_t* bytes, int64_t num_bytes, uint8_t* out);
} LaFrameEncoder;

/* Rows of one leaf. */
typedef struct LaPage {
  const LaBlock* values;
  int64_t num_rows;
  int64_t num_entries;
  const uint16_t* def_levels; /* of each entry; NULL without levels; 0 where the value is not null */
  int64_t max_def;
  const uint8_t* layers; /* numbers of `RepDefLayer`, the inner-most first */
  int64_t num_layers;
  /* Leaves within lists: an entry is a value, or a null or empty list, or lies in a null. */
  const uint16_t* rep_levels; /* NULL without lists; `max_rep` where a row begins */
  int64_t max_rep;
  int64_t max_visible; /* entries have a value up to this definition level */
  const uint16_t* value_levels; /* of each value 0 if it is not null; NULL without nulls */
} LaPage;

/* What the writer does for a layout: it chooses among the codecs. */
typedef struct LaPageHost {
  void* host;
  double (*estimate_chunks)(void* host, const LaBlock* block, const LaChunkRules* rules);
  LaRefusal (*encode_chunks)(void* host, const LaBlock* block, const LaChunkRules* rules, LaEncoded* out);
  LaRefusal (*encode_blocks)(void* host, const LaBlock* block, const int64_t* starts, int64_t num_blocks,
                             LaEncoded* out);
} LaPageHost;

/* A layout. A refusal of `encode` makes the writer ask its methods in Python. */
typedef struct LaPageEncoder {
  const void* self;
  double (*score)(const void* self, const LaPage* page, const LaPageHost* host);
  LaRefusal (*encode)(const void* self, const LaPage* page, const LaPageHost* host, LaEncoded* out);
} LaPageEncoder;

#ifdef __cplusplus
}
#endif

#endif /* LANCE_ARROW_NATIVE_H */
