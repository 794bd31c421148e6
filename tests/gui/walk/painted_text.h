// SPDX-License-Identifier: Apache-2.0
// What is wrong with the texts that a widget paints.
#pragma once

#include "gui/paint/painted_text.h"

namespace superstep::gui {

// One sentence for each text that is cut by its clip or meets another. Where a scroll area can be moved, its contents
// may be cut at its edge.
std::vector<QString> text_faults(QWidget& widget);

}  // namespace superstep::gui
