// SPDX-License-Identifier: Apache-2.0
#include "tests/xla/mlp.h"

#include <cmath>

namespace superstep::test {

using namespace xla_import;

namespace {

// Parts of each dimension, and devices that have the same ones.
void cut(Made parameter, const Extents& parts, std::int64_t same) {
  hlo_file::OpSharding& s = *parameter->mutable_sharding();
  s.set_type(hlo_file::OpSharding::OTHER);
  s.mutable_tile_assignment_dimensions()->Add(parts.begin(), parts.end());
  s.add_tile_assignment_dimensions(same);
  s.set_replicate_on_last_tile_dim(true);
}

Made named(Made in, const char* op_name) {
  in->mutable_metadata()->set_op_name(op_name);
  return in;
}

}  // namespace

ProgramMaker mlp_program(const MlpSpec& m) {
  ProgramMaker p;
  const Made w1 = p.parameter({m.in, m.hidden}, "params['w1']"), b1 = p.parameter({m.hidden}, "params['b1']"),
             w2 = p.parameter({m.hidden, m.classes}, "params['w2']");
  const Made x = p.parameter({m.batch, m.in}, "x"), labels = p.parameter({m.batch}, "labels", kS32);
  if (m.data_parts * m.model_parts > 1) {
    cut(w1, {1, m.model_parts}, m.data_parts);
    cut(b1, {m.model_parts}, m.data_parts);
    cut(w2, {m.model_parts, 1}, m.data_parts);
    cut(x, {m.data_parts, 1}, m.model_parts);
    cut(labels, {m.data_parts}, m.model_parts);
  }
  const Extents wide = {m.batch, m.hidden}, all = {m.batch, m.classes};
  const Made sum =
      p.add("add", wide, {named(p.matmul(x, w1), "jit(loss)/hidden/dot_general"), p.broadcast(b1, wide, {1})});
  const Made hidden = p.add("maximum", wide, {sum, p.broadcast(p.number(0), wide, {})});
  const Made logits = named(p.matmul(hidden, w2), "jit(loss)/classes/dot_general");
  const Made largest = p.broadcast(p.reduce("maximum", logits, -HUGE_VALF, {1}), all, {0});
  const Made shifted = p.add("subtract", all, {logits, largest});
  const Made sums = p.add("log", {m.batch}, {p.reduce("add", p.add("exponential", all, {shifted}), 0, {1})});
  const Made log_softmax = p.add("subtract", all, {shifted, p.broadcast(sums, all, {0})});
  const Made classes = p.add("iota", all, {}, kS32);
  classes->add_dimensions(1);
  const Made one_hot = p.add("convert", all, {p.compare(p.broadcast(labels, all, {0}), classes, "EQ")});
  const Made chosen = p.reduce("add", p.add("multiply", all, {one_hot, log_softmax}), 0, {1});
  const Made total = p.reduce("add", chosen, 0, {0}), count = p.number(static_cast<float>(m.batch));
  p.add("negate", {}, {p.add("divide", {}, {total, count})});
  return p;
}

}  // namespace superstep::test
