// SPDX-License-Identifier: Apache-2.0
// Within a minute: how fast, does it fit, where the time goes, what else was near.
#pragma once

#include "gui/models/table_model.h"
#include "gui/session/view.h"

class QLabel;
class QToolButton;

namespace superstep::gui {

class DataTable;
class FillHistogram;
class FitBars;
class KeyNumbers;
class Legend;
class LimitBars;
class Panel;
class VerdictBanner;
class WaterfallChart;
struct TileFill;

class SummaryView : public View {
  Q_OBJECT
 public:
  explicit SummaryView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void showSelection();
  QWidget* makeWaterfall();
  QWidget* makeFit();
  QWidget* makeFill();
  QWidget* makePlans();
  void showFill();
  void selectBin(int bin);
  void tryChanges(const std::vector<int>& changes);  // of the report, together

  Session& session_;
  TableModel keyNumbers_, waterfall_, fit_, fillTable_, fullest_, plans_, changes_;
  std::shared_ptr<const TileFill> fill_;
  VerdictBanner* verdict_;
  KeyNumbers* numbers_;
  WaterfallChart* chart_;
  FitBars* bars_;
  Legend* kinds_;
  Legend* categories_;
  LimitBars* limits_;
  DataTable* plansTable_;
  DataTable* changesTable_;
  QToolButton* tryTogether_;
  Panel* waterfallPanel_;
  Panel* fitPanel_;
  FillHistogram* histogram_;
  Panel* fillPanel_;
  Panel* limitsPanel_;
  Panel* runnersPanel_;
  QLabel* notes_;
};

}  // namespace superstep::gui
