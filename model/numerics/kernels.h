// SPDX-License-Identifier: Apache-2.0
// The inner loops, compiled once for each instruction set from one source (kernel_loops.inc) and chosen when the
// program runs. Every set gives the same bits: additions, products and fused multiply-adds are those of IEEE 754, in an
// order that does not depend on the width of a vector; a NaN is stored as the one quiet NaN. (The rounding mode is to
// nearest and subnormals are kept, as the language starts a program.)
#pragma once

#include <cstdint>
#include <span>

#include "model/numerics/half.h"

namespace superstep::numerics {

// What a partial sum is kept in. fp16: every chunk's sum and every join is rounded to nearest.
enum class Partials : std::uint8_t { full, fp16 };

// One tile of a product: `height` rows by `width` columns over k steps that are one node of the tree.
template <class Real>
struct TileProduct {
  const Real* rows = nullptr;     // packed: `height` values for each step
  const Real* columns = nullptr;  // packed: Kernels::tile_width values for each step, zero beyond `width`
  std::int64_t steps = 0;
  std::int64_t chunk = 0;               // steps per chunk; the last may have fewer
  const std::uint8_t* joins = nullptr;  // per chunk: how many earlier sums are joined to its own
  Partials partials = Partials::full;
  Overflow overflow = Overflow::infinity;  // of fp16 partials
  int height = 0;
  int width = 0;
  // Left siblings of the node, nearest first, joined to it one after another; row_step as that of `earlier_step`.
  const Real* const* earlier = nullptr;
  int earlier_count = 0;
  std::int64_t earlier_step = 0;
  Real* to = nullptr;
  std::int64_t row_step = 0, column_step = 0;
};

// The smallest and largest magnitude among floats, as bits less the sign.
struct Magnitudes {
  std::uint32_t largest = 0;
  std::uint32_t smallest_nonzero = 0xffffffff;  // all ones: there is none
  bool all_negative_zero = true;
};

enum class Isa : std::uint8_t { generic, avx2, avx512 };
const char* name_of(Isa isa);

inline constexpr int kMaxJoinDepth = 16;  // of sums waiting within one TileProduct: up to 2^15 chunks
inline constexpr int kMaxTileHeight = 16;

struct Kernels {
  Isa isa;
  int tile_height;       // at most; a tile may have fewer rows
  int float_tile_width;  // columns of a packed panel
  int double_tile_width;
  void (*multiply_floats)(const TileProduct<float>&);
  void (*multiply_doubles)(const TileProduct<double>&);
  void (*to_floats)(const Half* from, float* to, std::int64_t count);
  void (*round_to_nearest)(const float* from, Half* to, std::int64_t count, Overflow overflow);
  void (*round_stochastic)(const float* from, const std::uint32_t* random, Half* to, std::int64_t count,
                           Overflow overflow);
  // Philox blocks first_block, first_block + 1, ..., four words each.
  void (*fill_random)(std::uint64_t first_block, const std::uint32_t* stream, const std::uint32_t* key,
                      std::uint32_t* to, std::int64_t blocks);
  Magnitudes (*magnitudes)(const float* from, std::int64_t count);
  // Sum of those whose exponent field (at least 1) is lowest..lowest + 29, in units of 2^(lowest - 150); at most 1024
  // finite floats, so that it fits.
  std::int64_t (*aligned_sum)(const float* from, std::int64_t count, std::uint32_t lowest);
};

// Those this processor can run, slowest first; never empty.
std::span<const Kernels* const> available_kernels();
const Kernels& fastest_kernels();

}  // namespace superstep::numerics
