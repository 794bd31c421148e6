// SPDX-License-Identifier: Apache-2.0
// What the columns of the landscape's tables mean, by their titles.
#pragma once

#include "gui/models/table_model.h"

namespace superstep::gui {

// Columns that say so already keep their meaning.
TableContents with_landscape_meanings(TableContents contents);
TableContents with_cell_meanings(TableContents contents);

}  // namespace superstep::gui
