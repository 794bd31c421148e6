// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/sequences.h"

#include <algorithm>
#include <map>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

const Sequence& wanted(const Sequence* sequence) {
  if (!sequence) Node::fail("operand 0 is not a sequence");
  return *sequence;
}

// Operand `i` as a place among `count`; counted from the end when negative.
std::ptrdiff_t place(const Node& n, std::size_t i, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  const auto given = static_cast<std::int64_t>(n.number(i, "position"));
  const std::int64_t at = given < 0 ? given + size : given;
  if (at < 0 || at >= size)
    Node::fail("position " + std::to_string(given) + " in a sequence of " + std::to_string(size));
  return at;
}

SequenceResult construct(Node& n, const Sequence*) {
  Sequence all;
  for (std::size_t i = 0; i < n.operands(); ++i) all.push_back(n.in(i));
  return {all, {}};
}

SequenceResult empty(Node& n, const Sequence*) {
  n.integer_attribute("dtype", kFloat);  // of elements that are not there
  return {Sequence{}, {}};
}

SequenceResult sequence_at(Node& n, const Sequence* sequence) {
  const Sequence& all = wanted(sequence);
  return {std::nullopt, all[static_cast<std::size_t>(place(n, 1, all.size()))]};
}

SequenceResult insert(Node& n, const Sequence* sequence) {
  Sequence all = wanted(sequence);
  // A new element may also stand behind the last.
  const std::int64_t end = static_cast<std::int64_t>(all.size());
  std::int64_t to = n.has(2) ? static_cast<std::int64_t>(n.number(2, "position")) : end;
  if (to < 0) to += end;
  if (to < 0 || to > end) Node::fail("position " + std::to_string(to) + " in a sequence of " + std::to_string(end));
  all.insert(all.begin() + to, n.in(1));
  return {all, {}};
}

SequenceResult erase(Node& n, const Sequence* sequence) {
  Sequence all = wanted(sequence);
  if (all.empty()) Node::fail("nothing to take from an empty sequence");
  all.erase(n.has(1) ? all.begin() + place(n, 1, all.size()) : all.end() - 1);
  return {all, {}};
}

SequenceResult length(Node& n, const Sequence* sequence) {
  return {std::nullopt, integer_constant(n.b, {}, {static_cast<std::int64_t>(wanted(sequence).size())})};
}

SequenceResult concat_from_sequence(Node& n, const Sequence* sequence) {
  Sequence all = wanted(sequence);
  if (all.empty()) Node::fail("nothing to concatenate");
  const bool stacks = n.integer_attribute("new_axis", 0) != 0;
  const auto rank = static_cast<std::int64_t>(n.b.info(all[0]).shape.size()) + (stacks ? 1 : 0);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), rank);
  for (TensorId& t : all) {
    if (stacks) t = with_ones(n.b, t, static_cast<std::size_t>(axis), 1);
  }
  return {std::nullopt, n.b.concat(std::move(all), axis)};
}

// Into slices of 1, of one length (the last may be shorter), or of given lengths.
SequenceResult split_to_sequence(Node& n, const Sequence*) {
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  const std::int64_t extent = n.shape(0)[static_cast<std::size_t>(axis)];
  const bool keeps = n.integer_attribute("keepdims", 1) != 0 || n.has(1);
  std::vector<std::int64_t> sizes;
  if (n.has(1) && n.rank(1) > 0) {
    sizes = n.integers(1, "split");
  } else {
    const std::int64_t size = n.has(1) ? n.integers(1, "split").at(0) : 1;
    if (size < 1) Node::fail("slices of " + std::to_string(size));
    constexpr std::int64_t kMost = 1 << 16;
    if (extent / size > kMost) Node::not_supported("a sequence of more than 65536 tensors");
    for (std::int64_t left = extent; left > 0; left -= size) sizes.push_back(std::min(size, left));
  }
  Sequence all;
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    if (size < 0 || begin + size > extent) Node::fail("slices " + to_text(sizes) + " of " + to_text(n.shape(0)));
    TensorId part = n.b.slice(n.in(0), axis, begin, begin + size);
    if (!keeps) {
      Shape shape = n.b.info(part).shape;
      shape.erase(shape.begin() + axis);
      part = n.b.reshape(part, std::move(shape));
    }
    all.push_back(part);
    begin += size;
  }
  if (begin != extent) Node::fail("slices " + to_text(sizes) + " of " + to_text(n.shape(0)));
  return {all, {}};
}

using Run = SequenceResult (*)(Node&, const Sequence*);

const std::map<std::string, Run>& sequence_ops() {
  static const std::map<std::string, Run> all = {
      {"ConcatFromSequence", concat_from_sequence},
      {"SequenceAt", sequence_at},
      {"SequenceConstruct", construct},
      {"SequenceEmpty", empty},
      {"SequenceErase", erase},
      {"SequenceInsert", insert},
      {"SequenceLength", length},
      {"SplitToSequence", split_to_sequence},
  };
  return all;
}

}  // namespace

bool is_sequence_op(const std::string& domain, const std::string& op_type) {
  return domain.empty() && sequence_ops().contains(op_type);
}

SequenceResult run_sequence_op(Node& n, const std::string& op_type, const Sequence* sequence) {
  return sequence_ops().at(op_type)(n, sequence);
}

}  // namespace superstep::onnx_import
