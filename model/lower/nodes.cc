// SPDX-License-Identifier: Apache-2.0
#include "model/lower/nodes.h"

namespace superstep {

Node sequence(std::string name) {
  Node n;
  n.name = std::move(name);
  return n;
}

Node parallel(std::string name) {
  Node n;
  n.kind = Node::Kind::parallel;
  n.name = std::move(name);
  return n;
}

Node repeat(std::string name, std::int64_t count, std::int64_t micro_batches) {
  Node n;
  n.kind = Node::Kind::repeat;
  n.name = std::move(name);
  n.count = count;
  n.micro_batches = micro_batches;
  return n;
}

std::vector<UnitId> run_of(std::int64_t begin, std::int64_t end) {
  std::vector<UnitId> list;
  for (std::int64_t u = begin; u < end; ++u) list.push_back(unit_id(u));
  return list;
}

Node step(std::string name, StepKind kind, Term term, Bytes bytes, Cargo cargo) {
  Node n;
  n.kind = Node::Kind::step;
  n.name = std::move(name);
  n.step.kind = kind;
  n.step.term = term;
  n.step.tile_bytes = bytes;
  n.step.data = cargo.data;
  n.step.units = std::move(cargo.units);
  return n;
}

void add_collective(Node& to, std::string name, CollectiveKind kind, Term term, GroupShape group, Bytes bytes,
                    Cargo cargo) {
  if (bytes.value == 0 || group.size == 1) return;
  Node n = step(std::move(name), StepKind::collective, term, bytes, std::move(cargo));
  n.step.collective = kind;
  n.step.group = group;
  to.children.push_back(std::move(n));
}

Node fixed(std::string name, Cycles cycles) {
  Node n = step(std::move(name), StepKind::fixed, Term::fixed, Bytes(0));
  n.step.vector = cycles;
  return n;
}

}  // namespace superstep
