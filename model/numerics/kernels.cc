// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/kernels.h"

#include <vector>

#include "model/numerics/kernel_tables.h"

namespace superstep::numerics {

namespace {

std::vector<const Kernels*> find_kernels() {
  std::vector<const Kernels*> found = {&kGenericKernels};
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) found.push_back(&kAvx2Kernels);
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found.push_back(&kAvx512Kernels);
#endif
  return found;
}

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::generic:
      return "generic";
    case Isa::avx2:
      return "AVX2";
    case Isa::avx512:
      return "AVX-512";
  }
  return "";
}

std::span<const Kernels* const> available_kernels() {
  static const std::vector<const Kernels*> found = find_kernels();
  return found;
}

const Kernels& fastest_kernels() { return *available_kernels().back(); }

const Functions& functions() { return fastest_kernels().functions; }

void to_floats(std::span<const Half> from, float* to) {
  fastest_kernels().to_floats(from.data(), to, std::ssize(from));
}

void round_to_nearest(std::span<const float> from, Half* to, Overflow overflow) {
  fastest_kernels().round_to_nearest(from.data(), to, std::ssize(from), overflow);
}

void round_stochastic(std::span<const float> from, const std::uint32_t* random, Half* to, Overflow overflow) {
  fastest_kernels().round_stochastic(from.data(), random, to, std::ssize(from), overflow);
}

}  // namespace superstep::numerics
