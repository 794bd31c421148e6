// SPDX-License-Identifier: Apache-2.0
// The step lane by lane, which what is exported to other programs' formats shares.
#pragma once

#include "traces/timeline/timeline.h"

namespace superstep::gui {

using namespace trace;

}  // namespace superstep::gui
