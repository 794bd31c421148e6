// SPDX-License-Identifier: Apache-2.0
// What a number is, its exact value, how it comes about and where that is documented.
#pragma once

#include <QTextBrowser>

#include "gui/session/explain.h"

namespace superstep::gui {

class ExplainPanel : public QTextBrowser {
  Q_OBJECT
 public:
  explicit ExplainPanel(QWidget* parent = nullptr);

  // The first cell is explained, the others are offered. Nothing there: says how to get an explanation.
  void setPlace(ExplainedPlace place);
  QSize sizeHint() const override { return {380, 320}; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showCell(std::size_t cell);
  QString html(const ExplainedCell& cell) const;

  ExplainedPlace place_;
  std::size_t shown_ = 0;
};

}  // namespace superstep::gui
