// SPDX-License-Identifier: Apache-2.0
// What an instruction of an XLA program becomes: values, and ONNX nodes that make them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/onnx/onnx_subset.pb.h"
#include "model/xla/hlo_file.h"

namespace superstep::xla_import {

// Numbers of XLA's PrimitiveType.
enum Type : std::int32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kTuple = 13,
  kBf16 = 16
};
bool is_floating(std::int32_t type);
std::string name_of(std::int32_t type);  // "f32", or "type 99"
// The ONNX type for values of a type: small unsigned integers become larger signed ones. Throws Refusal.
std::int32_t onnx_type(std::int32_t type);

// Thrown where a sound instruction is not imported: the reason, and what to do.
struct Refusal {
  std::string why;
};

struct Value;
// The value is a sum of so many: what makes the mean in its place.
struct Mean {
  double count = 0;
  std::function<Value()> make;
};

// A result of an instruction. Broadcasts are not carried out where the reader does so by itself: `stored` is the shape
// that the tensor has, with extents of 1 along which elements repeat, or none at all for one number.
struct Value {
  std::int32_t type = 0;
  Extents shape, stored;
  std::string tensor;              // empty: no node yet, as of a known number
  std::optional<double> number;    // of all elements, where known
  std::int64_t counts_along = -1;  // elements are their index along this dimension
  std::shared_ptr<const Mean> mean;
  std::vector<Value> parts;  // of a tuple
};

using Attribute =
    std::pair<std::string, std::variant<std::int64_t, Extents, float, std::string, onnx_file::TensorProto>>;

class Writer {
 public:
  explicit Writer(onnx_file::ModelProto& model) : graph_(*model.mutable_graph()) {}

  // Nodes from now on are of this instruction. `name` is that of its result, `label` that of its nodes.
  void begin(const std::string& name, const std::string& label);
  // The instruction's result, which gets its name if the last node made it.
  Value finish(Value result);

  // A node; returns the name of its result.
  std::string add(const std::string& op_type, const std::vector<std::string>& operands,
                  const std::vector<Attribute>& attributes = {});
  // A node that the importer refuses, with so many results.
  std::vector<std::string> add_refused(const std::string& opcode, const std::vector<std::string>& operands,
                                       int results);
  std::string integers(const Extents& values);
  std::string constant(const onnx_file::TensorProto& tensor);
  std::string constant(double number, std::int32_t type);

  std::string stored(const Value& value);  // with extents of 1 where elements repeat
  std::string full(const Value& value);    // with all elements

  std::int64_t nodes() const { return graph_.node_size(); }
  const std::map<std::string, Extents>& shapes() const { return shapes_; }  // of results, by name

 private:
  onnx_file::GraphProto& graph_;
  std::string name_, label_;
  int first_ = 0;  // the instruction's first node
  std::map<std::string, std::string> constants_;
  std::map<std::string, Extents> shapes_;
};

// A value of a tensor with all elements.
Value whole(std::int32_t type, Extents shape, std::string tensor);

// What a handler sees of its instruction.
struct Call {
  const Program& program;
  const Computation& computation;
  const Instruction& in;
  std::vector<Value> operands;
  Writer& w;

  const Value& at(std::size_t i) const { return operands.at(i); }
  std::int32_t type() const { return in.shape().element_type(); }
  Extents shape() const { return {in.shape().dimensions().begin(), in.shape().dimensions().end()}; }
  Value result(std::string tensor) const { return whole(type(), shape(), std::move(tensor)); }
  // The operation of a computation of two numbers, as "add". Throws Refusal where it is another computation.
  std::string reducer(int called = 0) const;
};

// Moved dimensions: dimension i of the result is order[i] of the operand. No node where nothing moves.
std::string transposed(Writer& w, const std::string& tensor, const Extents& order);
Extents permuted(const Extents& shape, const Extents& order);
Extents inverse(const Extents& order);  // the order that leads back
std::int64_t volume_of(const Extents& shape);

using Handler = Value (*)(Call&);
// nullptr: an opcode that is not imported.
Handler find_handler(const std::string& opcode);

// The families of handlers, one file each.
struct Row {
  std::string_view opcode;
  Handler handler;
};
const std::vector<Row>& elementwise_rows();
const std::vector<Row>& shape_rows();
const std::vector<Row>& product_rows();
const std::vector<Row>& reduce_rows();
const std::vector<Row>& index_rows();

}  // namespace superstep::xla_import
