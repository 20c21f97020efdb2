// Layouts of which no page is written here: they say what a page would cost, or that they hold none.
#include "engine/encode/encoders/page_writing.hpp"
#include "lance_arrow/block_facts.hpp"

namespace lance_arrow::engine {

namespace {

// Small zipped values cost more than chunks; where zipped values win all the same, Python writes them.
struct ZippedPages {
  double cost_of_byte;

  static double score(const void* self, const LaPage* page, const LaPageHost*) {
    if (page->values->num_values == 0) return LANCE_ARROW_UNFIT;
    return static_cast<double>(raw_bytes(*page->values)) * static_cast<const ZippedPages*>(self)->cost_of_byte + 1;
  }

  static LaRefusal encode(const void*, const LaPage*, const LaPageHost*, LaEncoded*) {
    return "this layout is written in Python";
  }
};

struct NoPages {
  static double score(const void*, const LaPage*, const LaPageHost*) { return LANCE_ARROW_UNFIT; }

  static LaRefusal encode(const void*, const LaPage*, const LaPageHost*, LaEncoded*) {
    return "this layout holds no such page";
  }
};

}  // namespace

HeldPageEncoder* hold_zipped_pages(double cost_of_byte) {
  return hold_pages(std::make_shared<ZippedPages>(ZippedPages{cost_of_byte}));
}

HeldPageEncoder* hold_no_pages() { return hold_pages(std::make_shared<NoPages>()); }

}  // namespace lance_arrow::engine
