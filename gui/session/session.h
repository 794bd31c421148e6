// SPDX-License-Identifier: Apache-2.0
// What is open and what is selected. Views talk only to the Session, never to each other: one linked
// selection with its history, one filter, one part of the heat map, one unit.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <limits>
#include <memory>
#include <vector>

#include "gui/base/format.h"
#include "gui/models/graph_data.h"
#include "gui/models/heat_data.h"
#include "gui/models/lifetimes.h"
#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"
#include "gui/models/variables.h"
#include "gui/paint/heat_layout.h"
#include "gui/paint/time_axis.h"

class QThread;

namespace superstep::gui {

class BatchQueue;

// What the views point at together. -1 and empty: nothing of that kind.
struct Selection {
  int ipu_class = -1;
  std::int64_t tile = -1;
  int phase = -1;    // row of heat.phase
  QString term;      // of the waterfall
  QString category;  // of memory
  QString op;        // operation, layer and phase, line of the program, or step of the trace: its name
  // A box of the pipeline or a step of the trace, by when it begins, and the micro-batch it works on.
  std::int64_t time = -1;
  std::int64_t micro_batch = -1;
  friend bool operator==(const Selection&, const Selection&) = default;
};

// Which part of the heat map is seen, shared by the window and the export.
struct HeatState {
  HeatQuantity quantity = HeatQuantity::memory;
  int ipu_class = 0;            // -1: all
  HeatWindow window{};          // of the phases of that class
  bool by_layers = false;       // layers x phases instead of tiles x phases
  bool by_cycles = false;       // columns as wide as they take time, instead of all alike
  bool limits_of_data = false;  // colours from the least to the most of the report, instead of fixed ones
  friend bool operator==(const HeatState&, const HeatState&) = default;
};

// Which open reports stand side by side, and how. The first is the source.
struct CompareState {
  std::vector<int> reports;  // places in paths(); at most kMostCompared
  bool percent = false;      // differences in % instead of ms
  bool hide_equal = false;   // rows without a difference
  friend bool operator==(const CompareState&, const CompareState&) = default;
};
inline constexpr std::size_t kMostCompared = 8;

// Which part of the step is seen, and how times are written: shared by pipeline, trace and the export.
struct TimeState {
  TimeWindow pipeline, trace;
  bool fold = true;                     // equal cycles
  bool cycles = false;                  // instead of milliseconds
  int mode = 0;                         // of the trace
  bool copies = true, critical = true;  // drawn in the pipeline
  bool with_pipeline = true;            // above the trace
  friend bool operator==(const TimeState&, const TimeState&) = default;
};

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;

  // Adds the report and makes it current; one that is open already is read again. On failure emits
  // failed(), keeps everything as it was, and returns false.
  bool open(const QString& path);
  bool reload();
  void setCurrent(int report);
  int current() const { return current_; }
  QStringList paths() const;

  ReportPointer report() const;  // null: none is open
  ReportPointer reportAt(int report) const;
  // Read at first use; empty (never null) without a report or when the columns are damaged, which
  // emits failed() once.
  std::shared_ptr<const HeatData> heat() { return heatAt(current_); }
  std::shared_ptr<const HeatData> heatAt(int report);
  std::shared_ptr<const Variables> variables();
  std::shared_ptr<const Results> results();
  std::shared_ptr<const Steps> steps();
  std::shared_ptr<const Timeline> timeline();
  // The same with the steps of calls. More steps than setReadsAside() says are read on a thread of their own: empty
  // until traceRead().
  std::shared_ptr<const Timeline> trace();
  bool readsTrace() const { return reader_ != nullptr; }
  void setReadsAside(std::uint64_t above_steps) { readsAside_ = above_steps; }
  std::shared_ptr<const Graph> graph();

  const Selection& selection() const { return history_[place_]; }
  void select(const Selection& selection);
  bool canGoBack() const { return place_ > 0; }
  bool canGoForward() const { return place_ + 1 < history_.size(); }
  void goBack();
  void goForward();

  const HeatState& heatState() const { return heatState_; }
  void setHeatState(const HeatState& state);
  // Reports that open join the comparison while there is room.
  const CompareState& compareState() const { return compareState_; }
  void setCompareState(const CompareState& state);
  const TimeState& timeState() const { return timeState_; }
  void setTimeState(const TimeState& state);
  // A plan to try in the what-if, as JSON; of the current report. Empty: none.
  const std::string& trial() const { return trial_; }
  // Which of the report's helpful changes it consists of; empty: it is another plan.
  const std::vector<int>& trialChanges() const { return trialChanges_; }
  void setTrial(const std::string& plan_json, std::vector<int> changes = {});
  Units units() const { return units_; }
  void setUnits(Units units);
  const QString& colorMap() const { return colorMap_; }  // of heat maps
  void setColorMap(const QString& name);
  const QString& filter() const { return filter_; }
  void setFilter(const QString& text);
  BatchQueue& batch() { return *batch_; }  // jobs that are planned; needs no report

 signals:
  void reportChanged();  // also when none is left of the old selection, history and heat state
  void selectionChanged();
  void heatStateChanged();
  void compareStateChanged();
  void timeStateChanged();
  void traceRead();
  void trialChanged();
  void unitsChanged();
  void colorMapChanged();
  void filterChanged();
  void failed(const QString& message);

 private:
  struct Open {
    QString path;
    ReportPointer report;
    std::shared_ptr<const HeatData> heat;
    std::shared_ptr<const Variables> variables;
    std::shared_ptr<const Results> results;
    std::shared_ptr<const Steps> steps;
    std::shared_ptr<const Timeline> timeline, trace;
    std::shared_ptr<const Graph> graph;
  };
  template <class Data, class Load>
  std::shared_ptr<const Data> loaded(int report, std::shared_ptr<const Data> Open::*place, Load read);
  ReportPointer load(const QString& path);  // null after failed()
  void forget();
  void readTrace(const Open& open);

  std::vector<Open> reports_;
  int current_ = -1;
  std::vector<Selection> history_{Selection{}};
  std::size_t place_ = 0;
  HeatState heatState_;
  CompareState compareState_;
  TimeState timeState_;
  QThread* reader_ = nullptr;  // of a trace; null: none is being read
  std::uint64_t readsAside_ = std::numeric_limits<std::uint64_t>::max();
  std::string trial_;
  std::vector<int> trialChanges_;
  Units units_ = Units::kib;
  QString filter_, colorMap_ = "viridis";
  std::unique_ptr<BatchQueue> batch_;
};

}  // namespace superstep::gui
