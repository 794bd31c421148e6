// SPDX-License-Identifier: Apache-2.0
// Where time goes inside a superstep.
#pragma once

#include "gui/models/table_model.h"
#include "gui/session/view.h"

class QCheckBox;
class QComboBox;
class QScrollArea;

namespace superstep::gui {

class DataTable;
class Legend;
class Panel;
class PipelineChart;
class ProportionBars;
class SegmentedButtons;
class TraceChart;

class TraceView : public View {
  Q_OBJECT
 public:
  explicit TraceView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    fillSteps();
    return {{"Steps shown", &steps_}, {"Summary of one step", &summary_}};
  }
  QStringList pages() const override;
  int page() const override;
  void showPage(int page) override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLayout* makeControls();
  QWidget* makeTrace();
  QWidget* makePipeline();
  QWidget* makeSummary();
  void rebuild();
  void refreshState();
  void showSelection();
  void fillSteps() const;
  void alignAxes();

  Session& session_;
  TableModel summary_;
  mutable TableModel steps_;  // of what is seen: filled when it is looked at, not for every frame
  mutable bool stepsAreOld_ = false;
  TraceChart* chart_;
  PipelineChart* pipeline_;
  Panel* pipelinePanel_;
  QScrollArea *pipelineRoom_, *traceRoom_;
  QCheckBox* withPipeline_;
  SegmentedButtons* modes_;
  QComboBox* ipu_;
  Legend* legend_;
  Legend* parts_;
  ProportionBars* bars_;
  Panel* panel_;
  std::int64_t followed_ = -1;  // the selected time that the window was moved to
};

}  // namespace superstep::gui
