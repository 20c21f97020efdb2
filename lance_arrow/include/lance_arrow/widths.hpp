// Loops over values of a usual width.
#pragma once

#include <cstdint>

namespace lance_arrow {

// The width as a constant where it is a usual one: the inner copy is then one move.
template <class Visit>
void with_width(int64_t width, Visit&& visit) {
  switch (width) {
    case 1: return visit.template operator()<1>();
    case 2: return visit.template operator()<2>();
    case 4: return visit.template operator()<4>();
    case 8: return visit.template operator()<8>();
    case 16: return visit.template operator()<16>();
    default: return visit.template operator()<0>();
  }
}

}  // namespace lance_arrow
