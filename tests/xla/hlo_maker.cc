// SPDX-License-Identifier: Apache-2.0
#include "tests/xla/hlo_maker.h"

#include <numeric>

#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {

using namespace xla_import;

ProgramMaker::ProgramMaker() : entry_(module.add_computations()), current_(entry_) {
  module.set_name("made");
  entry_->set_name("main");
  entry_->set_id(next_++);
  module.set_entry_computation_id(entry_->id());
}

ProgramMaker& ProgramMaker::begin(const std::string& name) {
  current_ = module.add_computations();
  current_->set_name(name);
  current_->set_id(next_++);
  return *this;
}

std::int64_t ProgramMaker::end() {
  const std::int64_t id = current_->id();
  current_ = entry_;
  return id;
}

Made ProgramMaker::add(const std::string& opcode, const Extents& shape, const std::vector<Made>& operands,
                       std::int32_t type) {
  Made in = current_->add_instructions();
  in->set_id(next_++);
  in->set_opcode(opcode);
  in->set_name(opcode + "." + std::to_string(in->id()));
  in->mutable_shape()->set_element_type(type);
  in->mutable_shape()->mutable_dimensions()->Add(shape.begin(), shape.end());
  for (Made operand : operands) in->add_operand_ids(operand->id());
  current_->set_root_id(in->id());
  return in;
}

Made ProgramMaker::parameter(const Extents& shape, const std::string& op_name, std::int32_t type) {
  std::int64_t number = 0;
  for (const Instruction& in : current_->instructions()) number += in.opcode() == "parameter";
  Made in = add("parameter", shape, {}, type);
  in->set_parameter_number(number);
  if (!op_name.empty()) in->mutable_metadata()->set_op_name(op_name);
  return in;
}

Made ProgramMaker::floats(const Extents& shape, const std::vector<float>& values) {
  Made in = add("constant", shape, {});
  *in->mutable_literal()->mutable_shape() = in->shape();
  in->mutable_literal()->mutable_f32s()->Add(values.begin(), values.end());
  return in;
}

Made ProgramMaker::integers(const Extents& shape, const std::vector<std::int32_t>& values) {
  Made in = add("constant", shape, {}, kS32);
  *in->mutable_literal()->mutable_shape() = in->shape();
  in->mutable_literal()->mutable_s32s()->Add(values.begin(), values.end());
  return in;
}

Made ProgramMaker::broadcast(Made from, const Extents& shape, const Extents& dimensions) {
  Made in = add("broadcast", shape, {from}, from->shape().element_type());
  in->mutable_dimensions()->Add(dimensions.begin(), dimensions.end());
  return in;
}

Made ProgramMaker::matmul(Made x, Made y) {
  Extents shape = shape_of(x), right = shape_of(y);
  shape.pop_back();
  shape.insert(shape.end(), right.begin() + 1, right.end());
  Made in = add("dot", shape, {x, y});
  in->mutable_dot_dimension_numbers()->add_lhs_contracting_dimensions(x->shape().dimensions_size() - 1);
  in->mutable_dot_dimension_numbers()->add_rhs_contracting_dimensions(0);
  return in;
}

Made ProgramMaker::compare(Made x, Made y, const std::string& direction) {
  Made in = add("compare", shape_of(x), {x, y}, kPred);
  in->set_comparison_direction(direction);
  return in;
}

Made ProgramMaker::reduce(const std::string& opcode, Made x, float from, const Extents& axes) {
  begin("reducer");
  const Made a = parameter({}), b = parameter({});
  add(opcode, {}, {a, b});
  const std::int64_t reducer = end();
  Extents shape;
  for (int d = 0; d < x->shape().dimensions_size(); ++d) {
    if (std::ranges::find(axes, d) == axes.end()) shape.push_back(x->shape().dimensions(d));
  }
  const Made start = number(from);
  Made in = add("reduce", shape, {x, start});
  in->mutable_dimensions()->Add(axes.begin(), axes.end());
  in->add_called_computation_ids(reducer);
  return in;
}

Made ProgramMaker::tuple(const std::vector<Made>& parts) {
  Made in = add("tuple", {}, parts, kTuple);
  for (Made part : parts) *in->mutable_shape()->add_tuple_shapes() = part->shape();
  return in;
}

Made ProgramMaker::element(Made tuple, int i) {
  Made in = add("get-tuple-element", {}, {tuple});
  *in->mutable_shape() = tuple->shape().tuple_shapes(i);
  in->set_tuple_index(i);
  return in;
}

std::string ProgramMaker::bytes(bool wrapped) const {
  if (!wrapped) return module.SerializeAsString();
  hlo_file::HloProto whole;
  *whole.mutable_hlo_module() = module;
  return whole.SerializeAsString();
}

std::string ProgramMaker::write(const std::string& name) const { return write_file(fresh_folder() / name, bytes()); }

Extents shape_of(Made made) { return {made->shape().dimensions().begin(), made->shape().dimensions().end()}; }

}  // namespace superstep::test
