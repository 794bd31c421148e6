// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/control_flow.h"

#include <limits>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

using onnx_file::GraphProto;

const GraphProto& subgraph(Node& n, std::string_view name) {
  const auto* attribute = n.attribute(name);
  if (!attribute || !attribute->has_g()) Node::fail("attribute \"" + std::string(name) + "\" is not a graph");
  return attribute->g();
}

Results if_else(Node& n, const AddGraph& add) {
  if (!n.known(n.in(0)))
    throw Unsupported{
        "the data decide which branch is taken; export the model without it (often it is post-processing)", n.in(0)};
  const bool condition = n.number(0, "condition") != 0;
  const GraphProto &yes = subgraph(n, "then_branch"), &no = subgraph(n, "else_branch");
  return add(condition ? yes : no, {});
}

constexpr std::int64_t kMostTurns = 100'000;

TensorId truth(GraphBuilder& b, bool value) { return b.constant(Array::from(DType::boolean, {}, {value ? 1.0 : 0.0})); }

// One result per turn, put together along a new dimension.
TensorId stacked(GraphBuilder& b, const std::vector<TensorId>& parts, std::int64_t axis) {
  if (parts.empty()) Node::not_supported("results of no turn, whose shape nobody knows");
  std::vector<TensorId> rows;
  for (TensorId t : parts) rows.push_back(with_ones(b, t, static_cast<std::size_t>(axis), 1));
  return b.concat(std::move(rows), axis);
}

Results loop(Node& n, const AddGraph& add) {
  GraphBuilder& b = n.b;
  const GraphProto& body = subgraph(n, "body");
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (n.has(i) && !n.known(n.in(i)))
      throw Unsupported{
          "the data decide how many turns there are; export the model without the loop (often it is "
          "post-processing)",
          n.in(i)};
  }
  const double given = n.has(0) ? n.number(0, "trip count") : std::numeric_limits<double>::infinity();
  bool goes_on = !n.has(1) || n.number(1, "condition") != 0;
  Results carried;
  for (std::size_t i = 2; i < n.operands(); ++i) carried.push_back(n.in(i));
  const std::size_t states = carried.size();
  const auto outputs = static_cast<std::size_t>(body.output_size());
  if (outputs < 1 + states)
    Node::fail("the body has " + std::to_string(outputs) + " results for " + std::to_string(states) + " states");
  std::vector<std::vector<TensorId>> scanned(outputs - 1 - states);
  std::optional<GraphBuilder::Loop> turns(std::in_place, b);
  for (std::int64_t turn = 0; goes_on && static_cast<double>(turn) < given; ++turn) {
    turns->next();
    if (turn == kMostTurns) Node::not_supported("more than " + std::to_string(kMostTurns) + " turns");
    Results in{integer_constant(b, {}, {turn}), truth(b, true)};
    in.insert(in.end(), carried.begin(), carried.end());
    const Results out = add(body, in);
    const Array* condition = n.known(out[0]);
    if (!condition)
      throw Unsupported{"the data decide whether there is a turn " + std::to_string(turn + 1) +
                            "; export the model without the loop (often it is post-processing)",
                        out[0]};
    goes_on = condition->at(0) != 0;
    carried.assign(out.begin() + 1, out.begin() + 1 + static_cast<std::ptrdiff_t>(states));
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(out[1 + states + i]);
  }
  turns.reset();
  for (const auto& parts : scanned) carried.push_back(stacked(b, parts, 0));
  return carried;
}

struct ScanForm {
  std::size_t states = 0;
  std::vector<std::int64_t> in_axes, out_axes, in_reversed, out_reversed;
};

// Over the scanned operands, of which each turn sees one slice.
Results scan_over(Node& n, const GraphProto& body, const ScanForm& form, Results states, const Results& scanned,
                  const AddGraph& add) {
  GraphBuilder& b = n.b;
  std::int64_t turns = 0;
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    turns = b.info(scanned[i]).shape.at(static_cast<std::size_t>(form.in_axes[i]));
  }
  if (turns > kMostTurns) Node::not_supported("more than " + std::to_string(kMostTurns) + " turns");
  const auto outputs = static_cast<std::size_t>(body.output_size());
  if (outputs < form.states)
    Node::fail("the body has " + std::to_string(outputs) + " results for " + std::to_string(form.states) + " states");
  std::vector<std::vector<TensorId>> made(outputs - form.states);
  std::optional<GraphBuilder::Loop> loop(std::in_place, b);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    loop->next();
    Results in = states;
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      const std::int64_t axis = form.in_axes[i], at = form.in_reversed[i] != 0 ? turns - 1 - turn : turn;
      Shape shape = b.info(scanned[i]).shape;
      if (shape.at(static_cast<std::size_t>(axis)) != turns) Node::fail("scanned operands differ in length");
      shape.erase(shape.begin() + axis);
      in.push_back(b.reshape(b.slice(scanned[i], axis, at, at + 1), shape));
    }
    const Results out = add(body, in);
    states.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(form.states));
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto& parts = made[i];
      parts.insert(form.out_reversed[i] != 0 ? parts.begin() : parts.end(), out[form.states + i]);
    }
  }
  loop.reset();
  for (std::size_t i = 0; i < made.size(); ++i) states.push_back(stacked(b, made[i], form.out_axes[i]));
  return states;
}

// Operator set 8: all with a batch dimension in front, one scan per sample.
Results batched_scan(Node& n, const GraphProto& body, const ScanForm& form, const AddGraph& add) {
  GraphBuilder& b = n.b;
  if (n.has(0)) Node::not_supported("sequence lengths");
  const std::int64_t samples = n.operands() > 1 && n.rank(1) > 0 ? n.shape(1)[0] : 0;
  std::vector<std::vector<TensorId>> made;
  for (std::int64_t s = 0; s < samples; ++s) {
    Results own;
    for (std::size_t i = 1; i < n.operands(); ++i) {
      Shape shape = n.shape(i);
      if (shape.empty() || shape[0] != samples) Node::fail("operands differ in their batch");
      shape.erase(shape.begin());
      own.push_back(b.reshape(b.slice(n.in(i), 0, s, s + 1), shape));
    }
    const auto states = static_cast<std::ptrdiff_t>(form.states);
    const Results out = scan_over(n, body, form, Results(own.begin(), own.begin() + states),
                                  Results(own.begin() + states, own.end()), add);
    made.resize(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) made[i].push_back(out[i]);
  }
  Results results;
  for (const auto& parts : made) results.push_back(stacked(b, parts, 0));
  return results;
}

Results scan(Node& n, const AddGraph& add) {
  constexpr std::int64_t kWithoutBatch = 9;
  const GraphProto& body = subgraph(n, "body");
  const bool batched = n.opset < kWithoutBatch;
  const auto inputs = static_cast<std::size_t>(std::max<std::int64_t>(n.integer_attribute("num_scan_inputs", 0), 0));
  const std::size_t operands = n.operands() - (batched && n.operands() > 0 ? 1 : 0);
  if (inputs > operands || inputs == 0)
    Node::fail(std::to_string(inputs) + " scanned of " + std::to_string(operands) + " operands");
  ScanForm form{operands - inputs, {}, {}, {}, {}};
  const auto made = static_cast<std::size_t>(body.output_size()) -
                    std::min(form.states, static_cast<std::size_t>(body.output_size()));
  const auto list = [&](const char* name, std::size_t count) {
    const std::vector<std::int64_t> values = n.integers_attribute(name, std::vector<std::int64_t>(count, 0));
    if (values.size() != count) Node::fail("attribute \"" + std::string(name) + "\" is " + to_text(values));
    return values;
  };
  form.in_reversed = list(batched ? "directions" : "scan_input_directions", inputs);
  form.out_reversed = list("scan_output_directions", made);
  form.in_axes = list("scan_input_axes", inputs);
  form.out_axes = list("scan_output_axes", made);
  if (batched) return batched_scan(n, body, form, add);
  Results states, scanned;
  for (std::size_t i = 0; i < operands; ++i) (i < form.states ? states : scanned).push_back(n.in(i));
  for (std::size_t i = 0; i < inputs; ++i) form.in_axes[i] = n.axis(form.in_axes[i], n.rank(form.states + i));
  for (std::int64_t axis : form.out_axes) {
    if (axis < 0) Node::not_supported("scan_output_axes counted from the end");
  }
  return scan_over(n, body, form, std::move(states), scanned, add);
}

}  // namespace

bool is_control_flow(const std::string& domain, const std::string& op_type) {
  return domain.empty() && (op_type == "If" || op_type == "Loop" || op_type == "Scan");
}

Results write_out(Node& n, const std::string& op_type, const AddGraph& add) {
  return op_type == "If" ? if_else(n, add) : op_type == "Loop" ? loop(n, add) : scan(n, add);
}

}  // namespace superstep::onnx_import
