// SPDX-License-Identifier: Apache-2.0
#include "model/ops/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/error.h"

namespace superstep::ops {

std::vector<std::int64_t> row_major(const Block& region) {
  std::vector<std::int64_t> steps(region.size());
  std::int64_t step = 1;
  for (std::size_t d = region.size(); d-- > 0;) {
    steps[d] = step;
    step *= region[d].extent();
  }
  return steps;
}

Strided follow(const Projection& projection, const Block& region, const Block& block) {
  Strided strided;
  strided.step.assign(block.size(), 0);
  const std::vector<std::int64_t> steps = row_major(region);
  for (std::size_t d = 0; d < region.size(); ++d) {
    const DimMap& map = projection[d];
    if (map.axis < 0) continue;
    const auto axis = static_cast<std::size_t>(map.axis);
    strided.base += (block[axis].begin * map.stride + map.offset - region[d].begin) * steps[d];
    strided.step[axis] += map.stride * steps[d];
  }
  return strided;
}

Pieces::Pieces(const Block& block, std::span<const Strided> operands, std::int64_t longest) : longest_(longest) {
  for (const Strided& operand : operands) bases_.push_back(operand.base);
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    if (block[axis].extent() == 1) continue;
    Loop loop{block[axis].extent(), {}};
    for (const Strided& operand : operands) loop.step.push_back(operand.step[axis]);
    bool continues = !loops_.empty();
    for (std::size_t i = 0; continues && i < loop.step.size(); ++i)
      continues = loops_.back().step[i] == loop.step[i] * loop.extent;
    if (continues) {
      loop.extent *= loops_.back().extent;
      loops_.pop_back();
    }
    loops_.push_back(std::move(loop));
  }
  if (loops_.empty()) loops_.push_back({1, std::vector<std::int64_t>(bases_.size())});
  longest_ = std::min(longest_, loops_.back().extent);
  per_run_ = longest_ == 0 ? 0 : ceil_div(loops_.back().extent, longest_);
  count_ = per_run_;
  for (std::size_t i = 0; i + 1 < loops_.size(); ++i) count_ *= loops_[i].extent;
}

std::int64_t Pieces::locate(std::int64_t piece, std::vector<std::int64_t>& first) const {
  const std::int64_t begin = piece % per_run_ * longest_;
  std::int64_t run = piece / per_run_;
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = bases_[i] + begin * loops_.back().step[i];
  for (std::size_t l = loops_.size() - 1; l-- > 0; run /= loops_[l].extent) {
    const std::int64_t at = run % loops_[l].extent;
    for (std::size_t i = 0; i < first.size(); ++i) first[i] += at * loops_[l].step[i];
  }
  return std::min(longest_, loops_.back().extent - begin);
}

namespace {

template <class T>
void load_typed(const std::byte* data, std::int64_t first, std::int64_t step, std::int64_t n, double* to) {
  const std::byte* at = data + first * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t stride = step * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < n; ++i, at += stride) {
    T value;
    std::memcpy(&value, at, sizeof value);
    to[i] = static_cast<double>(value);
  }
}

template <class T>
void store_typed(std::byte* data, std::int64_t first, std::int64_t step, std::int64_t n, const double* from) {
  std::byte* at = data + first * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t stride = step * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < n; ++i, at += stride) {
    const auto value = static_cast<T>(from[i]);
    std::memcpy(at, &value, sizeof value);
  }
}

}  // namespace

void load_row(const std::byte* data, DType type, std::int64_t first, std::int64_t step, std::int64_t n, double* to) {
  if (type == DType::fp32) return load_typed<float>(data, first, step, n, to);
  if (type == DType::fp64) return load_typed<double>(data, first, step, n, to);
  for (std::int64_t i = 0; i < n; ++i) to[i] = load_element(data, type, first + i * step);
}

void store_row(std::byte* data, DType type, std::int64_t first, std::int64_t step, std::int64_t n, const double* from) {
  if (type == DType::fp32) return store_typed<float>(data, first, step, n, from);
  if (type == DType::fp64) return store_typed<double>(data, first, step, n, from);
  for (std::int64_t i = 0; i < n; ++i) store_element(data, type, first + i * step, from[i]);
}

std::int64_t load_integer(const std::byte* data, DType type, std::int64_t index) {
  if (size_of(type) < 8) return static_cast<std::int64_t>(load_element(data, type, index));
  std::int64_t value;
  std::memcpy(&value, data + index * 8, sizeof value);
  return value;
}

void store_integer(std::byte* data, DType type, std::int64_t index, std::int64_t value) {
  if (type == DType::boolean) value = value != 0;
  const auto size = static_cast<std::size_t>(size_of(type));
  std::memcpy(data + index * static_cast<std::int64_t>(size), &value, size);  // the lower bytes, on this host
}

std::int64_t extremum(DType type, std::int64_t a, std::int64_t b, bool larger) {
  const bool less = type == DType::uint64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
  return less == larger ? b : a;
}

namespace {
template <std::size_t Size>
void copy_sized(const std::byte* from, std::int64_t step, std::byte* to, std::int64_t to_step, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(Size);
  if (step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * Size);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i, from += step * kSize, to += to_step * kSize) std::memcpy(to, from, Size);
}
}  // namespace

void copy_row(const std::byte* from, std::int64_t first, std::int64_t step, std::byte* to, std::int64_t to_first,
              std::int64_t to_step, std::int64_t n, std::int64_t size) {
  from += first * size;
  to += to_first * size;
  switch (size) {
    case 1:
      return copy_sized<1>(from, step, to, to_step, n);
    case 2:
      return copy_sized<2>(from, step, to, to_step, n);
    case 4:
      return copy_sized<4>(from, step, to, to_step, n);
    default:
      return copy_sized<8>(from, step, to, to_step, n);
  }
}

void store_region(const std::byte* from, DType from_type, const Block& region, const View& view) {
  Projection same(region.size());
  for (std::size_t d = 0; d < region.size(); ++d) same[d].axis = static_cast<int>(d);
  const Strided target[] = {follow(same, view.region, region)};
  std::vector<double> row(region.empty() ? 1 : static_cast<std::size_t>(region.back().extent()));
  std::int64_t next = 0;
  for_each_row(region, target, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const std::int64_t step = region.empty() ? 0 : target[0].step.back();
    if (from_type == view.type) {
      copy_row(from, next, 1, view.data, first[0], step, n, size_of(from_type));
    } else {
      load_row(from, from_type, next, 1, n, row.data());
      store_row(view.data, view.type, first[0], step, n, row.data());
    }
    next += n;
  });
}

numerics::Team& team_of(const KernelContext& context, double nanoseconds) {
  thread_local numerics::Team alone;
  return context.team && context.team->is_worth_waking(nanoseconds) ? *context.team : alone;
}

double larger(double a, double b) {
  if (a != a || b != b) return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

void combine(std::byte* data, DType type, std::int64_t index, double value, Reduction reduction) {
  if (reduction != Reduction::none) {
    const double old = load_element(data, type, index);
    if (reduction == Reduction::sum) value = old + value;
    if (reduction == Reduction::max) value = larger(old, value);
    if (reduction == Reduction::min) value = -larger(-old, -value);
  }
  store_element(data, type, index, value);
}

}  // namespace superstep::ops
