// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "gui/session/view.h"
#include "gui/views/batch.h"
#include "gui/views/compare.h"
#include "gui/views/graph.h"
#include "gui/views/heatmap.h"
#include "gui/views/landscape.h"
#include "gui/views/memory.h"
#include "gui/views/operations.h"
#include "gui/views/pipeline.h"
#include "gui/views/program.h"
#include "gui/views/summary.h"
#include "gui/views/trace.h"
#include "gui/views/whatif.h"

namespace superstep::gui {
namespace {

template <class V>
View* make(Session& session, QWidget* parent) {
  return new V(session, parent);
}

constexpr std::array<ViewDef, 12> kViews{{
    {"summary", "Summary", Qt::Key_1, "How fast, does it fit, where does the time go?", make<SummaryView>},
    {"heatmap", "Heat map", Qt::Key_2, "Which tile, in which phase, is full or slow?", make<HeatmapView>},
    {"graph", "Graph by phase", Qt::Key_3, "What runs now, where, and what is loaded or stored meanwhile?",
     make<GraphView>},
    {"memory", "Memory", Qt::Key_4, "What fills the fullest tile of each IPU?", make<MemoryView>},
    {"pipeline", "Pipeline", Qt::Key_5, "Where is time lost between IPUs?", make<PipelineView>},
    {"trace", "Trace", Qt::Key_T, "Where does time go inside a step of an IPU?", make<TraceView>},
    {"operations", "Operations", Qt::Key_6, "Which operations take the time?", make<OperationsView>},
    {"program", "Program tree", Qt::Key_7, "What runs in which order, how often and how long?", make<ProgramView>},
    {"compare", "Compare", Qt::Key_8, "Which plan, why, and is the difference real?", make<CompareView>},
    {"landscape", "Landscape", Qt::Key_9, "What else is possible, and how close?", make<LandscapeView>},
    {"whatif", "What-if", Qt::Key_0, "What would a change of a pin or of the machine do?", make<WhatIfView>},
    {"batch", "Batch", Qt::Key_B, "What became of the jobs?", make<BatchView>, true},
}};

}  // namespace

std::span<const ViewDef> all_views() { return kViews; }

const ViewDef* find_view(std::string_view id) {
  for (const ViewDef& view : kViews) {
    if (view.id == id) return &view;
  }
  return nullptr;
}

}  // namespace superstep::gui
