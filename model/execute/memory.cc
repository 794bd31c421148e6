// SPDX-License-Identifier: Apache-2.0
#include "model/execute/memory.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace superstep {

void keep_freed_memory() {
#if defined(M_TRIM_THRESHOLD) && defined(M_MMAP_THRESHOLD)
  mallopt(M_TRIM_THRESHOLD, -1);        // never
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that is allowed
#endif
}

}  // namespace superstep
