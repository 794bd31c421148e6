// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/rotary.h"

#include <cmath>

#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

// Cosines or sines of position x frequency.
Array turns(DType type, Shape shape, double base, bool sine) {
  Array values(TensorInfo{type, shape});
  const std::int64_t pairs = shape[1];
  for (std::int64_t i = 0; i < values.info.elements(); ++i) {
    const double angle = position_angle(static_cast<double>(i / pairs), 2 * (i % pairs), 2 * pairs, base);
    values.set(i, sine ? std::sin(angle) : std::cos(angle));
  }
  return values;
}

}  // namespace

Rotation make_rotation(GraphBuilder& b, DType type, std::int64_t positions, std::int64_t turned, Pairs pairs,
                       double base) {
  Shape shape{positions, turned / 2};
  if (pairs == Pairs::neighbours) shape.push_back(1);
  return {b.constant(turns(type, shape, base, false), "cosines"), b.constant(turns(type, shape, base, true), "sines"),
          turned, pairs};
}

TensorId turn(GraphBuilder& b, TensorId x, const Rotation& r) {
  const Shape shape = b.info(x).shape;
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const std::int64_t rest = shape.back() - r.turned;
  const std::vector<TensorId> cut = b.split(x, last, rest > 0 ? Shape{r.turned, rest} : Shape{r.turned});
  Shape turned = shape, paired = shape;
  turned.back() = r.turned;
  paired.back() = r.turned / 2;
  paired.push_back(2);
  const bool neighbours = r.pairs == Pairs::neighbours;
  const std::int64_t along = neighbours ? last + 1 : last, half = neighbours ? 1 : r.turned / 2;
  const std::vector<TensorId> pair = b.split(neighbours ? b.reshape(cut[0], paired) : cut[0], along, {half, half});
  const TensorId first = b.binary("sub", b.binary("mul", pair[0], r.cosine), b.binary("mul", pair[1], r.sine));
  const TensorId second = b.binary("add", b.binary("mul", pair[1], r.cosine), b.binary("mul", pair[0], r.sine));
  const TensorId both = b.concat({first, second}, along);
  const TensorId result = neighbours ? b.reshape(both, turned) : both;
  return cut.size() == 1 ? result : b.concat({result, cut[1]}, last);
}

}  // namespace superstep::zoo
