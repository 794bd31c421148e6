// SPDX-License-Identifier: Apache-2.0
// What a handler sees of the node it turns into ops: operands, known values, attributes. Attributes
// that no handler asked for make the node unsupported, so newer forms are never taken for older ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/builder.h"
#include "model/onnx/import_options.h"
#include "model/onnx/onnx_subset.pb.h"
#include "model/onnx/tensors.h"

namespace superstep::onnx_import {

// Thrown by handlers: the node is sound, but not among what we import.
struct Unsupported {
  std::string why;
  TensorId unknown;  // set when the value of this tensor would have to be known
};

// What is common to all nodes of one import.
struct Context {
  const ImportOptions& options;
  const std::set<std::string>& read_names;  // of tensors that a node or the graph's outputs read
  bool training = false;                    // the file has a loss: dropout without a mode of its own drops
  std::int64_t file_batch = 0;              // the batch dimension of the inputs as the file says; 0: nothing
  // Shapes of all tensors by their names in the file when imported with the batch that the file says;
  // null when this is such an import.
  const std::map<std::string, TensorInfo>* as_in_file = nullptr;
  // ... and the integers that were known then: targets of reshapes.
  const std::map<std::string, std::vector<std::int64_t>>* integers_in_file = nullptr;
  const std::map<std::string, TensorId>* names = nullptr;  // of all tensors so far, in the file

  // The type that floating values of the file's type `type` get.
  DType float_type(DType type) const { return options.keep_types || !is_float(type) ? type : options.precision; }
};

class Node {
 public:
  GraphBuilder& b;
  const Context& context;
  const std::int64_t opset;
  const std::string_view core;  // of plain handlers: the registered op that does the same

  Node(GraphBuilder& builder, const Context& whole, const onnx_file::NodeProto& proto, std::int64_t opset_version,
       std::string_view core_op, std::vector<TensorId> operands);

  // Operands. in() throws Error when operand `i` is left out.
  std::size_t operands() const { return operands_.size(); }
  bool has(std::size_t i) const { return i < operands_.size() && operands_[i].valid(); }
  TensorId in(std::size_t i) const;
  TensorId optional_in(std::size_t i) const { return has(i) ? operands_[i] : TensorId{}; }
  const Shape& shape(std::size_t i) const { return b.info(in(i)).shape; }
  DType type(std::size_t i) const { return b.info(in(i)).type; }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  // An axis counted from the front; throws Error when it is not one of `rank` dimensions.
  std::int64_t axis(std::int64_t axis, std::int64_t rank) const;
  std::vector<std::int64_t> axes(std::vector<std::int64_t> axes, std::int64_t rank) const;  // sorted, distinct

  std::size_t results() const;             // listed, with those left out in between
  bool wants_result(std::size_t i) const;  // somebody may read result `i`
  const std::string& operand_name(std::size_t i) const { return proto_.input(static_cast<int>(i)); }
  const std::string& result_name(std::size_t i) const { return proto_.output(static_cast<int>(i)); }

  // Known values. The last three throw Unsupported when they are not known.
  const Array* known(TensorId t) const;
  const Array& values(std::size_t i, std::string_view what) const;
  std::vector<std::int64_t> integers(std::size_t i, std::string_view what) const;
  double number(std::size_t i, std::string_view what) const;  // throws Error unless it is one element

  // Attributes; reading one marks it as understood.
  bool has_attribute(std::string_view name);
  std::int64_t integer_attribute(std::string_view name, std::int64_t fallback);
  double number_attribute(std::string_view name, double fallback);
  std::string text_attribute(std::string_view name, std::string fallback);
  std::vector<std::int64_t> integers_attribute(std::string_view name, std::vector<std::int64_t> fallback = {});
  std::vector<double> numbers_attribute(std::string_view name);
  std::vector<std::string> texts_attribute(std::string_view name);
  const onnx_file::AttributeProto* attribute(std::string_view name);
  std::string unread_attribute() const;  // the first one; empty when there is none

  [[noreturn]] static void fail(const std::string& message);           // Error
  [[noreturn]] static void not_supported(const std::string& message);  // Unsupported
  // Throws Unsupported unless the registry has the op.
  static void need(std::string_view op);

 private:
  const onnx_file::NodeProto& proto_;
  std::vector<TensorId> operands_;
  std::set<std::string, std::less<>> read_;
};

using Results = std::vector<TensorId>;

struct Handler {
  std::string_view op_type;
  std::int64_t since;  // oldest version of the operator set whose form is understood
  std::size_t most_operands;
  Results (*make)(Node&);
  std::string_view core = {};
};

// The domain of weight updates and derivatives.
inline constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";

// nullptr: an op type or a domain that we do not import.
const Handler* find_handler(const std::string& domain, const std::string& op_type);

}  // namespace superstep::onnx_import
