// A page of a leaf without Python: nulls to levels, bounds of values, the choice of codecs, and encoded buffers.
//
//     PageRows ──► values, levels, facts ──► layout with the smallest score ──► codecs ──► EncodedLeaf ──► LeafPages
//              └──► bounds of zones
//
// A page whose choice only Python knows is left to it ("asked"); only its bounds are made here.
#pragma once

#include <string>
#include <vector>

#include "engine/encode/encoders/encoded.hpp"
#include "engine/encode/encoders/encoder_choice.hpp"
#include "engine/encode/leaves/held_rows.hpp"
#include "engine/encode/leaves/leaf_bounds.hpp"

namespace lance_arrow::engine {

// What may be chosen for a leaf, each in the order of names, which decides between equal scores.
struct EncoderSet {
  struct Layout {
    const LaPageEncoder* encoder;
    std::string type_url;
  };
  std::vector<Layout> layouts;
  ChunkChoice chunks;
  BlocksChoice blocks;
};

struct EncodedLeaf {
  bool is_asked = false;
  std::string description;
  std::vector<ByteVector> buffers;
  LeafBounds bounds;
};

// Encodes pages one after another. Several threads have one each.
class LeafEncoder {
 public:
  Outcome encode(const LeafForm& form, const EncoderSet& encoders, const PageRows& rows, EncodedLeaf* out);

 private:
  bool choose(const EncoderSet& encoders, const LaPage& page, std::string* description);

  std::vector<LeafRows> parts_;
  LeafValues values_;
  Encoded page_;
};

}  // namespace lance_arrow::engine
