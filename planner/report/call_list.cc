// SPDX-License-Identifier: Apache-2.0
#include "planner/report/call_list.h"

namespace superstep {

CallList::CallList(const Program& program, const Graph& graph)
    : program_(program), graph_(graph), held_(program.ipus()) {
  visit(program.root, -1, 0, 1);
  for (const auto& of_ipu : held_) {
    for (const auto& [unit, entry] : of_ipu) kept_[entry].last = std::ssize(calls_) - 1;
  }
}

void CallList::visit(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats) {
  if (n.ipu >= 0) ipu = n.ipu;
  if (n.phase >= 0) phase = n.phase;
  if (n.kind == Node::Kind::repeat) repeats *= n.micro_batches;
  if (n.kind == Node::Kind::call && ipu >= 0) call(n, ipu, phase, repeats);
  for (const Node& c : n.children) visit(c, ipu, phase, repeats);
}

void CallList::call(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats) {
  const Function& f = program_.functions[n.function];
  auto& held = held_[static_cast<std::size_t>(ipu)];
  const Residents& stands = program_.residents[static_cast<std::size_t>(ipu)][static_cast<std::size_t>(phase)];
  const std::int64_t number = std::ssize(calls_);
  calls_.push_back({n.name, ipu, phase, n.function, stands.total(), Bytes(0), n.keeps, repeats});
  for (const auto& [unit, entry] : held) calls_.back().held += kept_[entry].bytes;
  if (n.keeps) {
    held.push_back({n.unit, kept_.size()});
    const Bytes bytes = f.kept + (n.keeps_results ? f.crossing : Bytes(0));
    kept_.push_back({graph_.units[n.unit].name, ipu, bytes, number + 1, number + 1});
  }
  if (f.pass == Pass::backward && !held.empty() && held.back().first == n.unit) {
    kept_[held.back().second].last = number;
    held.pop_back();
  }
}

}  // namespace superstep
