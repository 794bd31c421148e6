// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/random_bits.h"

#include <algorithm>
#include <bit>

#include "model/numerics/kernels.h"

namespace superstep::numerics {

namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

RandomBits::RandomBits(const RandomSite& site) {
  const auto mixed = philox4x32({low(site.tensor), high(site.tensor), low(site.step), high(site.step)},
                                {low(site.seed), high(site.seed)});
  key_ = {mixed[0], mixed[1]};
  stream_ = {mixed[2], mixed[3] ^ site.site};
}

// Four elements share one counter.
std::uint32_t RandomBits::at(std::uint64_t element) const {
  const std::uint64_t block = element / 4;
  return philox4x32({low(block), high(block), stream_[0], stream_[1]}, key_)[element % 4];
}

void RandomBits::fill(std::uint64_t first, std::span<std::uint32_t> to) const {
  std::size_t done = 0;
  for (; done < to.size() && (first + done) % 4 != 0; ++done) to[done] = at(first + done);
  const std::size_t blocks = (to.size() - done) / 4;
  fastest_kernels().fill_random((first + done) / 4, stream_.data(), key_.data(), to.data() + done,
                                static_cast<std::int64_t>(blocks));
  for (done += 4 * blocks; done < to.size(); ++done) to[done] = at(first + done);
}

}  // namespace superstep::numerics
