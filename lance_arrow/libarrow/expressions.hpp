// What a bound expression consists of, for a walk over it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/array/util.h"
#include "arrow/compute/api_scalar.h"
#include "arrow/compute/cast.h"
#include "arrow/compute/exec.h"
#include "arrow/compute/expression.h"
#include "arrow/datum.h"
#include "arrow/record_batch.h"
#include "arrow/result.h"
#include "arrow/type.h"

#include "libarrow/dot_paths.hpp"

namespace lance_arrow {

using arrow::compute::Expression;

enum NodeKind : int { kLiteral = 0, kField = 1, kCall = 2 };

inline int KindOf(const Expression& node) {
  if (node.call() != nullptr) return kCall;
  return node.literal() != nullptr ? kLiteral : kField;
}

inline const arrow::Datum& LiteralOf(const Expression& node) { return *node.literal(); }

// Positions of the children to follow, the column first.
inline std::vector<int> IndicesOf(const Expression& node) {
  const auto& indices = node.parameter()->indices;
  return std::vector<int>(indices.begin(), indices.end());
}

inline const std::string& FunctionOf(const Expression& node) { return node.call()->function_name; }

inline const std::vector<Expression>& ArgumentsOf(const Expression& node) { return node.call()->arguments; }

inline std::shared_ptr<arrow::DataType> TypeOf(const Expression& node) {
  return const_cast<arrow::DataType*>(node.type())->shared_from_this();
}

// The options of a call when they are of class `Options`, else null.
template <class Options>
const Options* OptionsOf(const Expression& node) {
  const auto& options = node.call()->options;
  if (options == nullptr || std::string_view(options->type_name()) != Options::kTypeName) return nullptr;
  return static_cast<const Options*>(options.get());
}

inline const arrow::compute::SetLookupOptions* LookupOf(const Expression& node) {
  return OptionsOf<arrow::compute::SetLookupOptions>(node);
}
inline const arrow::compute::MatchSubstringOptions* MatchOf(const Expression& node) {
  return OptionsOf<arrow::compute::MatchSubstringOptions>(node);
}
inline const arrow::compute::NullOptions* NullsOf(const Expression& node) {
  return OptionsOf<arrow::compute::NullOptions>(node);
}
// Bind as Arrow's own filter does: what gives the same for every row is worked out, so that casts in it cannot fail.
inline arrow::Result<Expression> BindFolded(const Expression& expression, const arrow::Schema& schema) {
  ARROW_ASSIGN_OR_RAISE(auto bound, expression.Bind(schema));
  return arrow::compute::SimplifyWithGuarantee(std::move(bound), arrow::compute::literal(true));
}

// What a bound expression gives for each row. As in Arrow's own scan, columns that the batch lacks are null, and those
// of another type than the schema's are cast.
inline arrow::Result<std::shared_ptr<arrow::Array>> Evaluate(const Expression& bound, const arrow::Schema& schema,
                                                             const std::shared_ptr<arrow::RecordBatch>& batch,
                                                             arrow::MemoryPool* pool) {
  if (!bound.IsBound()) return arrow::Status::Invalid("the expression is not bound to a schema");
  arrow::compute::ExecContext context(pool);
  context.set_use_threads(false);
  ARROW_ASSIGN_OR_RAISE(arrow::Datum found,
                        arrow::compute::ExecuteScalarExpression(bound, schema, arrow::Datum(batch), &context));
  if (found.is_scalar()) return arrow::MakeArrayFromScalar(*found.scalar(), batch->num_rows(), pool);
  return found.make_array();
}

// Every column, and field of a struct, that an expression needs.
inline std::vector<std::string> MentionedPaths(const Expression& expression, const arrow::Schema& schema) {
  return DotPaths(arrow::compute::FieldsInExpression(expression), schema);
}

inline int NullMatching(const arrow::compute::SetLookupOptions& options) {
  return static_cast<int>(options.null_matching_behavior);
}

}  // namespace lance_arrow
