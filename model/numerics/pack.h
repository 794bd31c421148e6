// SPDX-License-Identifier: Apache-2.0
// Packing: a few rows of a left operand, or columns of a right one, side by side in one piece of memory, widened from
// fp16.
#pragma once

#include <algorithm>
#include <cstring>

#include "model/numerics/contract.h"

namespace superstep::numerics {

// What lies side by side in a packed panel, "lanes", by steps k of the contraction: rows of a, columns of b.
template <class T>
struct Lanes {
  const T* data = nullptr;
  std::int64_t lane_step = 0;
  std::int64_t k_step = 0;
  const std::int64_t* lane_at = nullptr;  // if set, instead of lane_step
  const std::int64_t* k_at = nullptr;     // if set, instead of k_step

  Lanes from(std::int64_t lane, std::int64_t k) const {
    Lanes moved = *this;
    lane_at ? static_cast<void>(moved.lane_at += lane) : static_cast<void>(moved.data += lane * lane_step);
    k_at ? static_cast<void>(moved.k_at += k) : static_cast<void>(moved.data += k * k_step);
    return moved;
  }
  const T* line(std::int64_t k) const { return data + (k_at ? k_at[k] : k * k_step); }
  std::int64_t offset(std::int64_t lane) const { return lane_at ? lane_at[lane] : lane * lane_step; }
};

// out(k, lane) = in(lane, k), for 16 steps: a line of memory of each lane.
constexpr std::int64_t kRun = 16;
constexpr std::int64_t kMaxLanes = 32;

template <class Real>
void turn(const Real* from, std::int64_t lane_step, std::int64_t lanes, Real* to, std::int64_t width) {
  std::int64_t lane = 0;
  if constexpr (std::is_same_v<Real, float>) {
    using Four [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
    const auto load = [](const float* at) { return *reinterpret_cast<const Four*>(at); };
    const auto store = [](float* at, Four value) { *reinterpret_cast<Four*>(at) = value; };
    for (; lane + 4 <= lanes; lane += 4) {
      const float* in = from + lane * lane_step;
      for (std::int64_t k = 0; k < kRun; k += 4) {
        const Four a = load(in + k), b = load(in + lane_step + k);
        const Four c = load(in + 2 * lane_step + k), d = load(in + 3 * lane_step + k);
        const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        float* out = to + k * width + lane;
        store(out, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
        store(out + width, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
        store(out + 2 * width, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
        store(out + 3 * width, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
      }
    }
  }
  for (; lane < lanes; ++lane) {
    for (std::int64_t k = 0; k < kRun; ++k) to[k * width + lane] = from[lane * lane_step + k];
  }
}

template <class T>
SumOf<T> widened(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_float(value);
  else
    return value;
}

template <class T>
void copy_widened(const Kernels& kernels, const T* from, SumOf<T>* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, Half>)
    kernels.to_floats(from, to, count);
  else
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

// Lanes that are neighbours in memory, in runs: for each step a copy of each run.
template <class T>
void pack_runs(const Kernels& kernels, const Lanes<T>& from, std::int64_t lanes, std::int64_t width, std::int64_t steps,
               SumOf<T>* to) {
  std::int64_t begin[kMaxLanes + 1];
  int runs = 0;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (lane == 0 || from.offset(lane) != from.offset(lane - 1) + 1) begin[runs++] = lane;
  }
  begin[runs] = lanes;
  for (std::int64_t k = 0; k < steps; ++k) {
    const T* line = from.line(k);
    for (int run = 0; run < runs; ++run) {
      const std::int64_t lane = begin[run];
      copy_widened(kernels, line + from.offset(lane), to + k * width + lane, begin[run + 1] - lane);
    }
  }
}

// `steps` lines of `width` values, those from `lanes` on zero: they are computed with, though not kept,
// and whatever lay there could be slow, as subnormals are.
template <class T>
void pack_panel(const Kernels& kernels, const Lanes<T>& from, std::int64_t lanes, std::int64_t width,
                std::int64_t steps, SumOf<T>* to) {
  using Real = SumOf<T>;
  if (lanes < width) std::fill(to, to + steps * width, Real{0});
  std::int64_t done = 0;
  if (from.lane_at != nullptr || from.lane_step == 1) {
    pack_runs(kernels, from, lanes, width, steps, to);
    done = steps;
  } else if (from.k_at == nullptr && from.k_step == 1) {
    for (; done + kRun <= steps; done += kRun) {
      if constexpr (std::is_same_v<T, Half>) {
        float wide[kMaxLanes * kRun];
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          kernels.to_floats(from.data + lane * from.lane_step + done, wide + lane * kRun, kRun);
        turn(wide, kRun, lanes, to + done * width, width);
      } else {
        turn(from.data + done, from.lane_step, lanes, to + done * width, width);
      }
    }
  }
  for (std::int64_t k = done; k < steps; ++k) {
    const T* line = from.line(k);
    for (std::int64_t lane = 0; lane < lanes; ++lane) to[k * width + lane] = widened(line[lane * from.lane_step]);
  }
}

}  // namespace superstep::numerics
