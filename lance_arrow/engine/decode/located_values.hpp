// Values of any length that lie anywhere in their data, put back to back with their offsets.
#pragma once

#include "lance_arrow/arithmetic.hpp"
#include "lance_arrow/variable.hpp"

namespace lance_arrow::engine {

Outcome measure_variable_values(const int64_t* sizes, int64_t num_values, int64_t* total);
Outcome decode_variable_values(const uint8_t* data, int64_t data_bytes, const int64_t* starts, const int64_t* sizes,
                               int64_t num_values, const VariableOut& out);

}  // namespace lance_arrow::engine
