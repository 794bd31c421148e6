// SPDX-License-Identifier: Apache-2.0
// Packing: a few rows of a left operand, or columns of a right one, side by side in one piece of memory, widened from
// fp16.
#pragma once

#include <algorithm>
#include <cstring>

#include "model/numerics/kernels.h"
#include "model/numerics/matrix.h"

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

// out(k, lane) = in(lane, k), for up to 16 steps, a multiple of 4, that are neighbours in memory: a line of it of each
// lane.
constexpr std::int64_t kRun = 16;
constexpr std::int64_t kMaxLanes = 32;

template <class Real>
void turn(const Real* from, const std::int64_t* lane_at, std::int64_t lanes, std::int64_t steps, Real* to,
          std::int64_t width) {
  std::int64_t lane = 0;
  if constexpr (std::is_same_v<Real, float>) {
    using Four [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
    const auto load = [](const float* at) { return *reinterpret_cast<const Four*>(at); };
    const auto store = [](float* at, Four value) { *reinterpret_cast<Four*>(at) = value; };
    for (; lane + 4 <= lanes; lane += 4) {
      const std::int64_t* at = lane_at + lane;
      for (std::int64_t k = 0; k < steps; k += 4) {
        const Four a = load(from + at[0] + k), b = load(from + at[1] + k);
        const Four c = load(from + at[2] + k), d = load(from + at[3] + k);
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
    for (std::int64_t k = 0; k < steps; ++k) to[k * width + lane] = from[lane_at[lane] + k];
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
void pack_runs(const Kernels& kernels, const Lanes<T>& from, const std::int64_t* lane_at, const std::int64_t* begin,
               int runs, std::int64_t width, std::int64_t steps, SumOf<T>* to) {
  if constexpr (!std::is_same_v<T, Half>) {
    if (runs == 1 && begin[1] == kMaxLanes) {  // a whole panel, of a size the compiler knows
      for (std::int64_t k = 0; k < steps; ++k)
        std::memcpy(to + k * width, from.line(k) + lane_at[0], kMaxLanes * sizeof(T));
      return;
    }
  }
  for (std::int64_t k = 0; k < steps; ++k) {
    const T* line = from.line(k);
    for (int run = 0; run < runs; ++run) {
      const std::int64_t lane = begin[run];
      copy_widened(kernels, line + lane_at[lane], to + k * width + lane, begin[run + 1] - lane);
    }
  }
}

// Of the steps from `first` on: how many are neighbours in memory, kRun at most.
template <class T>
std::int64_t neighbours(const Lanes<T>& from, std::int64_t first, std::int64_t steps) {
  const std::int64_t most = std::min(kRun, steps - first);
  if (from.k_at == nullptr) return from.k_step == 1 ? most : 1;
  std::int64_t count = 1;
  while (count < most && from.k_at[first + count] == from.k_at[first] + count) ++count;
  return count;
}

// `steps` lines of `width` values, those from `lanes` on zero: they are computed with, though not kept,
// and whatever lay there could be slow, as subnormals are.
template <class T>
void pack_panel(const Kernels& kernels, const Lanes<T>& from, std::int64_t lanes, std::int64_t width,
                std::int64_t steps, SumOf<T>* to) {
  using Real = SumOf<T>;
  if (lanes < width) std::fill(to, to + steps * width, Real{0});
  std::int64_t lane_at[kMaxLanes], begin[kMaxLanes + 1];
  int runs = 0;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    lane_at[lane] = from.offset(lane);
    if (lane == 0 || lane_at[lane] != lane_at[lane - 1] + 1) begin[runs++] = lane;
  }
  begin[runs] = lanes;
  constexpr int kShortRuns = 4;
  if (runs * kShortRuns <= lanes) return pack_runs(kernels, from, lane_at, begin, runs, width, steps, to);
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t count = neighbours(from, done, steps) / 4 * 4;
    const T* line = from.line(done);
    if (count == 0) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) to[done * width + lane] = widened(line[lane_at[lane]]);
      ++done;
    } else if constexpr (std::is_same_v<T, Half>) {
      float wide[kMaxLanes * kRun];
      std::int64_t wide_at[kMaxLanes];
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        wide_at[lane] = lane * kRun;
        kernels.to_floats(line + lane_at[lane], wide + wide_at[lane], count);
      }
      turn(wide, wide_at, lanes, count, to + done * width, width);
      done += count;
    } else {
      turn(line, lane_at, lanes, count, to + done * width, width);
      done += count;
    }
  }
}

}  // namespace superstep::numerics
