// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "model/graph/op_def.h"
#include "model/program/program.h"
#include "model/quantity_text.h"

namespace superstep {

std::string_view name_of(Data data) {
  static constexpr std::array<std::string_view, 21> kNames = {"",
                                                              "operands",
                                                              "operands of what is made again",
                                                              "sums of an update",
                                                              "sums of a statistics group",
                                                              "inputs",
                                                              "results",
                                                              "activations",
                                                              "gradients of activations",
                                                              "activations and their gradients",
                                                              "stash",
                                                              "shards of activations",
                                                              "shards of their gradients",
                                                              "weights",
                                                              "new weights",
                                                              "tied weights",
                                                              "gradients",
                                                              "tied gradients",
                                                              "accumulators",
                                                              "optimizer state",
                                                              "code"};
  return kNames[static_cast<std::size_t>(data)];
}

namespace {

std::string_view kind_name(StepKind kind) {
  static constexpr std::array<std::string_view, 8> kNames = {"compute", "exchange", "collective", "copy",
                                                             "load",    "store",    "host",       "fixed"};
  return kNames[static_cast<std::size_t>(kind)];
}

void print_units(std::ostream& out, const Step& s, const Graph& graph) {
  if (s.data == Data::none || s.data == Data::operands || s.data == Data::remade || s.data == Data::update_sums ||
      s.data == Data::statistics)
    return;
  out << ", " << name_of(s.data);
  const char* before = " of ";
  for (UnitId u : s.units) {
    out << before << graph.units[u].name;
    before = ", ";
  }
}

void print_operands(std::ostream& out, const Step& s, const Op& op, const Graph& graph) {
  if (s.operands.empty()) return;
  out << (s.kind == StepKind::compute ? ", in place:" : ", of:");
  for (std::int32_t k : s.operands) {
    const TensorId t = k >= 0 ? op.inputs[static_cast<std::size_t>(k)] : op.outputs[static_cast<std::size_t>(-1 - k)];
    out << " " << graph.tensors[t].name;
  }
}

void print_step(std::ostream& out, const Step& s) {
  out << kind_name(s.kind) << " (" << name_of(s.term) << ")";
  if (s.times > 1) out << " x" << s.times;
  if (s.kind == StepKind::compute) {
    out << " " << (s.rows + s.padding + s.amp_fixed + s.vector).value << " cycles on " << s.tiles << " tiles";
  } else if (s.kind == StepKind::exchange) {
    out << " " << (s.tile_bytes + s.paired_bytes).value << " B per tile";
  } else if (s.kind == StepKind::collective) {
    out << " " << name_of(s.collective) << " of " << s.tile_bytes.value << " B over " << s.group.size
        << " IPUs, stride " << s.group.stride;
  } else if (s.kind == StepKind::fixed) {
    out << " " << s.vector.value << " cycles";
  } else {
    out << " " << s.tile_bytes.value << " B";
    if (s.kind == StepKind::copy) out << ", " << s.group.stride << " IPUs further";
    if (s.location == Location::remote_machine || s.location == Location::remote_ipu)
      out << ", " << name_of(s.location) << " " << s.group.stride << " IPUs further";
  }
  if (s.temporary.value > 0) out << ", temporary " << s.temporary.value << " B";
}

void print_node(std::ostream& out, const Program& program, const Graph& graph, const Node& n, int depth) {
  out << std::string(static_cast<std::size_t>(2 * depth), ' ');
  switch (n.kind) {
    case Node::Kind::sequence:
      out << n.name;
      break;
    case Node::Kind::parallel:
      out << n.name << ", in parallel";
      break;
    case Node::Kind::repeat:
      out << n.name << ": repeat " << n.count << ", " << n.micro_batches << " micro-batches";
      break;
    case Node::Kind::call:
      out << "call " << n.name << " [" << program.functions[n.function].name << "]";
      if (n.lag > 0) out << " lag " << n.lag;
      if (n.keeps) out << " keeps";
      break;
    case Node::Kind::step:
      out << n.name << ": ";
      print_step(out, n.step);
      print_units(out, n.step, graph);
      break;
  }
  out << "\n";
  for (const Node& c : n.children) print_node(out, program, graph, c, depth + 1);
}

}  // namespace

void print(std::ostream& out, const Program& program, const Graph& graph) {
  for (const Function& f : program.functions) {
    out << "function " << f.name << ": peak " << f.peak.value << " B, kept " << f.kept.value << " B per tile\n";
    const auto& ops = graph.units[f.unit].ops[static_cast<std::size_t>(f.pass)];
    for (const Step& s : f.steps) {
      const Op& op = graph.ops[ops[static_cast<std::size_t>(s.op)]];
      out << "  " << op.name << ": ";
      print_step(out, s);
      print_operands(out, s, op, graph);
      out << "\n";
    }
  }
  print_node(out, program, graph, program.root, 0);
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    const std::vector<Residents>& phases = program.residents[i];
    for (std::size_t first = 0, end = 0; first < phases.size(); first = end) {
      const Residents& r = phases[first];
      while (end < phases.size() && phases[end] == r) ++end;
      out << "IPU " << i;
      if (phases.size() > 1) out << " in phase " << first;
      if (end > first + 1) out << " to " << end - 1;
      out << " holds per tile: weights " << r.weights.value << ", gradients " << r.gradients.value
          << ", optimizer state " << r.optimizer_state.value << ", stash " << r.stash.value << ", code "
          << r.executable().value << ", IO " << r.io.value << ", lent " << r.lent.value << " B\n";
    }
    out << "IPU " << i << " holds in Streaming Memory " << program.ddr[i].total().value << " B\n";
    if (!program.preloaded.empty())
      out << "IPU " << i << " preloads onto its IO tiles " << program.preloaded[i].total().value << " B at most\n";
  }
}

}  // namespace superstep
