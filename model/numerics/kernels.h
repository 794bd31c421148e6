// SPDX-License-Identifier: Apache-2.0
// The inner loops, compiled once for each instruction set from one source (kernel_loops.inc) and chosen when the
// program runs. Every set gives the same bits: additions, products and fused multiply-adds are those of IEEE 754, in an
// order that does not depend on the width of a vector; a NaN is stored as the one quiet NaN. (The rounding mode is to
// nearest and subnormals are kept, as the language starts a program.)
#pragma once

#include <cstdint>
#include <span>

#include "model/numerics/functions.h"
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

// The smallest and largest magnitude of some terms, as their bits less the sign.
template <class Bits>
struct Magnitudes {
  Bits largest = 0;
  Bits smallest_nonzero = ~Bits{0};  // all ones: there is none
  bool all_negative_zero = true;
  friend bool operator==(const Magnitudes&, const Magnitudes&) = default;
};

// A sum of doubles: high * 2^27 + low.
struct WideSum {
  std::int64_t high = 0, low = 0;
  friend bool operator==(const WideSum&, const WideSum&) = default;
};

// At most kAlignedTerms finite terms, of which those count whose exponent field (at least 1) is among as many from
// `lowest` on: their significands then fit in 64 bits, shifted and added.
inline constexpr std::int64_t kAlignedTerms = 1024;
inline constexpr std::uint32_t kAlignedFloatExponents = 30;
inline constexpr std::uint32_t kAlignedDoubleExponents = 27;

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
  Magnitudes<std::uint32_t> (*float_magnitudes)(const float* from, std::int64_t count);
  Magnitudes<std::uint64_t> (*double_magnitudes)(const double* from, std::int64_t count);
  // In units of 2^(lowest - 150) and 2^(lowest - 1075).
  std::int64_t (*sum_aligned_floats)(const float* from, std::int64_t count, std::uint32_t lowest);
  WideSum (*sum_aligned_doubles)(const double* from, std::int64_t count, std::uint32_t lowest);
  Functions functions;
};

// Those this processor can run, slowest first; never empty.
std::span<const Kernels* const> available_kernels();
const Kernels& fastest_kernels();

}  // namespace superstep::numerics
