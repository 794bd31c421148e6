// SPDX-License-Identifier: Apache-2.0
// The tables of kernels_*.cc, for kernels.cc alone. What these files include comes before they set the instruction set,
// so that no inline function of a header is compiled for a processor that may not be there.
#pragma once

namespace superstep::numerics {

struct Kernels;

extern const Kernels kGenericKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace superstep::numerics
