#include "lance_arrow/fastlanes_unpacking.hpp"
