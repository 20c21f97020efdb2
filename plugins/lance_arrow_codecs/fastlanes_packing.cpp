#include "lance_arrow/fastlanes_packing.hpp"
