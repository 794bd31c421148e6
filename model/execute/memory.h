// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

// From now on the program keeps freed memory for the next arrays. Returned to the system, as large pieces are, it would
// come back page by page and cleared. For programs that do one evaluation after another; without effect where the C
// library is not GNU's.
void keep_freed_memory();

}  // namespace superstep
