// SPDX-License-Identifier: Apache-2.0
#include "model/ops/elementwise.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "model/error.h"

namespace superstep::ops {

Space elementwise_space(const OpCall& call, std::uint32_t linear) {
  Space space;
  const Shape& shape = call.out[0].shape;
  space.axes = axes_of(shape);
  for (const TensorInfo& operand : call.in) space.in.push_back(aligned(operand.shape, shape));
  space.out.push_back(identity(shape.size()));
  space.linear = linear;
  return space;
}

namespace {

constexpr std::int64_t kPiece = 2048;  // buffers stay in the first cache

bool floats_hold(DType type) {
  return type == DType::fp16 || type == DType::fp32 || type == DType::boolean || type == DType::uint8 ||
         type == DType::int8 || type == DType::uint16 || type == DType::int16;
}

template <class T>
constexpr DType kType = std::is_same_v<T, float>          ? DType::fp32
                        : std::is_same_v<T, double>       ? DType::fp64
                        : std::is_same_v<T, std::int64_t> ? DType::int64
                                                          : DType::uint64;

// Calls f with a value of the C++ type of an integer type. Truth is a byte.
template <class F>
void with_integer(DType type, F&& f) {
  switch (type) {
    case DType::int64:
      return f(std::int64_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::int8:
      return f(std::int8_t{});
    default:
      return f(std::uint8_t{});
  }
}

template <class Wide>
requires std::is_integral_v<Wide>
void load_values(const ConstView& view, std::int64_t first, std::int64_t step, std::int64_t n, Wide* to) {
  with_integer(view.type, [&](auto like) {
    const auto* from = reinterpret_cast<const decltype(like)*>(view.data) + first;
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Wide>(from[i * step]);
  });
}

template <class Wide>
requires std::is_integral_v<Wide>
void store_values(const View& view, std::int64_t first, std::int64_t step, std::int64_t n, const Wide* from) {
  with_integer(view.type, [&](auto like) {
    auto* to = reinterpret_cast<decltype(like)*>(view.data) + first;
    const bool truth = view.type == DType::boolean;
    for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<decltype(like)>(truth ? from[i] != 0 : from[i]);
  });
}

void load_values(const ConstView& view, std::int64_t first, std::int64_t step, std::int64_t n, double* to) {
  load_row(view.data, view.type, first, step, n, to);
}
void load_values(const ConstView& view, std::int64_t first, std::int64_t step, std::int64_t n, float* to) {
  if (view.type == DType::fp16 && step == 1) {
    numerics::to_floats({reinterpret_cast<const numerics::Half*>(view.data) + first, static_cast<std::size_t>(n)}, to);
  } else if (view.type == DType::fp32) {
    const float* from = reinterpret_cast<const float*>(view.data) + first;
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = static_cast<float>(load_element(view.data, view.type, first + i * step));
  }
}

void store_values(const View& view, std::int64_t first, std::int64_t step, std::int64_t n, const double* from) {
  store_row(view.data, view.type, first, step, n, from);
}
void store_values(const View& view, std::int64_t first, std::int64_t step, std::int64_t n, const float* from) {
  if (view.type == DType::boolean) {
    for (std::int64_t i = 0; i < n; ++i) view.data[first + i * step] = std::byte{from[i] != 0};
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      store_element(view.data, view.type, first + i * step, static_cast<double>(from[i]));
  }
}

// One operand's values of piece after piece: where they are, or in a buffer. A value for all is there until it changes.
template <class T>
class Operand {
 public:
  Operand(const ConstView& view, std::int64_t step) : view_(view), step_(step) {}

  const T* values(std::int64_t first, std::int64_t n) {
    if (view_.type == kType<T> && step_ == 1) return reinterpret_cast<const T*>(view_.data) + first;
    if (step_ != 0) {
      load_values(view_, first, step_, n, buffer_);
    } else if (first != filled_with_ || n > filled_) {
      load_values(view_, first, 1, 1, buffer_);
      std::fill(buffer_ + 1, buffer_ + n, buffer_[0]);
      filled_with_ = first;
      filled_ = n;
    }
    return buffer_;
  }

 private:
  const ConstView& view_;
  std::int64_t step_, filled_with_ = -1, filled_ = 0;
  T buffer_[kPiece];
};

void quiet_nans(float* values, std::int64_t n) { numerics::functions().quiet_nans(values, n); }
template <class Wide>
requires std::is_integral_v<Wide>
void quiet_nans(const Wide*, std::int64_t) {}
void quiet_nans(double* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    values[i] = values[i] == values[i] ? values[i] : std::numeric_limits<double>::quiet_NaN();
}

template <class T>
void run_pieces(const OpCall& call, const Pieces& pieces, std::span<const ConstView> in, const View& out,
                RowFunction<T> row, int member, int members) {
  std::vector<Operand<T>> operands;
  operands.reserve(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) operands.emplace_back(in[i], pieces.step(i));
  std::vector<const T*> values(in.size());
  const std::int64_t out_step = pieces.step(in.size());
  const bool in_place = out.type == kType<T> && out_step == 1;
  T buffer[kPiece];
  pieces.each(member, members, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::size_t i = 0; i < in.size(); ++i) values[i] = operands[i].values(first[i], n);
    T* result = in_place ? reinterpret_cast<T*>(out.data) + first.back() : buffer;
    row(call, values, result, n);
    quiet_nans(result, n);
    if (!in_place) store_values(out, first.back(), out_step, n, result);
  });
}

}  // namespace

void run_rows(const OpCall& call, const Block& block, std::span<const ConstView> in, const View& out,
              const RowFunctions& rows, const KernelContext& context) {
  const Space space = elementwise_space(call, 0);
  std::vector<Strided> operands;
  for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(follow(space.in[i], in[i].region, block));
  operands.push_back(follow(space.out[0], out.region, block));
  bool in_float = rows.in_float && (out.type == DType::fp32 || out.type == DType::fp16 || out.type == DType::boolean);
  for (const ConstView& view : in) in_float = in_float && floats_hold(view.type);
  bool in_integer = rows.in_integer && is_integer(out.type);
  bool in_unsigned = rows.in_unsigned != nullptr;
  for (const ConstView& view : in) {
    in_integer = in_integer && is_integer(view.type);
    in_unsigned = in_unsigned && view.type == DType::uint64;
  }
  const Pieces pieces(block, operands, kPiece);
  numerics::Team& team = team_of(context, static_cast<double>(volume(block)));
  team.run([&](int member, numerics::Workspace&) {
    if (in_integer && in_unsigned)
      run_pieces<std::uint64_t>(call, pieces, in, out, rows.in_unsigned, member, team.size());
    else if (in_integer)
      run_pieces<std::int64_t>(call, pieces, in, out, rows.in_integer, member, team.size());
    else if (in_float)
      run_pieces<float>(call, pieces, in, out, rows.in_float, member, team.size());
    else
      run_pieces<double>(call, pieces, in, out, rows.in_double, member, team.size());
  });
}

namespace {

// The axis of the channels of images, where all operands that are broadcast have one value per channel: [C, 1, 1]
// against [n, C, y, x]. -1: there is none. Rows of a matrix have one axis behind theirs, images at least two.
int channel_axis(const OpCall& call) {
  const Shape& shape = call.out[0].shape;
  int found = -1;
  for (const TensorInfo& operand : call.in) {
    if (operand.shape == shape || operand.elements() == 1) continue;
    const std::size_t lead = shape.size() - operand.shape.size();
    std::size_t last = operand.shape.size();  // one behind the last axis with several values
    while (last > 0 && operand.shape[last - 1] == 1) --last;
    if (operand.shape.size() - last < 2) return -1;
    const int axis = static_cast<int>(lead + last) - 1;
    if (found >= 0 && found != axis) return -1;
    found = axis;
  }
  return found;
}

// Images lie with groups of channels innermost, as convolutions make and take them, so one value per channel is a
// vector that goes on over the positions: poplibs' VectorInner, two slots per 128 bits, 15 to begin each of them.
Cycles channel_loop(const TileCosts& costs, std::int64_t elements, std::int64_t channels, DType type) {
  constexpr std::int64_t kCall = 26, kSetup = 19, kPerGroup = 13, kPerBlock = 2;
  const std::int64_t group = 2 * lanes(type), blocks = ceil_div(elements, group);
  return Cycles(kCall + costs.workers * (kSetup + kPerGroup * ceil_div(channels, group) +
                                         kPerBlock * ceil_div(blocks, costs.workers)));
}

}  // namespace

Cycles binary_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents,
                     const LoopCost& cost) {
  const DType type = call.in[0].type;
  const Shape& shape = call.out[0].shape;
  const auto [rows, columns] = rows_of(extents);
  bool full = true, by_scalar = true;
  for (const TensorInfo& operand : call.in) {
    full = full && operand.shape == shape;
    by_scalar = by_scalar && (operand.shape == shape || operand.elements() == 1);
  }
  if (full) {
    const std::int64_t setup = cost.setup + (lanes(type) < 4 ? 3 : 0);  // 26 half, 29 float
    return flat_loop(costs, rows * columns, type, {setup, cost.half, cost.single});
  }
  if (by_scalar) return flat_loop(costs, rows * columns, type, {20, cost.half - 1, cost.single - 1});
  const int channels = channel_axis(call);
  if (channels >= 0 && shape[static_cast<std::size_t>(channels)] % (2 * lanes(type)) == 0) {
    const Cycles loop = channel_loop(costs, rows * columns, extents[static_cast<std::size_t>(channels)], type);
    // The loop is that of one slot per 64 bits for sums and products; others take theirs.
    return cost.half > 3 ? std::max(loop, flat_loop(costs, rows * columns, type, cost)) : loop;
  }
  // The layout of the whole rows decides whether they start on 64 bits.
  const bool aligned = shape.back() * size_of(type) % 8 == 0;
  return row_loop(costs, rows, columns, aligned ? 7 : 25, type, {15, cost.half - 1, cost.single - 1});
}

// The dimension of one sample that `operand` is the same along for all samples: several would be summed over.
std::optional<int> one_sample(GraphBuilder& b, TensorId operand, TensorId result) {
  if (b.graph().micro_batch != 1 || b.place_of_samples(operand)) return {};
  const std::optional<SamplePlace> samples = b.place_of_samples(result);
  const Shape& shape = b.info(result).shape;
  if (!samples || samples->outer != 1 || shape[static_cast<std::size_t>(samples->at)] != 1) return {};
  return samples->at;
}

TensorId to_operand(GraphBuilder& b, TensorId gradient, TensorId operand, TensorId result_of) {
  const Shape target = b.info(operand).shape, result = b.info(result_of).shape;
  if (target == result) {
    const std::optional<int> sample = one_sample(b, operand, result_of);
    return sample && b.info(gradient).shape == result ? b.reduce("sum", gradient, {*sample}, true) : gradient;
  }
  // What the gradient has of the result's dimensions, and what is left of them once summed.
  Shape from = b.info(gradient).shape;
  from.insert(from.begin(), result.size() - from.size(), 1);
  const std::size_t lead = result.size() - target.size();
  Shape summed = from;
  double repeats = 1;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (!(d < lead || target[d - lead] == 1) || result[d] == 1) continue;
    if (from[d] == 1) repeats *= static_cast<double>(result[d]);
    summed[d] = 1;
  }
  const Shape wanted(summed.begin() + static_cast<std::ptrdiff_t>(lead), summed.end());
  const std::size_t rank = b.info(gradient).shape.size();
  if (rank < wanted.size())
    gradient = b.reshape(gradient, Shape(from.end() - static_cast<std::ptrdiff_t>(wanted.size()), from.end()));
  const bool of_each_sample = b.place_of_samples(operand).has_value();
  return b.scale(b.sum_to(gradient, wanted, of_each_sample, wanted == target && repeats == 1), repeats);
}

TensorId times(GraphBuilder& b, TensorId gradient, TensorId factor, TensorId like) {
  const DType type = b.info(like).type;
  if (b.info(gradient).type == type) return b.binary("mul", gradient, factor);
  if (b.info(factor).type == type) return b.binary("mul", factor, gradient);
  return b.cast(b.binary("mul", gradient, factor), type);
}

std::vector<TensorId> no_gradient(GraphBuilder& b, OpId op, std::span<const TensorId>) {
  return std::vector<TensorId>(b.graph().ops[op].inputs.size());
}

}  // namespace superstep::ops

namespace superstep {

bool stops_gradients(const OpDef& def) { return def.gradient == ops::no_gradient; }

}  // namespace superstep
